"""Which kernels may serve: each is tried on exact integers before its first use in a process, unless an earlier process of
this very build did so on the same device, driver and BLAS.

A kernel that fails is disabled, with a warning that names it, and the next one serves. A passed test costs milliseconds
once; afterwards asking costs one look into a dictionary.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..backends import cpu
from ..backends.cuda import extension
from ..plans.plan import Plan
from ..request.library import torch_module
from . import plane_products
from .plane_products import Pair

if TYPE_CHECKING:
    from .exact_cases import Case, Product


@dataclass(frozen=True)
class Verdict:
    """What the self-test found about one kernel on one device.

    Attributes
    ----------
    pair : Pair
    passed : bool
    form : {"short", "long"}
    cases : int
        How many were tried; the last one is that which failed.
    seconds : float
    reason : str or None
        The case and the first wrong entry, or what the device said; None if all was right.
    lasting : bool
        Worth keeping for other processes: an error of the device may be a matter of the moment, a wrong number is not.
    """

    pair: Pair
    passed: bool
    form: str
    cases: int
    seconds: float
    reason: str | None = None
    lasting: bool = True

    @property
    def text(self) -> str:
        """In a few words."""
        return f"passed, {self.form} form" if self.passed else f"FAILED: {self.reason}"


_known: dict[Pair, Verdict] = {}
_serving: dict[tuple[tuple[str, ...], bool, int], int] = {}  # what serving_kernel found
_lock = threading.RLock()  # of the first use


def _renew_lock() -> None:
    """A forked child has none of the threads that may have held the lock."""
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


# ---- Testing one pair -----------------------------------------------------------------------------------------------


def _first_wrong(found: npt.NDArray[Any], expected: npt.NDArray[Any]) -> str | None:
    """The first entry that differs; None if none does. NaN is no entry of `expected`."""
    wrong = found != expected
    if not wrong.any():
        return None
    i, j = (int(x) for x in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
    return f"entry ({i}, {j}) is {found[i, j]}, exact is {expected[i, j]}, {int(wrong.sum())} of {wrong.size} entries wrong"


def _wrong_sum(pair: Pair, case: Case) -> str | None:
    """What is wrong with the kernel's product of a case, or None."""
    expected = case.expected()
    residues: dict[int, npt.NDArray[Any]] = {0: expected}
    for modulus, found in plane_products.multiply(pair, case):
        if modulus not in residues:
            residues[modulus] = (expected % modulus).astype(np.uint8)
        wrong = _first_wrong(found, residues[modulus])
        if wrong is not None:
            return wrong if modulus == 0 else f"modulo {modulus} {wrong}"
    return None


def _wrong_stage(pair: Pair, plan: Plan, product: Product) -> str:
    """Which stage of a wrong product was the first wrong one, as the end of a sentence; the product is made once more."""
    from . import stage_search

    try:
        found = plane_products.stage_results(pair, plan, product.a, product.b)
    except (RuntimeError, ValueError) as error:
        return f"; its stages could not be looked at: {error}"
    if found is None:
        return ""
    stage = stage_search.first_wrong_stage(plan, product.a, product.b, product.expected, found)
    return (
        f"; first wrong in {stage}" if stage is not None else "; made once more, it was right in every stage"
    )


def _findings(pair: Pair, short: bool) -> Iterator[tuple[str, str | None]]:
    """Every case by name, with what is wrong or None."""
    from . import exact_cases

    for case in exact_cases.cases(exact_cases.ALPHABETS[pair.element], short=short):
        yield case.name, _wrong_sum(pair, case)
    for product in exact_cases.products(short=short):
        for plan in plane_products.plans(pair, product.a.shape[1], short=short):
            name = f"{product.name}, scheme {plan.scheme} {plan.backend} {plan.family}"
            wrong = _first_wrong(
                plane_products.whole_product(pair, plan, product.a, product.b), product.expected
            )
            if wrong is not None:
                wrong += _wrong_stage(pair, plan, product)
            yield name, wrong


def examine(pair: Pair, *, short: bool) -> Verdict:
    """Run the self-test of a pair; neither looks at nor changes what is known about it.

    Raises
    ------
    MemoryError, torch.cuda.OutOfMemoryError
        If there is no memory for the test: that says nothing about the kernel.
    """
    torch = torch_module()
    no_memory = (MemoryError,) if torch is None else (MemoryError, torch.cuda.OutOfMemoryError)
    form = "short" if short else "long"
    if pair.device == "cpu":
        cpu.ensure_blas()  # whose import takes longer than a short test
    start = time.perf_counter()
    count, name = 0, "first case"

    def verdict(reason: str | None, lasting: bool = True) -> Verdict:
        return Verdict(pair, reason is None, form, count, time.perf_counter() - start, reason, lasting)

    try:
        for name, wrong in _findings(pair, short):
            count += 1
            if wrong is not None:
                return verdict(f"{name}: {wrong}")
    except no_memory:
        raise
    except (RuntimeError, ValueError) as error:
        return verdict(f"after {name}: {error}", lasting=False)
    return verdict(None)


# ---- What is known --------------------------------------------------------------------------------------------------


def _stored(pair: Pair) -> Verdict | None:
    """The verdict of an earlier process, if there is one that is whole."""
    from ..support import disk_cache

    value = disk_cache.load(plane_products.identity(pair))
    if value is None:
        return None
    passed, form, cases, seconds, reason = (
        value.get(x) for x in ("passed", "form", "cases", "seconds", "reason")
    )
    if (
        not isinstance(passed, bool)
        or form not in ("short", "long")
        or not isinstance(cases, int)
        or not isinstance(seconds, (int, float))
        or (reason is not None) != (not passed)
        or not isinstance(reason, (str, type(None)))
    ):
        return None
    return Verdict(pair, passed, form, cases, seconds, reason)


def _store(verdict: Verdict) -> None:
    from ..support import disk_cache

    if verdict.lasting:
        fields = ("passed", "form", "cases", "seconds", "reason")
        disk_cache.store(
            plane_products.identity(verdict.pair), {name: getattr(verdict, name) for name in fields}
        )


def _stack_level() -> int:
    """For warnings.warn in the caller: the first frame outside of this package."""
    frame, level = sys._getframe(1), 1
    package = __name__.partition(".")[0]
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    return level


def settle(verdict: Verdict) -> None:
    """Make a verdict that of this process. RuntimeWarning if it disables the kernel."""
    before = _known.get(verdict.pair)
    _known[verdict.pair] = verdict
    if before is not None and before.passed != verdict.passed:
        from ..backends.cuda import launch

        _serving.clear()
        launch.forget()
    if not verdict.passed and (before is None or before.passed):
        warnings.warn(
            f"ozfp4: the kernel {verdict.pair} failed its self-test and is disabled; others serve in its place. "
            f"{verdict.reason}. `python -m ozfp4 selftest` tests it again.",
            RuntimeWarning,
            stacklevel=_stack_level(),
        )


def look_up(pair: Pair) -> Verdict | None:
    """What this process or an earlier one found about a pair; None before the first test. Tests nothing."""
    return _known.get(pair) or _stored(pair)


def test(pair: Pair, *, short: bool) -> Verdict:
    """Test a pair now, whatever is known; keep the verdict here and on disk."""
    with _lock:
        found = examine(pair, short=short)
        _store(found)
        settle(found)
    return found


def verdict_of(pair: Pair) -> Verdict:
    """The verdict on a pair about to be used: what is known, else that of the short form, run now.

    Raises
    ------
    RuntimeError
        If the test would have to run while a CUDA graph is captured.
    """
    known = _known.get(pair)
    if known is not None:
        return known
    with _lock:
        found = look_up(pair)
        if found is None:
            if pair.device != "cpu":
                _refuse_capture(pair)
            return test(pair, short=True)
        settle(found)
        return found


def _refuse_capture(pair: Pair) -> None:
    torch = torch_module()
    assert torch is not None
    if torch.cuda.is_current_stream_capturing():
        raise RuntimeError(
            f"the first product by the kernel {pair} tests it, which a CUDA graph cannot capture; run one such product "
            f"before the capture"
        )


# ---- Who serves -----------------------------------------------------------------------------------------------------


class AllFailedError(RuntimeError):
    """Every kernel that could serve failed its self-test."""


def _refusal(backend: str, verdicts: Sequence[Verdict]) -> str:
    reasons = "; ".join(f"{verdict.pair}: {verdict.reason}" for verdict in verdicts)
    return f"backend: every kernel of {backend!r} failed its self-test: {reasons}"


def cpu_refusal(alphabet: str) -> str | None:
    """None if the CPU's products of an alphabet can be trusted, else why there are none."""
    verdict = verdict_of(plane_products.cpu_pair(alphabet))
    return None if verdict.passed else _refusal(alphabet, [verdict])


def serving_kernel(plan: Plan, index: int) -> int:
    """The number of the best kernel on a CUDA device that multiplies the planes of a plan and can be trusted.

    Raises
    ------
    AllFailedError
        If each of them failed its self-test.
    RuntimeError
        If there is none, or it would have to be tested while a CUDA graph is captured.
    """
    forced = extension.forced_number()
    if forced is not None:
        return forced
    elements, residues = extension.elements(plan), plan.scheme == "II"
    key = (elements, residues, index)
    number = _serving.get(key)
    if number is None:
        with _lock:  # no verdict changes between the choice and its entry
            number = _serving[key] = _first_good(elements, residues, index, plan.backend)
    return number


def _first_good(elements: tuple[str, ...], residues: bool, index: int, backend: str) -> int:
    pairs = plane_products.gpu_pairs(elements, index, residues)
    if not pairs:
        raise RuntimeError(
            f"no multiply kernel of this build takes {' or '.join(elements)} planes on cuda:{index}"
        )
    verdicts = []
    for pair in pairs:
        verdicts.append(verdict_of(pair))
        if verdicts[-1].passed:
            return pair.number
    raise AllFailedError(_refusal(backend, verdicts))


def likely_kernel(plan: Plan, index: int) -> tuple[str, str]:
    """The name of the kernel that serves a plan's planes as far as is known, without a test, or "" and the reason."""
    pairs = plane_products.gpu_pairs(extension.elements(plan), index, plan.scheme == "II")
    known = [look_up(pair) for pair in pairs]
    for pair, verdict in zip(pairs, known, strict=True):
        if verdict is None or verdict.passed:
            return pair.kernel, ""
    if not pairs:
        return "", "no kernel of this build takes its planes"
    return "", _refusal(plan.backend, [verdict for verdict in known if verdict is not None])
