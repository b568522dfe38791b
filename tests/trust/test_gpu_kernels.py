"""The self-test of GPU kernels without a GPU: tensors lie on torch's CPU, and a kernel in NumPy reads their bytes.

What is fake is the extension alone. That the real kernels pass is tested in tests/cuda/test_selftest.py.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4.backends import kernels
from ozfp4.backends.cuda import extension
from ozfp4.cost.choice import Choice
from ozfp4.dispatch import on_cuda
from ozfp4.trust import exact_cases, guard, identity, plane_products

torch = pytest.importorskip("torch")

DEVICE = "cpu:0"  # a device that torch takes and that is not the CPU of our own kernels
KERNELS = ("wgmma s8", "warp s8", "warp fp4", "tcgen05 s8", "warp fp4 stand-in")
TAKES = {"u8": (0, 1, 3), "s8": (0, 1, 3), "e2m1": (2, 4)}
LIMBS = np.array([0, 1, 2, 3, 4, 6, 8, 12])


def memory(address: int, size: int) -> np.ndarray:
    return np.frombuffer((ctypes.c_uint8 * size).from_address(address), np.uint8)


def entries(element: str, address: int, rows: int, k: int, pitch: int) -> np.ndarray:
    """The plane's entries as the kernels' contract states it (csrc/cuda/multiply/contract.hpp)."""
    assert pitch % 16 == 0
    bytes_of_row = (k + 1) // 2 if element == "e2m1" else k
    assert pitch >= bytes_of_row
    data = memory(address, rows * pitch).reshape(rows, pitch)[:, :bytes_of_row]
    if element == "u8":
        return data.astype(np.int64)
    if element == "s8":
        return data.view(np.int8).astype(np.int64)
    codes = np.stack([data & 15, data >> 4], axis=-1).reshape(rows, -1)
    if k % 2:
        assert not codes[:, k].any()  # the unused half of the last byte is a zero
    codes = codes[:, :k]
    return np.where(codes >= 8, -1, 1) * LIMBS[codes & 7]


class Extension:
    """What the self-test uses of ozfp4._cuda; `spoil` may change the sums before they are folded,
    `misread` the entries of B before they are multiplied."""

    kernels = KERNELS
    compute_capabilities = ((9, 0),)
    __file__ = "extension.so"

    def __init__(self) -> None:
        self.spoil: Callable[[str, str, np.ndarray], None] = lambda kernel, element, sums: None
        self.misread: Callable[[np.ndarray], None] = lambda rows: None
        self.ran: list[str] = []
        self.units = 0

    def kernel_error(self, kernel: int, element: str, device: int) -> str | None:
        return None if kernel in TAKES[element] else "the kernel multiplies something else"

    def find_kernel(self, element: str, device: int, residues: bool = True) -> int | None:
        best = {"u8": 0, "s8": 3 if residues else 0, "e2m1": 2}
        return best[element]

    def multiply(
        self, kernel: int, element: str, m: int, n: int, k: int, a: int, pitch_a: int, b: int, pitch_b: int,
        moduli: Any, out: int, out_pitch: int, stream: int, device: int,
    ) -> None:  # fmt: skip
        assert out_pitch % 16 == 0
        assert out_pitch >= n
        assert 1 <= len(moduli) <= 64
        x, y = entries(element, a, m, k, pitch_a), entries(element, b, n, k, pitch_b)
        self.misread(y)
        sums = (x.astype(np.float64) @ y.T.astype(np.float64)).astype(np.int64)  # exact: far below 2^53
        self.spoil(self.kernels[kernel], element, sums)
        result = memory(out, len(moduli) * m * out_pitch).reshape(len(moduli), m, out_pitch)
        for i, modulus in enumerate(moduli):
            result[i, :, :n] = sums % modulus
        self.ran.append(self.kernels[kernel])
        self.units = max(self.units, len(moduli))


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Extension]:
    fake = Extension()
    monkeypatch.setenv("OZFP4_CACHE_DIR", str(tmp_path / "cache"))
    guard.forget()
    monkeypatch.setattr(extension, "extension", lambda: fake)
    monkeypatch.setattr(extension, "require_cuda", lambda: fake)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda index: SimpleNamespace(cuda_stream=0))
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "Some GPU")
    monkeypatch.setattr(identity, "gpu_identity", lambda index: {"device": f"Some GPU {index}"})
    # The other stages belong to the extension, too: a whole product is the CPU's.
    whole = plane_products.whole_product
    fp64 = kernels.cpu_kernel("fp64")
    plan = ozfp4.plan(1, 1, 20_000, backend="fp64", accuracy="scaled")

    def on_the_cpu(pair: Any, _: Any, a: Any, b: Any, accuracy: str, *_rest: Any) -> Any:
        own = plan if accuracy == "scaled" else ozfp4.plan(1, 1, 20_000, backend="fp64", accuracy=accuracy)
        return whole(fp64, own, a, b, accuracy)

    monkeypatch.setattr(plane_products, "whole_product", on_the_cpu)
    kernels.gpu_kernels.cache_clear()
    yield fake
    kernels.gpu_kernels.cache_clear()
    guard.forget()


# The long test of e2m1 is that of test_fp32_accumulators_hold_codes.
@pytest.mark.parametrize(
    ("kernel", "element", "short"),
    [(0, "u8", True), (0, "s8", True), (2, "e2m1", True), (0, "u8", False), (0, "s8", False)],
)
def test_a_right_kernel_passes(cuda: Extension, kernel: int, element: str, short: bool) -> None:
    verdict = guard.examine(kernels.DeviceKernel(DEVICE, KERNELS[kernel], element), short=short)
    assert verdict.reason is None
    assert verdict.passed
    assert cuda.units == 60  # enough for large tiles


def test_every_code_is_multiplied_with_every_code(cuda: Extension) -> None:
    pair = kernels.DeviceKernel(DEVICE, "warp fp4", "e2m1")
    (case,) = (c for c in exact_cases.cases(exact_cases.ALPHABETS["e2m1"], short=True) if c.minus_zero)
    codes = plane_products._codes(case.a, minus_zero=True)
    assert set(codes.ravel().tolist()) == set(range(1, 16))
    plain = plane_products._codes(case.a, minus_zero=False)
    assert set(plain.ravel().tolist()) == {*range(8), *range(9, 16)}
    for modulus, found in plane_products.multiply(pair, case):
        assert np.array_equal(found, case.expected() % modulus)


def keep_24_bits(sums: np.ndarray) -> None:
    sums[:] = sums.astype(np.float32)


def keep_23_bits(sums: np.ndarray) -> None:
    sums[(abs(sums) >= 2**23) & (sums % 2 == 1)] -= 1


def saturate(sums: np.ndarray) -> None:
    np.clip(sums, -(2**23), 2**23, out=sums)


def off_by_one(sums: np.ndarray) -> None:
    sums[-1, -1] += 1


@pytest.mark.parametrize(
    ("element", "spoil", "case"),
    [
        ("e2m1", keep_23_bits, "sums at the limit"),
        ("e2m1", saturate, "sums at the limit"),
        ("s8", keep_24_bits, "sums at the limit"),
        ("u8", keep_24_bits, "sums at the limit"),
        ("u8", off_by_one, "every pair of limbs"),
    ],
    ids=lambda x: getattr(x, "__name__", x),
)
def test_a_wrong_accumulator_is_found(cuda: Extension, element: str, spoil: Callable, case: str) -> None:
    cuda.spoil = lambda kernel, element, sums: spoil(sums)
    name = KERNELS[2 if element == "e2m1" else 0]
    verdict = guard.examine(kernels.DeviceKernel(DEVICE, name, element), short=True)
    assert not verdict.passed
    assert verdict.reason is not None
    assert verdict.reason.startswith(case)
    assert " modulo 25" in verdict.reason
    assert "entry (" in verdict.reason


def swap_two_places(rows: np.ndarray) -> None:
    if rows.shape[1] > 70:
        rows[:, [69, 70]] = rows[:, [70, 69]]


def double_a_block(rows: np.ndarray) -> None:
    rows[:, 96:128] *= 2


def take_a_row_twice(rows: np.ndarray) -> None:
    rows[17:18] = rows[16:17]


@pytest.mark.parametrize("misread", [swap_two_places, double_a_block, take_a_row_twice])
@pytest.mark.parametrize(("kernel", "element"), [(0, "u8"), (0, "s8"), (2, "e2m1")])
def test_entries_in_the_wrong_place_are_found(
    cuda: Extension, kernel: int, element: str, misread: Callable
) -> None:
    cuda.misread = misread
    assert not guard.examine(kernels.DeviceKernel(DEVICE, KERNELS[kernel], element), short=True).passed


def test_fp32_accumulators_hold_codes(cuda: Extension) -> None:
    cuda.spoil = lambda kernel, element, sums: keep_24_bits(sums)
    assert guard.examine(kernels.DeviceKernel(DEVICE, "warp fp4", "e2m1"), short=False).passed


def test_no_memory_is_no_verdict(on_cpu_zero: Extension) -> None:
    def fail(kernel: str, element: str, sums: np.ndarray) -> None:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")

    on_cpu_zero.spoil = fail
    with pytest.raises(torch.cuda.OutOfMemoryError):
        guard.serving_kernel(INT8, 0)
    on_cpu_zero.spoil = lambda kernel, element, sums: None
    assert guard.serving_kernel(INT8, 0) == 0


def test_a_store_behind_the_output_is_found(cuda: Extension) -> None:
    multiply = cuda.multiply

    def beyond(*arguments: Any) -> None:
        multiply(*arguments)
        m, moduli, out, pitch = arguments[2], arguments[9], arguments[10], arguments[11]
        memory(out, len(moduli) * m * pitch + 1)[-1] = 0

    cuda.multiply = beyond
    verdict = guard.examine(kernels.DeviceKernel(DEVICE, "wgmma s8", "u8"), short=True)
    assert verdict.reason == "after first case: the kernel wrote behind its output"


# ---- Which kernel serves --------------------------------------------------------------------------------------------


@pytest.fixture
def on_cpu_zero(cuda: Extension, monkeypatch: pytest.MonkeyPatch) -> Extension:
    """Pairs of "cuda:0" run where torch has memory."""
    on_gpu = plane_products._on_gpu
    monkeypatch.setattr(
        plane_products,
        "_on_gpu",
        lambda pair, case: on_gpu(kernels.DeviceKernel(DEVICE, pair.name, pair.element), case),
    )
    return cuda


INT8 = ozfp4.plan(1, 1, 1, backend="int8", accuracy="scaled")
FP4 = ozfp4.plan(1, 1, 1, backend="fp4", accuracy="scaled")
DIGITS = ozfp4.plan(1, 1, 1, scheme="I", backend="fp4", accuracy="scaled")
AUTO = Choice(("int8", "fp4"), "")


def test_the_best_kernel_serves_and_is_tested_once(on_cpu_zero: Extension) -> None:
    assert guard.serving_kernel(INT8, 0) == 0
    ran = len(on_cpu_zero.ran)
    assert ran > 5
    assert set(on_cpu_zero.ran) == {"wgmma s8"}
    assert guard.serving_kernel(INT8, 0) == 0
    assert len(on_cpu_zero.ran) == ran
    guard.forget()
    assert guard.serving_kernel(INT8, 0) == 0
    assert len(on_cpu_zero.ran) == ran  # the verdict was kept
    assert guard.serving_kernel(FP4, 0) == 2
    assert guard.serving_kernel(INT8, 1) == 0
    assert set(on_cpu_zero.ran) == {"wgmma s8", "warp fp4"}


def test_the_next_kernel_and_the_next_backend_serve(on_cpu_zero: Extension) -> None:
    def spoil(kernel: str, element: str, sums: np.ndarray) -> None:
        if kernel == "wgmma s8" or element == "e2m1":
            sums[0, 0] += 1

    on_cpu_zero.spoil = spoil
    with pytest.warns(RuntimeWarning, match=r"the kernel 'wgmma s8' \(u8\) on cuda:0 \(Some GPU\) failed"):
        assert guard.serving_kernel(INT8, 0) == 1
    assert on_cuda.serving_backend(AUTO, "II", 0) == ("int8", None)
    with pytest.warns(RuntimeWarning, match=r"the kernel 'warp fp4' \(e2m1\)"):
        assert guard.serving_kernel(FP4, 0) == 3  # limbs as bytes
    assert guard.likely_kernel(INT8, 0) == ("warp s8", "")
    assert guard.likely_kernel(FP4, 0) == ("tcgen05 s8", "")

    on_cpu_zero.spoil = lambda kernel, element, sums: sums.__setitem__((0, 0), 3) if element == "u8" else None
    for pair in kernels.gpu_kernels(("u8",), 0)[1:]:  # the first one failed before
        with pytest.warns(RuntimeWarning, match="is disabled"):
            guard.test(pair, short=True)
    with pytest.raises(RuntimeError, match="every kernel of 'int8' failed its self-test: 'wgmma s8'"):
        guard.serving_kernel(INT8, 0)
    backend, fallback = on_cuda.serving_backend(AUTO, "II", 0)
    assert backend == "fp4"
    assert fallback is not None
    assert "every kernel of 'int8' failed" in fallback
    assert guard.likely_kernel(INT8, 0)[0] == ""


def test_no_backend_left(on_cpu_zero: Extension) -> None:
    on_cpu_zero.spoil = lambda kernel, element, sums: sums.__setitem__((0, 0), 3)
    with (
        pytest.warns(RuntimeWarning, match="is disabled"),
        pytest.raises(RuntimeError, match=r"every kernel of 'int8'.*no other backend is left on cuda:0"),
    ):
        on_cuda.serving_backend(AUTO, "II", 0)


def test_digits_never_go_to_a_kernel_that_stores_residues(on_cpu_zero: Extension) -> None:
    names = [pair.name for pair in kernels.gpu_kernels(("s8",), 0, False)]
    assert names == ["wgmma s8", "warp s8"]
    assert [pair.name for pair in kernels.gpu_kernels(("s8",), 0)] == [
        "tcgen05 s8",
        "wgmma s8",
        "warp s8",
    ]
    assert guard.serving_kernel(DIGITS, 0) == 2


def test_stand_ins_serve_nothing(on_cpu_zero: Extension) -> None:
    assert [pair.name for pair in kernels.gpu_kernels(("e2m1",), 0)] == ["warp fp4"]
    assert [pair.name for pair in kernels.stand_ins(0)] == ["warp fp4 stand-in"]


def test_a_graph_capture_cannot_test(on_cpu_zero: Extension, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    with pytest.raises(RuntimeError, match=r"'wgmma s8' \(u8\) on cuda:0 .* before the capture"):
        guard.serving_kernel(INT8, 0)
    assert on_cpu_zero.ran == []
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    assert guard.serving_kernel(INT8, 0) == 0
    guard.forget()
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    assert guard.serving_kernel(INT8, 0) == 0  # what is kept needs no test


# ---- Extensions and drivers that do not work ------------------------------------------------------------------------


def test_a_driver_that_is_too_old_is_a_reason(cuda: Extension, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise RuntimeError("cudaGetDevice: CUDA driver version is insufficient for CUDA runtime version")

    monkeypatch.setattr(cuda, "find_kernel", refuse)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    reason = extension.why_unavailable(torch.device("cuda", 0))
    assert reason is not None
    assert reason.startswith("the CUDA runtime of this build cannot use Some GPU: ")
    assert "driver version is insufficient" in reason
    about = ozfp4.info()
    (line,) = (x for x in about.backends if x.device.startswith("cuda:0") and x.name == "int8")
    assert not line.available
    assert "driver version is insufficient" in line.detail
    assert {v.kernel.device for v in ozfp4.selftest(short=True).verdicts} == {"cpu"}


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ImportError("libcudart.so.13: cannot open shared object file", name="ozfp4._cuda"), "cannot be loaded: libcudart"),
        (ModuleNotFoundError("No module named 'ozfp4._cuda'", name="ozfp4._cuda"), "holds no CUDA kernels; install"),
        (ModuleNotFoundError("No module named 'other'", name="other"), "cannot be loaded: No module named 'other'"),
    ],
    ids=["library", "cpu build", "module"],
)  # fmt: skip
def test_an_extension_that_cannot_be_loaded_is_a_reason(
    monkeypatch: pytest.MonkeyPatch, error: ImportError, text: str
) -> None:
    def fail(name: str) -> None:
        raise error

    for cached in (extension._load, extension.extension, extension.require_cuda):
        cached.cache_clear()
    monkeypatch.setattr(extension, "import_module", fail)
    try:
        assert extension.extension() is None
        assert text in extension.extension_error()
        assert text in (extension.why_unavailable(torch.device("cuda", 0)) or "")
        assert text in ozfp4.info().backends[-1].detail
        assert np.array_equal(ozfp4.matmul(np.eye(2), np.eye(2), accuracy="scaled"), np.eye(2))
    finally:
        for cached in (extension._load, extension.extension, extension.require_cuda):
            cached.cache_clear()
