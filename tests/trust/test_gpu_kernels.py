"""Self-tests of GPU kernels in Python, without a GPU: a fake extension sets the outcome of the test of each kernel.

tests/product/trust_check.cpp tests that wrong kernels are found, tests/cuda/test_selftest.py that the real ones pass and that
others replace wrong ones.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4._backends import kernels
from ozfp4._backends.cuda import extension
from ozfp4._backends.kernels import DeviceKernel
from ozfp4._trust import guard

torch = pytest.importorskip("torch")

# By alphabet, best first; what has no planes, and what only tests call.
SERVING = {
    "int8": [("wgmma s8", "u8"), ("warp s8", "u8"), ("tcgen05 u8", "u8")],
    "fp4": [("warp fp4", "e2m1"), ("warp s8", "s8"), ("wgmma s8", "s8")],
}
OTHERS = [("products without planes", "none"), ("warp fp4 stand-in", "e2m1")]
Named = tuple[int, str, str]


class Extension:
    """A stand-in for ozfp4._cuda: the kernels in `wrong` fail, (name, element)."""

    compute_capabilities = ((9, 0),)

    def __init__(self) -> None:
        self.wrong: set[tuple[str, str]] = set()
        self.kept: dict[Named, tuple[Any, ...]] = {}
        self.tested: list[Named] = []
        self.memory_errors = 0

    def kernels_of(self, device: int, plan: Any) -> list[tuple[str, str]]:
        return [*SERVING["int8"], *SERVING["fp4"], *OTHERS] if plan is None else SERVING[plan.alphabet]

    def find_kernel(self, element: str, device: int, residues: bool = True) -> int | None:
        return 0

    def test_kernel(self, device: int, name: str, element: str, short: bool) -> tuple[Any, ...]:
        if self.memory_errors > 0:
            self.memory_errors -= 1
            raise MemoryError("std::bad_alloc")
        self.tested.append((device, name, element))
        passed = (name, element) not in self.wrong
        reason = None if passed else "sums at the limit: entry (0, 0) is 1, exact is 0"
        found = self.kept[device, name, element] = (passed, "short" if short else "long", 1, 0.0, reason)
        return found

    def forget_verdicts(self) -> None:
        """The verdicts kept on disk stay."""

    def known_verdict(self, device: int, name: str, element: str) -> tuple[Any, ...] | None:
        return self.kept.get((device, name, element))

    def verdict_of(self, device: int, name: str, element: str) -> tuple[Any, ...]:
        return self.known_verdict(device, name, element) or self.test_kernel(device, name, element, True)

    def failed_kernels(self) -> list[Named]:
        return [named for named, found in self.kept.items() if not found[0]]


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, cache: Path) -> Extension:
    fake = Extension()
    monkeypatch.setattr(extension, "extension", lambda: fake)
    monkeypatch.setattr(extension, "require_cuda", lambda: fake)
    monkeypatch.setitem(sys.modules, "ozfp4._cuda", fake)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "Some GPU")
    return fake


# ---- What is known of kernels ---------------------------------------------------------------------------------------


INT8 = ozfp4.plan(1, 1, 1, backend="int8", accuracy="scaled")
FP4 = ozfp4.plan(1, 1, 1, backend="fp4", accuracy="scaled")


def best(plan: ozfp4.Plan = INT8, index: int = 0) -> DeviceKernel:
    return kernels.gpu_kernels(index, plan)[0]


def test_a_kernel_is_tested_once(cuda: Extension) -> None:
    for _ in range(2):
        assert guard.verdict_of(best()).passed
    assert cuda.tested == [(0, "wgmma s8", "u8")]
    guard.forget()
    assert guard.verdict_of(best()).passed
    assert len(cuda.tested) == 1  # the verdict was kept
    assert guard.verdict_of(best(index=1)).passed
    assert cuda.tested[1:] == [(1, "wgmma s8", "u8")]


def test_the_kernel_that_is_likely_to_serve(cuda: Extension) -> None:
    assert guard.likely_kernel(INT8, 0) == ("wgmma s8", "")
    assert guard.likely_kernel(FP4, 0) == ("warp fp4", "")
    assert cuda.tested == []
    cuda.wrong = {("wgmma s8", "u8"), ("warp fp4", "e2m1")}
    for kernel in (best(), best(FP4)):
        text = rf"the kernel '{kernel.name}' \({kernel.element}\) on cuda:0 \(Some GPU\) failed"
        with pytest.warns(RuntimeWarning, match=text):
            guard.test(kernel, short=True)
    assert guard.likely_kernel(INT8, 0) == ("warp s8", "")
    assert guard.likely_kernel(FP4, 0) == ("warp s8", "")  # limbs as bytes
    cuda.wrong = set(SERVING["int8"])
    for kernel in kernels.gpu_kernels(0, INT8)[1:]:  # the first one failed before
        with pytest.warns(RuntimeWarning, match="is disabled"):
            guard.test(kernel, short=True)
    name, reason = guard.likely_kernel(INT8, 0)
    assert name == ""
    assert reason.startswith("backend: every kernel of 'int8' failed its self-test: 'wgmma s8'")


def test_what_failed_in_a_product_is_told_once(cuda: Extension) -> None:
    """The core has tested it, and calls this behind the product."""
    cuda.wrong = {("wgmma s8", "u8")}
    for name in ("wgmma s8", "warp s8"):
        cuda.test_kernel(0, name, "u8", True)
    text = r"the kernel 'wgmma s8' \(u8\) on cuda:0 \(Some GPU\) failed"
    with pytest.warns(RuntimeWarning, match=text):
        guard.tell_failures()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        guard.tell_failures()
    assert len(cuda.tested) == 2


def test_no_memory_is_no_verdict(cuda: Extension, monkeypatch: pytest.MonkeyPatch) -> None:
    emptied: list[None] = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: emptied.append(None))
    cuda.memory_errors = 2
    with pytest.raises(MemoryError):
        guard.test(best(), short=True)
    assert (cuda.tested, len(emptied)) == ([], 1)
    assert guard.known_verdict(best()) is None
    cuda.memory_errors = 1
    assert guard.test(best(), short=True).passed  # in what torch held and did not use
    assert len(emptied) == 2


def test_stand_ins_are_tested_where_they_are_asked_for(
    cuda: Extension, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    serving = {(kernel.name, kernel.element) for kernel in kernels.installed_kernels()}
    assert serving >= {*SERVING["int8"], *SERVING["fp4"], OTHERS[0]}
    assert OTHERS[1] not in serving
    everything = kernels.installed_kernels(with_stand_ins=True)
    assert {(kernel.name, kernel.element) for kernel in everything} - serving == {OTHERS[1]}


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

    extension._load.cache_clear()
    monkeypatch.setattr(extension, "import_module", fail)
    try:
        assert extension.extension() is None
        assert text in extension.extension_error()
        assert text in (extension.why_unavailable(torch.device("cuda", 0)) or "")
        assert text in ozfp4.info().backends[-1].detail
        assert np.array_equal(ozfp4.matmul(np.eye(2), np.eye(2), accuracy="scaled"), np.eye(2))
    finally:
        extension._load.cache_clear()
