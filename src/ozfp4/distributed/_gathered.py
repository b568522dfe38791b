"""Products of whole lines: operands move, as they are, until each rank has the rows and columns of what it computes.

An entry of the result depends on its row and its column alone, so that these are the bits of one device. While a rank multiplies
one piece of the operand that moves, the next one travels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import prod
from typing import Any

from .._request.library import require_torch
from .._torch_ops import agree
from .._torch_ops.agree import Group
from ._collectives import Pending, gather, gather_whole, move, packed
from ._cost import Way, needed, pieces
from ._layout import Placed, Problem
from ._local import Products

torch: Any = require_torch()


def multiply(
    group: Group, problem: Problem, way: Way, a: Any, b: Any, products: Products, out: Any, bound: Any
) -> None:
    """This rank's part of the result into `out`, and bounds into `bound` (None where not asked for). An error of its products is
    raised after all that others wait for; a RuntimeError where the result of another rank, which has failed, was to move here."""
    computed, results = way.computed, [out, bound]
    reserve(group, problem, computed, a.device)
    if computed != problem.result:
        results = [None if x is None else x.new_empty(computed.local(group.rank)) for x in results]
    compute(group, problem, computed, products, (a, b), results)
    if computed != problem.result:
        agree.confirm(group, products.failure)
        for target, found in zip((out, bound), results, strict=True):
            if target is not None:
                target.copy_(move(group, found, computed, problem.result))
    elif products.failure is not None:
        raise products.failure


def reserve(group: Group, problem: Problem, computed: Placed, device: Any) -> None:
    """Makes sure that every rank has memory for what it will receive, so that none is missing where others wait for it: torch's
    allocator keeps what is asked for and given back here. All ranks know alike whether this is worth an exchange."""
    sizes = _buffers(problem, computed)
    if group.size > 1 and sum(sizes) >= agree.LEAST_CONFIRMED:
        agree.together(
            group, lambda: [torch.empty(size, dtype=torch.uint8, device=device) for size in sizes], sum(sizes)
        )


def _buffers(problem: Problem, computed: Placed) -> list[int]:
    """About the bytes of what a rank sends and receives at a time, and of results that move with their bounds."""
    found = []
    for source, target, item in zip(
        (problem.a, problem.b), needed(problem, computed), (problem.item_a, problem.item_b), strict=True
    ):
        if source.axis is None or source == target:
            continue
        received, buffers = prod(target.local(0)) * item, 1
        if source.axis in (-1, -2) and target.axis is None and computed.axis in (-1, -2):
            free = -3 - computed.axis
            widest = max(width for _, width in pieces(problem, computed))
            if widest < source.shape[free]:
                parts = problem.ranks if source.axis == free else 1
                received, buffers = received * widest * parts // source.shape[free], 2
        found += [received, received // problem.ranks] * buffers
    if computed != problem.result:
        found += 2 * [prod(x.local(0)) * problem.item for x in (computed, problem.result)]
    return found


def compute(
    group: Group, problem: Problem, computed: Placed, products: Products, given: tuple[Any, Any], results: Any
) -> None:
    """This rank's part of a result that lies as `computed` says."""
    laid, targets = (problem.a, problem.b), needed(problem, computed)
    moving = {-2: 1, -1: 0}.get(computed.axis or 0)  # which operand all ranks have to have
    if moving is not None and laid[moving].axis in (-1, -2):
        kept = move(group, given[1 - moving], laid[1 - moving], targets[1 - moving])
        _stream(group, problem, computed, products, kept, given[moving], results)
    else:
        moved = [move(group, *each) for each in zip(given, laid, targets, strict=True)]
        products(*moved, *results)


def _stream(
    group: Group, problem: Problem, computed: Placed, products: Products, kept: Any, moving: Any, results: Any
) -> None:
    """The product of what a rank keeps and all of the other operand, whose matrices are cut."""
    is_left = computed.axis == -2
    free, placed = (-1, problem.b) if is_left else (-2, problem.a)
    steps, extent = pieces(problem, computed), placed.shape[free]
    if steps == [(0, extent)]:
        coming = iter([(0, gather_whole(group, moving, placed).wait())])
    else:
        kept = products.keep(kept, is_left, moving, extent)
        reserve(group, problem, computed, moving.device)  # beside what is kept
        coming = (_lines if placed.axis == free else _halves)(group, moving, placed, free, steps)
    for begin, piece in coming:
        width = piece.shape[free]
        target, errors = (None if x is None else x.narrow(free, begin, width) for x in results)
        products(*((kept, piece) if is_left else (piece, kept)), target, errors)
        del piece, target, errors  # their memory is that of the next one but one, which is asked for now


def _halves(
    group: Group, moving: Any, placed: Placed, free: int, steps: list[tuple[int, int]]
) -> Iterator[tuple[int, Any]]:
    """Pieces of some whole lines, of which each rank has a part of K."""

    def launch(step: tuple[int, int]) -> Pending:
        shape = list(placed.shape)
        shape[free] = step[1]
        return gather_whole(group, moving.narrow(free, *step), replace(placed, shape=tuple(shape)))

    coming = _ahead(steps, launch)  # taken one by one: zip would hold what it gave before
    for begin, _ in steps:
        yield begin, next(coming)


def _lines(
    group: Group, moving: Any, placed: Placed, free: int, steps: list[tuple[int, int]]
) -> Iterator[tuple[int, Any]]:
    """Pieces of whole lines that one rank has: first its own, while those of others travel."""

    def launch(step: tuple[int, int]) -> Pending:
        begin, width = step
        own = moving.shape[free]
        part = moving.narrow(free, min(begin, own), max(0, min(width, own - begin)))
        if part.shape[free] < width:
            shape = list(part.shape)
            shape[free] = width
            filled = part.new_empty(shape)
            filled.narrow(free, 0, part.shape[free]).copy_(part)
            part = filled
        return gather(group, packed(part))

    coming = _ahead(steps, launch)
    yield placed.begin(group.rank), moving
    for begin, width in steps:
        parts = next(coming)
        for rank in range(group.size):
            has = min(width, placed.sizes[rank] - begin)
            if rank != group.rank and has > 0:
                yield placed.begin(rank) + begin, parts[rank].narrow(free, 0, has)
        del parts


def _ahead(steps: list[Any], launch: Callable[[Any], Pending]) -> Iterator[Any]:
    """What comes of each launch. The first is launched here, each next one before the caller has what came, and so travels while
    that is multiplied; not before, as its memory is that of the one but last."""
    waiting = [launch(step) for step in steps[:1]]

    def come() -> Iterator[Any]:
        for step in steps[1:]:
            waiting.append(launch(step))
            yield waiting.pop(0).wait()  # held by whoever took it alone
        if waiting:
            yield waiting.pop().wait()

    return come()
