"""Which kernels may serve: each is tried on exact integers before its first use in a process, unless an earlier process of
this very build did so on the same device and driver. The tests and what is kept of them are the core's (csrc/product/trust).

A kernel that fails is disabled, with a warning that names it, and the next one serves. A passed test costs milliseconds
once; afterwards asking costs one look into a dictionary.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._backends.cuda import extension
from .._backends.kernels import (
    DeviceKernel,
    cpu_kernel,
    elements,
    gpu_kernels,
)
from .._plans.plan import Plan
from .._request import library
from .._support.caller import stack_level
from .._support.child_lock import ChildLock
from .verdict import Verdict, of_core

_verdicts: dict[DeviceKernel, Verdict] = {}  # of this process
_lock = ChildLock()  # of the first use


def forget() -> None:
    """Know as little as a new process does."""
    _verdicts.clear()
    _core.forget_verdicts()
    if (cuda := sys.modules.get("ozfp4._cuda")) is not None:
        cuda.forget_verdicts()


# ---- What is known --------------------------------------------------------------------------------------------------


def _ask(question: str, kernel: DeviceKernel, *further: Any) -> Verdict | None:
    """A kernel's verdict from the core of its device: its "known_verdict", its "verdict_of" or that of "test_kernel"."""
    if kernel.device == "cpu":
        found = getattr(_core, question)(kernel.name, kernel.element, *further)
    else:
        ask = getattr(extension.require_cuda(), question)
        try:
            found = ask(kernel.index, kernel.name, kernel.element, *further)
        except MemoryError:  # torch may hold what is not used
            library.require_torch().cuda.empty_cache()
            found = ask(kernel.index, kernel.name, kernel.element, *further)
    return None if found is None else of_core(kernel, found)


def _found(question: str, kernel: DeviceKernel, *further: Any) -> Verdict:
    found = _ask(question, kernel, *further)
    assert found is not None
    return found


def adopt_verdict(verdict: Verdict) -> None:
    """Make a verdict that of this process. RuntimeWarning if it disables the kernel."""
    before = _verdicts.get(verdict.kernel)
    _verdicts[verdict.kernel] = verdict
    if not verdict.passed and (before is None or before.passed):
        warnings.warn(
            f"ozfp4: the kernel {verdict.kernel} failed its self-test and is disabled; others serve in its place. "
            f"{verdict.reason}. `python -m ozfp4 selftest` tests it again.",
            RuntimeWarning,
            stacklevel=stack_level(),
        )


def known_verdict(kernel: DeviceKernel) -> Verdict | None:
    """What this process or an earlier one found about a kernel; None before the first test. Tests nothing."""
    return _verdicts.get(kernel) or _ask("known_verdict", kernel)


def test(kernel: DeviceKernel, *, short: bool) -> Verdict:
    """Test a kernel now, whatever is known; keep the verdict here and on disk."""
    with _lock:
        found = _found("test_kernel", kernel, short)
        adopt_verdict(found)
    return found


def verdict_of(kernel: DeviceKernel) -> Verdict:
    """The verdict on a kernel about to be used: what is known, else that of the short form, run now."""
    known = _verdicts.get(kernel)
    if known is not None:
        return known
    with _lock:
        found = _found("verdict_of", kernel)
        adopt_verdict(found)
    return found


def tell_failures() -> None:
    """Warn of the kernels that failed in a product of a core, which calls this behind it."""
    for name, element in _core.failed_kernels():
        verdict_of(DeviceKernel("cpu", name, element))
    if (cuda := sys.modules.get("ozfp4._cuda")) is not None:
        for index, name, element in cuda.failed_kernels():
            verdict_of(DeviceKernel(f"cuda:{index}", name, element))


# ---- Who serves -----------------------------------------------------------------------------------------------------


def _refusal(backend: str, verdicts: Sequence[Verdict]) -> str:
    reasons = "; ".join(f"{verdict.kernel}: {verdict.reason}" for verdict in verdicts)
    return f"backend: every kernel of {backend!r} failed its self-test: {reasons}"


def cpu_refusal(alphabet: str) -> str | None:
    """None if the CPU's products of an alphabet can be trusted, else why there are none. An INT8 unit that failed, and was not
    asked for by name, is passed over for the next one and floating point at last."""
    verdict = verdict_of(cpu_kernel(alphabet))
    if verdict.passed:
        return None
    failed: list[Verdict] = []
    while not verdict.passed and all(earlier.kernel != verdict.kernel for earlier in failed):
        failed.append(verdict)
        verdict = verdict_of(cpu_kernel(alphabet))  # of the next unit, as this one is disabled
    return None if verdict.passed else _refusal(alphabet, failed)


def likely_kernel(plan: Plan, index: int) -> tuple[str, str]:
    """The name of the kernel that serves a plan's planes as far as is known, without a test, or "" and the reason."""
    kernels = gpu_kernels(elements(plan), index, plan.scheme == "II")
    known = [known_verdict(kernel) for kernel in kernels]
    for kernel, verdict in zip(kernels, known, strict=True):
        if verdict is None or verdict.passed:
            return kernel.name, ""
    if not kernels:
        return "", "no kernel of this build takes its planes"
    return "", _refusal(plan.backend, [verdict for verdict in known if verdict is not None])
