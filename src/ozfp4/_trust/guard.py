"""Which kernels are trusted: each is tested on exact integers before its first use in a process. An earlier process of this
build on the same device and driver counts, too. The tests and what is kept of them are the core's (csrc/product/trust).

A kernel that fails is disabled, with a warning that names it, and the next one is used.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from typing import Any

from .. import _core
from .._backends.cuda import extension
from .._backends.kernels import DeviceKernel, gpu_kernels
from .._plans.plan import Plan
from .._request import library
from .._support.caller import stack_level


@dataclass(frozen=True)
class Verdict:
    """The findings of the self-test about one kernel on one device: by its `form`, "short" or "long", in `cases`, of which
    the last failed. Then why: the case with its plan and its modulus, and the first wrong entry, or the error of the
    device."""

    kernel: DeviceKernel
    passed: bool
    form: str
    cases: int
    seconds: float
    reason: str | None = None

    @property
    def text(self) -> str:
        """In a few words."""
        return f"passed, {self.form} form" if self.passed else f"FAILED: {self.reason}"


_warned: set[DeviceKernel] = set()  # of these failures


def forget() -> None:
    """Know as little as a new process does."""
    _warned.clear()
    _core.forget_verdicts()
    if (cuda := sys.modules.get("ozfp4._cuda")) is not None:
        cuda.forget_verdicts()


def _ask(question: str, kernel: DeviceKernel, *further: Any) -> Verdict | None:
    """A kernel's verdict by a function of its device's core."""
    if kernel.device == "cpu":
        found = getattr(_core, question)(kernel.name, kernel.element, *further)
    else:
        ask = getattr(extension.require_cuda(), question)
        try:
            found = ask(kernel.index, kernel.name, kernel.element, *further)
        except MemoryError:  # torch may hold what is not used
            library.require_torch().cuda.empty_cache()
            found = ask(kernel.index, kernel.name, kernel.element, *further)
    return None if found is None else Verdict(kernel, *found)


def _told(verdict: Verdict | None) -> Verdict:
    """The verdict; RuntimeWarning the first time that it disables the kernel."""
    assert verdict is not None
    if verdict.passed:
        _warned.discard(verdict.kernel)
    elif verdict.kernel not in _warned:
        _warned.add(verdict.kernel)
        warnings.warn(
            f"ozfp4: the kernel {verdict.kernel} failed its self-test and is disabled; others serve in its place. "
            f"{verdict.reason}. `python -m ozfp4 selftest` tests it again.",
            RuntimeWarning,
            stacklevel=stack_level(),
        )
    return verdict


def known_verdict(kernel: DeviceKernel) -> Verdict | None:
    """The verdict of this process or an earlier one about a kernel; None before the first test. Tests nothing."""
    return _ask("known_verdict", kernel)


def test(kernel: DeviceKernel, *, short: bool) -> Verdict:
    """Test a kernel now, whatever is known; keep the verdict here and on disk."""
    return _told(_ask("test_kernel", kernel, short))


def verdict_of(kernel: DeviceKernel) -> Verdict:
    """The verdict on a kernel about to be used: what is known, else that of the short form, run now."""
    return _told(_ask("verdict_of", kernel))


def tell_failures() -> None:
    """Warn of the kernels that failed in a product of a core, which calls this behind it."""
    for name, element in _core.failed_kernels():
        verdict_of(DeviceKernel("cpu", name, element))
    if (cuda := sys.modules.get("ozfp4._cuda")) is not None:
        for index, name, element in cuda.failed_kernels():
            verdict_of(DeviceKernel(f"cuda:{index}", name, element))


def likely_kernel(plan: Plan, index: int) -> tuple[str, str]:
    """The name of the kernel for a plan's planes as far as is known, without a test, or "" and the reason."""
    failed = []
    for kernel in gpu_kernels(index, plan):
        verdict = known_verdict(kernel)
        if verdict is None or verdict.passed:
            return kernel.name, ""
        failed.append(f"{kernel}: {verdict.reason}")
    if not failed:
        return "", "no kernel of this build takes its planes"
    return "", f"backend: every kernel of {plan.backend!r} failed its self-test: {'; '.join(failed)}"
