"""The functions of CUDA up to the device: arguments refused by name before a device is looked for, and errors without one.

A build without CUDA converts arguments as well, and refuses nothing else.

Other tests of this folder, and test_cuda_launches.py, compare their products."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
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


def check_refused(library: ctypes.CDLL, found: tuple[int, str], text: str) -> None:
    name, _, what = text.partition(": ")
    is_of_devices = what.startswith("its address") or name.startswith(("workspace", "memory"))
    if is_of_devices and not library.ozfp4_has_cuda():
        assert found[0] == lib.NO_DEVICE
        return
    assert found[0] == lib.INVALID
    assert found[1].startswith(text)


def call(
    cuda: ctypes.CDLL, letter: str = "d", asked: lib.Options | None = None, **changes: Any
) -> tuple[int, str]:
    given = ARGUMENTS | changes
    status = getattr(cuda, f"ozfp4_cuda_{letter}gemm")(*given.values(), asked)
    return status, lib.error(cuda)


def batched_arguments(**changes: Any) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for name, value in (ARGUMENTS | changes).items():
        given[name] = value
        if name in ("lda", "ldb", "ldc"):
            given[f"stride_{name[-1]}"] = changes.get(f"stride_{name[-1]}", 100)
        if name == "ldc":
            given["batch"] = changes.get("batch", 2)
    return given


def batched(cuda: ctypes.CDLL, **changes: Any) -> tuple[int, str]:
    given = batched_arguments(**changes)
    return cuda.ozfp4_cuda_dgemm_strided_batched(*given.values(), None), lib.error(cuda)


def size_of(
    cuda: ctypes.CDLL, kind: str, given: dict[str, Any], asked: lib.Options | None = None
) -> tuple[int, int]:
    """The answer of a query for the arguments of a call."""
    size = ctypes.c_int64(-1)
    own = [value for name, value in given.items() if name not in ("workspace", "workspace_bytes", "stream")]
    status = getattr(cuda, f"ozfp4_cuda_workspace_size_{kind}")(*own, asked, size)
    return status, size.value


def own_workspace(
    cuda: ctypes.CDLL, kind: str = "float64", asked: lib.Options | None = None, **changes: Any
) -> tuple[int, str, int]:
    factor = np.array([1.0, 0.5], kind)
    given = {"type": lib.TYPES[kind]} | ARGUMENTS | {"alpha": factor, "beta": factor[1:]} | changes
    status, size = size_of(cuda, "gemm", given, asked)
    return status, lib.error(cuda), size


def test_factors_whose_workspace_is_asked_for(cuda: ctypes.CDLL) -> None:
    for kind in lib.LETTERS:
        for name in ("alpha", "beta"):
            factor = np.array([np.nan], kind)
            status, error, size = own_workspace(cuda, kind, a=256, b=256, c=256, **{name: factor})
            assert (status, size) == (lib.INVALID, -1)
            assert error == f"{name}: nan is not finite"
        assert own_workspace(cuda, kind, m=0)[::2] == (lib.OK, 0)
    long = {"m": 1, "n": 1, "k": 2**31, "lda": 2**31, "ldb": 2**31, "ldc": 1}
    status, error, size = own_workspace(cuda, **long)
    assert (status, size) == (lib.UNSUPPORTED, -1)
    assert error.startswith("k: 2147483648 exceeds 2147479552")


def test_unsupported_calls_of_a_gpu(cuda: ctypes.CDLL) -> None:
    report = lib.new_report()
    status, error = call(cuda, asked=lib.options(report=ctypes.pointer(report)))
    assert status == lib.UNSUPPORTED
    assert error.startswith("options.report: what ran on a GPU is known when it has run; ")
    for order, name in ((lib.ROW, "m"), (lib.COLUMN, "m"), (lib.ROW, "n"), (lib.COLUMN, "n"), (lib.ROW, "k")):
        long = {"m": 1, "n": 1, "k": 1, "lda": 2**31, "ldb": 2**31, "ldc": 2**31, name: 2**31}
        status, error = call(cuda, order=order, **long)
        assert status == lib.UNSUPPORTED
        assert error.startswith(f"{name}: 2147483648 exceeds 2147479552")
    gram = (lib.ROW, lib.NONE, 1, 2**31, 256, 2**31, 256, 1, 256, 2**20, None, None)
    assert cuda.ozfp4_cuda_dgram(*gram) == lib.UNSUPPORTED
    assert lib.error(cuda).startswith("k: 2147483648 exceeds 2147479552")


def test_factors_with_both_parts(cuda: ctypes.CDLL) -> None:
    """Served; but what is rounded twice has no direction. Factors are finite."""
    one, both = np.array([1 + 0j]), np.array([1 + 1j])
    given = {"a": 256, "b": 256, "c": 256}
    for alpha, beta in ((both, one), (one, both), (both, both)):
        factors = given | {"alpha": alpha, "beta": beta}
        asked = lib.options(accuracy=lib.ACCURACIES["correct"], rounding=1)
        for given_extents in ({}, {"m": 0}):  # whatever the extents
            assert call(cuda, "z", asked, **given_extents, **factors)[0] == lib.INVALID
            assert lib.error(cuda).startswith("options.rounding: alpha or beta has a real")
        assert call(cuda, "z", m=0, **factors)[0] == lib.OK
    for value in (complex(1, np.nan), complex(-np.inf, 1)):
        factor = np.array([value])
        for name in ("alpha", "beta"):
            factors = given | {"alpha": both, "beta": both, name: factor}
            status, error = call(cuda, "z", **factors)
            assert status == lib.INVALID
            assert error.startswith(f"{name}: ")
            assert "not finite" in error


def test_addresses_are_named_whatever_the_order(cuda: ctypes.CDLL) -> None:
    for order in (lib.ROW, lib.COLUMN):
        for name in ("a", "b"):
            for status, error in (
                call(cuda, order=order, ldb=5, **{name: 260}),
                integers(cuda, order=order, type_a=8, ldb=5, **{name: 260}),
            ):
                assert status == lib.INVALID
                assert error == f"{name}: its address is not a multiple of 8"


def test_bad_addresses_of_bounds(cuda: ctypes.CDLL) -> None:
    for given, text in (
        ({"bound": 256, "ld_bound": 3}, "options.ld_bound: 3 is less than 4"),
        ({"bound": 260}, "options.bound: its address is not a multiple of 8"),
    ):
        status, error = call(cuda, asked=lib.options(**given))
        assert status == lib.INVALID
        assert error.startswith(text)


INTEGERS: dict[str, Any] = {
    "order": lib.ROW, "transa": lib.NONE, "transb": lib.NONE, "m": 3, "n": 4, "k": 5, "alpha": 1, "type_a": lib.TYPES["int8"],
    "a": 256, "lda": 5, "type_b": lib.TYPES["uint64"], "b": 256, "ldb": 4, "beta": 0, "type_c": lib.TYPES["int32"], "c": 256,
    "ldc": 4, "workspace": 256, "workspace_bytes": 2**20, "stream": None,
}  # fmt: skip


def integers(
    cuda: ctypes.CDLL, asked: lib.Options | None = None, modulus: int | None = None, **changes: Any
) -> tuple[int, str]:
    given = INTEGERS | changes
    if modulus is None:
        return cuda.ozfp4_cuda_igemm(*given.values(), asked), lib.error(cuda)
    given["beta"] = modulus  # which stands in its place
    own = [value for name, value in given.items() if name not in ("alpha", "type_c")]
    return cuda.ozfp4_cuda_gemm_mod(*own, asked), lib.error(cuda)


def test_unsupported_calls_of_integers_on_a_gpu(cuda: ctypes.CDLL) -> None:
    report, count = lib.new_report(), ctypes.c_int64()
    place = ctypes.pointer(count)
    for asked, changes, status, text in (
        (lib.options(overflow=1), {}, lib.UNSUPPORTED, "options.overflow: an error would wait for the device"),
        (lib.options(report=ctypes.pointer(report)), {}, lib.UNSUPPORTED, "options.report: what ran on a GPU"),
        (lib.options(scheme=1), {}, lib.UNSUPPORTED, "options.scheme: 'I' is not for integers on a GPU"),
        (lib.options(accuracy=2), {}, lib.INVALID, "options.accuracy: is for products of floating-point"),
        (lib.options(overflows=place), {"alpha": 2}, lib.UNSUPPORTED, "options.overflows: it is for alpha = 1"),
        (lib.options(overflows=place), {"modulus": 5}, lib.UNSUPPORTED, "options.overflows: it is for alpha = 1"),
        (None, {"m": 2**31, "n": 1, "ldb": 1}, lib.UNSUPPORTED, "m: 2147483648 exceeds 2147479552"),
        (None, {"order": lib.COLUMN, "n": 2**31, "m": 1, "lda": 1, "ldb": 5}, lib.UNSUPPORTED,
         "n: 2147483648 exceeds 2147479552"),
    ):  # fmt: skip
        found, error = integers(cuda, asked, **changes)
        assert found == status
        assert error.startswith(text)


PREPARE: dict[str, Any] = {
    "type": 1, "side": lib.LEFT, "order": lib.ROW, "trans": lib.NONE, "rows": 3, "columns": 5, "x": 256, "ldx": 5, "memory": 256,
    "memory_bytes": 2**20, "stream": None,
}  # fmt: skip


def prepare(cuda: ctypes.CDLL, asked: lib.Options | None = None, **changes: Any) -> tuple[int, str]:
    made = ctypes.c_void_p(77)
    given = PREPARE | changes
    status = cuda.ozfp4_cuda_prepare(*given.values(), asked, ctypes.addressof(made))
    if status != lib.OK:
        assert made.value == 77
    return status, lib.error(cuda)


# All refusals specific to devices, and one example of those shared with the host (test_errors.py).
REFUSED: list[tuple[Callable[..., Any], str, Any, str]] = [
    (call, "lda", 4, "lda: 4 is less than 5"),
    (call, "a", 260, "a: its address is not a multiple of 8"),
    (call, "c", 257, "c: its address is not a multiple of 8"),
    (call, "workspace", None, "workspace: is NULL"),
    (call, "workspace", 128, "workspace: its address is not a multiple of 256"),
    (call, "workspace_bytes", -1, "workspace_bytes: -1 is negative"),
    (own_workspace, "type", 9, "type: 9 is not OZFP4_FLOAT64"),
    (own_workspace, "alpha", None, "alpha: is NULL"),
    (own_workspace, "beta", None, "beta: is NULL"),
    (own_workspace, "b", 260, "b: its address is not a multiple of 8"),
    (own_workspace, "c", 257, "c: its address is not a multiple of 8"),
    (integers, "type_b", 13, "type_b: 13 is not one of"),
    (integers, "lda", 4, "lda: 4 is less than 5"),
    (integers, "b", 260, "b: its address is not a multiple of 8"),
    (integers, "c", 258, "c: its address is not a multiple of 4"),
    (integers, "workspace", None, "workspace: is NULL"),
    (integers, "workspace", 128, "workspace: its address is not a multiple of 256"),
    (integers, "workspace_bytes", -1, "workspace_bytes: -1 is negative"),
    (integers, "modulus", 0, "modulus: 0 is less than 1"),
    (prepare, "ldx", 4, "ldx: 4 is less than 5"),
    (prepare, "x", 260, "x: its address is not a multiple of 8"),
    (prepare, "memory", None, "memory: is NULL"),
    (prepare, "memory", 264, "memory: its address is not a multiple of 256"),
    (prepare, "memory_bytes", -1, "memory_bytes: -1 is negative"),
    (batched, "c", 257, "c: its address is not a multiple of 8"),
    (batched, "stride_c", 0, "stride_c: 0 is less than 1"),
    (batched, "workspace", None, "workspace: is NULL"),
]


@pytest.mark.parametrize(("function", "name", "value", "text"), REFUSED)
def test_arguments(
    library: ctypes.CDLL, function: Callable[..., Any], name: str, value: Any, text: str
) -> None:
    status, error, *size = function(library, **{name: value})
    check_refused(library, (status, error), text)
    assert size in ([], [-1])  # of a workspace that was asked for


def test_prepared_operands_up_to_the_device(cuda: ctypes.CDLL) -> None:
    place = ctypes.cast(256, ctypes.POINTER(ctypes.c_int64))
    for name, value in (("bound", 256), ("repaired", place)):
        asked = lib.options(**{name: value})
        assert prepare(cuda, asked) == (lib.INVALID, f"options.{name}: is for products")
        size = ctypes.c_int64(-1)
        operand = (lib.TYPES["float64"], lib.LEFT, lib.ROW, lib.NONE, 3, 5, None, 5)
        given = (*operand, asked, size)
        assert cuda.ozfp4_cuda_prepared_size(*given) == lib.INVALID
        assert lib.error(cuda) == f"options.{name}: is for products"
    status, error = prepare(cuda, rows=2**31, columns=1, ldx=1)
    assert status == lib.UNSUPPORTED
    assert error.startswith("rows: 2147483648 exceeds 2147479552")
    alpha = np.ones(1)
    extents = (lib.ROW, lib.NONE, lib.NONE, 3, 4, 5)
    given = (*extents, alpha, 256, 5, None, 256, 4, None, alpha, 256, 4, 256, 2**20, None, None)
    assert cuda.ozfp4_cuda_gemm_prepared(*given) == lib.INVALID
    assert lib.error(cuda) == "prepared_a: is NULL, and so is prepared_b"
    size = ctypes.c_int64(-1)
    operand = (lib.TYPES["complex64"], lib.RIGHT, lib.COLUMN, lib.CONJ, 0, 4, None, 4)
    given = (*operand, None, size)
    assert cuda.ozfp4_cuda_prepared_size(*given) == lib.OK
    assert size.value == 0
    cuda.ozfp4_cuda_release(None)


def test_empty_products_of_integers_need_no_device(cuda: ctypes.CDLL) -> None:
    assert integers(cuda, m=0, c=None, workspace=None)[0] == lib.OK
    nowhere = {"a": None, "b": None, "c": None}
    for changes in ({"m": 0}, {"k": 0}, {"alpha": 0}):
        assert size_of(cuda, "igemm", INTEGERS | nowhere | changes) == (lib.OK, 0)
    long = {"m": 0, "k": 2**48, "lda": 2**48}  # no line is longer, and none has a gap
    assert integers(cuda, c=None, workspace=None, **long)[0] == lib.OK
    assert size_of(cuda, "igemm", INTEGERS | nowhere | long) == (lib.OK, 0)


def test_an_empty_batch_needs_no_device(cuda: ctypes.CDLL) -> None:
    for changes in ({"batch": 0}, {"m": 0}):
        assert batched(cuda, c=None, workspace=None, **changes)[0] == lib.OK
    one = np.ones(1)
    given = batched_arguments(alpha=one, beta=one, batch=0, c=None)
    assert size_of(cuda, "gemm_strided_batched", {"type": lib.TYPES["float64"]} | given) == (lib.OK, 0)


def test_an_empty_product_needs_no_device(cuda: ctypes.CDLL) -> None:
    assert call(cuda, m=0, c=None, workspace=None)[0] == lib.OK
    assert own_workspace(cuda, m=0, a=None, b=None, c=None)[::2] == (lib.OK, 0)


def test_bad_addresses_of_repair_counts(cuda: ctypes.CDLL) -> None:
    def told(address: int) -> lib.Options:
        return lib.options(repaired=ctypes.cast(address, ctypes.POINTER(ctypes.c_int64)))

    status, error = call(cuda, asked=told(260))
    assert (status, error) == (lib.INVALID, "options.repaired: its address is not a multiple of 8")
    # An empty product also fails on a device: no memory lies at this address.
    status, error = call(cuda, m=0, c=None, workspace=None, asked=told(256))
    assert status in (lib.DEVICE_ERROR, lib.NO_DEVICE)
    assert (status == lib.NO_DEVICE) == error.startswith("cuda: ")


def test_calls_without_a_device(cuda: ctypes.CDLL) -> None:
    for kind in lib.LETTERS:
        status, error, size = own_workspace(cuda, kind)
        if status == lib.OK:
            pytest.skip("there is a GPU")
        assert (status, size) == (lib.NO_DEVICE, -1)
        assert error.startswith("cuda: ")
    assert call(cuda)[0] == own_workspace(cuda)[0] == lib.NO_DEVICE
    both = np.array([1 + 1j])
    assert call(cuda, "z", alpha=both, beta=both)[0] == lib.NO_DEVICE
    # NULL is a workspace of 0 bytes, which is what a product of alpha = 0 needs.
    zero, none = np.array([0j]), {"workspace": None, "workspace_bytes": 0}
    assert call(cuda, "z", alpha=zero, beta=both, **none)[0] == lib.NO_DEVICE
    assert integers(cuda)[0] == integers(cuda, modulus=7)[0] == prepare(cuda)[0] == lib.NO_DEVICE
    # Results without a multiplication are written on the device as well, and so are counts of empty products.
    for changes in ({"k": 0}, {"alpha": 0}, {"modulus": 7, "k": 0}):
        assert integers(cuda, **changes)[0] == lib.NO_DEVICE
    assert call(cuda, k=0)[0] == call(cuda, alpha=0.0)[0] == lib.NO_DEVICE
    place = ctypes.cast(256, ctypes.POINTER(ctypes.c_int64))
    assert call(cuda, m=0, asked=lib.options(repaired=place))[0] == lib.NO_DEVICE
    assert integers(cuda, m=0, asked=lib.options(overflows=place))[0] == lib.NO_DEVICE
