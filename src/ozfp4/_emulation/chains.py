"""Places in a program where a product left many entries to repair (docs/inside/accuracy.md). That takes as long as the
library's whole product: all later products from there are the library's.

A place is a call in the program's own code, as a calling address is for `ozfp4 exec`. Matrices of one shape may be
covariances in one line and random in the next. How many are many is said once for both (csrc/product/threshold.hpp)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .. import _core
from .._backends.cuda import extension
from .._request.library import is_integer, require_torch
from .._support import torch_private
from .._support.child_lock import ChildLock
from .choice import Options
from .summary import Decision, Problem

MANY = Decision(False, "many entries of a product from its place in the program needed repair")
AWAITED = Decision(False, "the repairs of the first product from its place are not counted yet")
MOST_PLACES = 1024
_LIBRARIES = ("numpy", "ozfp4", "torch")


class Place:
    """It holds the code object, so that Python cannot reuse its address. On a GPU: the number of its count, and as many repairs
    as are few in any of its products, 0 before the first; `is_tried`: the first count was few."""

    __slots__ = ("code", "few", "has_many", "is_tried", "number")

    def __init__(self, code: Any, number: int) -> None:
        self.code, self.number, self.few = code, number, 0
        self.has_many = self.is_tried = False


_places: dict[tuple[int, int], Place] = {}  # by the address of the code and the offset in it
_counts: list[tuple[Any, int]] = []  # one at most, kept for good, as kernels write to it at any time
_lock = ChildLock()


def made(problem: Problem, options: Options, compute: Callable[..., Any]) -> Any:
    """The product by ozfp4; or the Decision by which it is the library's. Precondition: the threshold says that ozfp4 gains, or
    it makes all."""
    keywords = options.keywords_of(problem.dtype)
    if options.mode == "always" or is_integer(problem.dtype):
        return compute(**keywords)
    place = _place()
    if place.has_many:
        return MANY
    few = _core.few_repairs(problem.stack * problem.m * problem.n)
    if not problem.on_cpu:
        return _on_gpu(place, few, problem.device, lambda: compute(**keywords))
    before = _core.repaired()  # which a kernel's self-test does not count
    result = compute(**keywords)
    place.has_many = _core.repaired() - before > few
    return result


def _on_gpu(place: Place, few: int, device: str, compute: Callable[[], Any]) -> Any:
    """Nothing waits: a kernel writes the count to the host, and the next call looks at it. Until that of the first product is
    there, others are the library's."""
    torch_cuda = require_torch().cuda
    with torch_cuda.device(device):
        is_captured = torch_cuda.is_current_stream_capturing()
    if is_captured:  # a graph has what is known, and counts nothing
        return compute()
    cuda, (counts, address) = extension.require_cuda(), _counts_on_host()
    if place.few:
        count = int(counts[place.number])
        place.has_many = count > place.few
        place.is_tried = place.is_tried or 0 <= count <= place.few
        if place.has_many:
            return MANY
        if not place.is_tried:
            return AWAITED
    before = place.few
    place.few = max(before, few)
    counts[place.number] = -1
    cuda.count_repaired_at(address + counts.itemsize * place.number)
    is_made = False
    try:
        result = compute()
        is_made = True
    finally:
        if not cuda.count_repaired_at(0) or not is_made:  # nothing tells of this product
            counts[place.number], place.few = 0, before
    return result


def _place() -> Place:
    """The place of the innermost call outside of libraries; for a thread that has none, as torch's for gradients, of its
    outermost."""
    frame = sys._getframe(1)
    while _library_of(frame) in _LIBRARIES and frame.f_back is not None:
        frame = frame.f_back
    key = id(frame.f_code), frame.f_lasti
    found = _places.get(key)
    if found is None:
        with _lock:
            if len(_places) >= MOST_PLACES:
                _places.clear()  # a count may then be that of another place, once
            found = _places.setdefault(key, Place(frame.f_code, len(_places)))
    return found


def _library_of(frame: Any) -> str:
    return (frame.f_globals.get("__name__") or "").partition(".")[0]


def _counts_on_host() -> tuple[Any, int]:
    """A count for each place, which kernels of all devices write, and where they begin."""
    if not _counts:
        torch = require_torch()
        with _lock, torch_private.without_modes():
            if not _counts:
                held = torch.zeros(MOST_PLACES, dtype=torch.int64, device="cpu", pin_memory=True)
                _counts.append((held.numpy(), held.data_ptr()))
    return _counts[0]
