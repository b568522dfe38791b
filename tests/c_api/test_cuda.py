"""The functions of CUDA up to the device: what they refuse by name before they look for one, and what they say without one.

tests/c_api/cuda_gemm_check.cpp compares their products on a GPU."""

from __future__ import annotations

import ctypes
from typing import Any

import library as lib
import numpy as np
import pytest

ARGUMENTS: dict[str, Any] = {
    "order": lib.ROW, "transa": lib.NONE, "transb": lib.NONE, "m": 3, "n": 4, "k": 5, "alpha": 1.0, "a": 256, "lda": 5, "b": 256,
    "ldb": 4, "beta": 0.5, "c": 256, "ldc": 4, "workspace": 256, "workspace_bytes": 2**20, "stream": None,
}  # fmt: skip


@pytest.fixture
def cuda(library: ctypes.CDLL) -> ctypes.CDLL:
    if not library.ozfp4_has_cuda():
        pytest.skip("this build has no CUDA")
    return library


def call(
    cuda: ctypes.CDLL, letter: str = "d", asked: lib.Options | None = None, **changes: Any
) -> tuple[int, str]:
    given = ARGUMENTS | changes
    status = getattr(cuda, f"ozfp4_cuda_{letter}gemm")(
        *given.values(), None if asked is None else ctypes.addressof(asked)
    )
    return status, lib.error(cuda)


def batched(cuda: ctypes.CDLL, **changes: Any) -> tuple[int, str]:
    given: dict[str, Any] = {}
    for name, value in (ARGUMENTS | changes).items():
        given[name] = value
        if name in ("lda", "ldb", "ldc"):
            given[f"stride_{name[-1]}"] = changes.get(f"stride_{name[-1]}", 100)
        if name == "ldc":
            given["batch"] = changes.get("batch", 2)
    return cuda.ozfp4_cuda_dgemm_strided_batched(*given.values(), None), lib.error(cuda)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("order", 0, "order: 0 is neither"),
        ("transa", 1, "transa: 1 is none of"),
        ("m", -1, "m: -1 is negative"),
        ("alpha", float("nan"), "alpha: nan is not finite"),
        ("lda", 4, "lda: 4 is less than 5"),
        ("a", None, "a: is NULL"),
        ("b", None, "b: is NULL"),
        ("c", None, "c: is NULL"),
        ("a", 260, "a: its address is not a multiple of 8"),
        ("c", 257, "c: its address is not a multiple of 8"),
        ("workspace", None, "workspace: is NULL"),
        ("workspace", 128, "workspace: its address is not a multiple of 256"),
        ("workspace_bytes", -1, "workspace_bytes: -1 is negative"),
    ],
)
def test_arguments(cuda: ctypes.CDLL, name: str, value: Any, text: str) -> None:
    status, error = call(cuda, **{name: value})
    assert status == lib.INVALID
    assert error.startswith(text)


def test_what_a_gpu_does_not_do(cuda: ctypes.CDLL) -> None:
    report = lib.new_report()
    status, error = call(cuda, asked=lib.options(report=ctypes.pointer(report)))
    assert status == lib.UNSUPPORTED
    assert error.startswith("options.report: what ran on a GPU is known when it has run; ")
    factors = [np.array([x], np.complex128).ctypes.data for x in (1, 1)]
    both = np.array([1 + 1j])
    turned = np.array([1j])
    for changes, text in (
        ({"alpha": both.ctypes.data, "beta": factors[1]}, "alpha: it has a real and an imaginary part"),
        ({"alpha": turned.ctypes.data, "beta": turned.ctypes.data}, "beta: it has an imaginary part"),
    ):
        status, error = call(cuda, "z", **changes)
        assert status == lib.UNSUPPORTED
        assert error.startswith(text)
    status, error = call(cuda, m=2**31, n=1, ldc=1, ldb=1)
    assert status == lib.UNSUPPORTED
    assert error.startswith("m: 2147483648 exceeds 2147479552")


def test_where_bounds_go(cuda: ctypes.CDLL) -> None:
    for given, text in (
        ({"bound": 256, "ld_bound": 3}, "options.ld_bound: 3 is less than 4"),
        ({"bound": 260}, "options.bound: its address is not a multiple of 8"),
    ):
        status, error = call(cuda, asked=lib.options(**given))
        assert status == lib.INVALID
        assert error.startswith(text)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("m", -1, "m: -1 is negative"),
        ("lda", 4, "lda: 4 is less than 5"),
        ("b", None, "b: is NULL"),
        ("c", 257, "c: its address is not a multiple of 8"),
        ("stride_c", 0, "stride_c: 0 is less than 1"),
        ("stride_a", -(2**48), "stride_a: -281474976710656 is beyond 2^48 entries in a batch of 2"),
        ("batch", -1, "batch: -1 is negative"),
        ("workspace", None, "workspace: is NULL"),
        ("workspace_bytes", -1, "workspace_bytes: -1 is negative"),
    ],
)
def test_arguments_of_batches(cuda: ctypes.CDLL, name: str, value: Any, text: str) -> None:
    status, error = batched(cuda, **{name: value})
    assert status == lib.INVALID
    assert error.startswith(text)


def test_an_empty_batch_needs_no_device(cuda: ctypes.CDLL) -> None:
    for changes in ({"batch": 0}, {"m": 0}):
        assert batched(cuda, c=None, workspace=None, **changes)[0] == lib.OK
    size = ctypes.c_int64(-1)
    given = (
        lib.TYPES["float64"],
        lib.ROW,
        lib.NONE,
        lib.NONE,
        3,
        4,
        5,
        15,
        0,
        0,
        None,
        ctypes.addressof(size),
    )
    assert cuda.ozfp4_cuda_workspace_size_strided_batched(*given) == lib.OK
    assert size.value == 0


def test_an_empty_product_needs_no_device(cuda: ctypes.CDLL) -> None:
    assert call(cuda, m=0, c=None, workspace=None)[0] == lib.OK
    size = ctypes.c_int64(-1)
    given = (lib.TYPES["float64"], lib.ROW, lib.NONE, lib.NONE, 0, 4, 5, None, ctypes.addressof(size))
    assert cuda.ozfp4_cuda_workspace_size(*given) == lib.OK
    assert size.value == 0


def test_where_repairs_are_told(cuda: ctypes.CDLL) -> None:
    def told(address: int) -> lib.Options:
        return lib.options(repaired=ctypes.cast(address, ctypes.POINTER(ctypes.c_int64)))

    status, error = call(cuda, asked=told(260))
    assert (status, error) == (lib.INVALID, "options.repaired: its address is not a multiple of 8")
    # Of an empty product, too: the address is none, if there is a device.
    assert call(cuda, m=0, c=None, workspace=None, asked=told(256))[0] == lib.DEVICE_ERROR


def test_without_a_device(cuda: ctypes.CDLL) -> None:
    size = ctypes.c_int64(-1)
    for kind in lib.LETTERS:
        given = (lib.TYPES[kind], lib.ROW, lib.NONE, lib.NONE, 3, 4, 5, None, ctypes.addressof(size))
        status = cuda.ozfp4_cuda_workspace_size(*given)
        if status == lib.OK:
            pytest.skip("there is a GPU")
        assert (status, size.value) == (lib.NO_DEVICE, -1)
        assert lib.error(cuda).startswith("cuda: ")
    assert call(cuda)[0] == lib.NO_DEVICE
