"""Places in a program whose last product left many entries to chains (docs/accuracy.md), which take as long
as the library's whole product: the next ones from there are the library's, and then one is tried again.

A place is a call in the program's own code, where `ozfp4 exec` has a calling address: matrices of one shape
may be covariances in one line and random in the next. What is many, and how many products are left, is said
once for both (csrc/arith/accuracy/many_chains.hpp)."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from .. import _core
from ..backends.cuda import extension
from ..backends.cuda.launch import is_captured
from ..request.library import is_integer, require_torch
from ..support.child_lock import ChildLock
from ..trust.guard import known_count
from . import measured
from .options import Options
from .problem import Problem, gpu_index
from .summary import Decision

MANY = Decision(False, "many entries of the last product from its place in the program were chains")
AWAITED = Decision(False, "the chains of the first product from its place are not counted yet")
MOST_PLACES = 1024
_LIBRARIES = ("numpy", "ozfp4", "torch")


class Place:
    """It holds the code object, so that Python cannot reuse its address. On a GPU: the number of its count, and whether a
    product has been enqueued since many chains were found."""

    __slots__ = ("chains", "code", "is_enqueued", "number")

    def __init__(self, code: Any, number: int) -> None:
        self.chains, self.code, self.number, self.is_enqueued = _core.Chains(), code, number, False


_places: dict[tuple[int, int], Place] = {}  # by the address of the code and the offset in it
_counts: list[tuple[Any, int]] = []  # one at most, kept for good, as kernels write to it at any time
_lock = ChildLock()


def made(problem: Problem, options: Options, compute: Callable[[dict[str, Any]], Any]) -> Any:
    """The product by ozfp4; or the Decision by which it is the library's. Range: ozfp4 is the faster one, or
    makes all."""
    keywords = options.keywords_of(problem.dtype)
    if options.mode == "always" or is_integer(problem.dtype):
        return compute(keywords)
    place = _place()
    if not problem.on_cpu:
        return _on_gpu(place, problem, lambda: compute(keywords))
    if place.chains.leave_next():
        return MANY
    kernels, before, began = known_count(), _core.repaired(), time.perf_counter()
    result = compute(keywords)
    seconds = time.perf_counter() - began
    if known_count() != kernels:  # chains and seconds are those of a self-test, too
        return result
    has_many = _core.repaired() - before > _few(problem)
    # Many of a product that is faster all the same are no reason to leave the next.
    place.chains.found(has_many and seconds > measured.native_seconds(problem, options))
    return result


def _on_gpu(place: Place, problem: Problem, compute: Callable[[], Any]) -> Any:
    """Nothing waits: a kernel writes the count to the host, and the next call looks at it. Until that of the
    first product is there, and of one that is tried again, others are the library's."""
    cuda, chains, index = extension.require_cuda(), place.chains, gpu_index(problem.device)
    if is_captured(index):  # a graph has what is known, and is not asked
        return MANY if chains.has_many() else compute()
    if chains.leave_next():
        return MANY
    counts, address = _counts_on_host()
    if place.is_enqueued:
        count = int(counts[place.number])
        if count < 0 and not chains.is_tried():
            return AWAITED
        if chains.is_many(count):
            place.is_enqueued = False
            chains.found(True)
            return MANY
        if count >= 0:
            chains.found(False)
    place.is_enqueued, kernels = True, known_count()
    chains.enqueue(_few(problem))
    counts[place.number] = -1
    cuda.tell_repaired(address + counts.itemsize * place.number)
    try:
        result = compute()
    except BaseException:
        place.is_enqueued = cuda.tell_repaired(0)  # else nothing was tried
        raise
    if not cuda.tell_repaired(0):  # nothing was promised
        counts[place.number] = 0
    elif known_count() != kernels:  # a self-test's chains may be told
        place.is_enqueued = False
    return result


def _few(problem: Problem) -> int:
    return _core.few_chains(problem.stack * problem.m * problem.n)


def _place() -> Place:
    """The place of the innermost call outside of libraries; for a thread that has none, as torch's for gradients, of its
    outermost."""
    frame = sys._getframe(1)
    while (frame.f_globals.get("__name__") or "").partition(".")[
        0
    ] in _LIBRARIES and frame.f_back is not None:
        frame = frame.f_back
    key = id(frame.f_code), frame.f_lasti
    found = _places.get(key)
    if found is None:
        with _lock:
            if len(_places) >= MOST_PLACES:
                _places.clear()  # a count may then be that of another place, once
            found = _places.setdefault(key, Place(frame.f_code, len(_places)))
    return found


def _counts_on_host() -> tuple[Any, int]:
    """A count for each place, which kernels of all devices write, and where they begin."""
    if not _counts:
        torch = require_torch()
        with _lock, torch.utils._python_dispatch._disable_current_modes():
            if not _counts:
                held = torch.zeros(MOST_PLACES, dtype=torch.int64, device="cpu", pin_memory=True)
                _counts.append((held.numpy(), held.data_ptr()))
    return _counts[0]
