"""Products of whole lines: operands move, as they are, until each rank has the rows and columns of what it computes.

An entry of the result depends on its row and its column alone, so that these are the bits of one device. While a rank multiplies
one piece of the operand that moves, the next one travels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any

from ..request.library import require_torch
from . import agree
from .collectives import Group, Pending, gather, gather_whole, move, packed
from .cost import Way, needed
from .layout import Placed, Problem
from .local import Products

# Columns of a piece: as many as a product needs to run at full speed, and so many pieces that the first, for which a rank waits,
# is a small part.
LEAST_COLUMNS = 4096
MOST_PIECES = 8
# Bytes of a piece of which every rank sends whole lines: none waits for the first, and what counts is its memory.
MOST_BYTES = 2**32
# From so many bytes of buffers on, all ranks make sure that all of them have the memory before any sends.
LEAST_CONFIRMED = 2**28


def multiply(
    group: Group, problem: Problem, way: Way, a: Any, b: Any, products: Products, out: Any, bound: Any
) -> None:
    """This rank's part of the result into `out`, and bounds into `bound` (None where not asked for).

    Raises
    ------
    Exception
        What the products of this rank raise, as ``ozfp4.matmul`` does, after all that others wait for.
    RuntimeError
        What those of another rank raised, where the result of that rank was to move here; or a rank has ended.
    """
    reserve(group, problem, way, a.device)
    if way.computed == problem.result:
        compute(group, problem, way.computed, a, b, products, out, bound)
        if products.failure is not None:
            raise products.failure
        return
    mine = [None if x is None else x.new_empty(way.computed.local(group.rank)) for x in (out, bound)]
    compute(group, problem, way.computed, a, b, products, *mine)
    agree.confirm(group, products.failure)
    for target, found in zip((out, bound), mine, strict=True):
        if target is not None:
            target.copy_(move(group, found, way.computed, problem.result))


def reserve(group: Group, problem: Problem, way: Way, device: Any) -> None:
    """Makes sure that every rank has memory for what it will receive, so that none is missing where others wait for it: torch's
    allocator keeps what is asked for and given back here. All ranks know alike whether this is worth an exchange."""
    bytes_needed = _buffers(problem, way)
    if bytes_needed < LEAST_CONFIRMED or group.size == 1:
        return
    torch, failure = require_torch(), None
    try:
        torch.empty(bytes_needed, dtype=torch.uint8, device=device)
    except RuntimeError as error:  # torch's for memory on the host; of a device a class below
        failure = error
    agree.confirm(group, failure)


def _buffers(problem: Problem, way: Way) -> int:
    """About the bytes of what a rank receives at a time; of results that move, twice."""
    total = 0
    for source, target, item in zip(
        (problem.a, problem.b), needed(problem, way.computed), (problem.item_a, problem.item_b), strict=True
    ):
        if source.axis is not None and source != target:
            whole, free = prod(target.local(0)) * item, way.computed.axis
            if source.axis in (-1, -2) and target.axis is None and free in (-1, -2):
                extent = max(
                    1, source.shape[-3 - free]
                )  # the operand that moves is cut into pieces along its other matrix axis
                whole = min(whole, 2 * max(MOST_BYTES, whole * _columns(extent) // extent))
            total += whole
    if way.computed != problem.result:
        total += (prod(way.computed.local(0)) + prod(problem.result.local(0))) * problem.item
    return total


def compute(
    group: Group, problem: Problem, computed: Placed, a: Any, b: Any, products: Products, out: Any, bound: Any
) -> None:
    """This rank's part of a result that lies as `computed` says."""
    need_a, need_b = needed(problem, computed)
    if computed.axis == -2:
        kept = move(group, a, problem.a, need_a)
        _stream(group, kept, b, problem.b, True, products, out, bound)
    elif computed.axis == -1:
        kept = move(group, b, problem.b, need_b)
        _stream(group, kept, a, problem.a, False, products, out, bound)
    else:
        products(move(group, a, problem.a, need_a), move(group, b, problem.b, need_b), out, bound)


def _stream(
    group: Group,
    kept: Any,
    moving: Any,
    placed: Placed,
    is_left: bool,
    products: Products,
    out: Any,
    bound: Any,
) -> None:
    """The product of what a rank keeps, on the left or on the right, and all of the other operand, which lies as `placed`
    says."""
    free, inner = (-1, -2) if is_left else (-2, -1)
    if placed.axis == free:
        pieces = _lines(group, moving, placed, free)
    elif placed.axis == inner:
        pieces = _halves(group, moving, placed, free)
    else:
        pieces = iter([(0, move(group, moving, placed, placed.whole))])
    if placed.axis in (free, inner) and is_cut(placed, free):
        kept = products.keep(kept, is_left, moving, placed.shape[free])
    for begin, piece in pieces:
        width = piece.shape[free]
        target, errors = (None if x is None else x.narrow(free, begin, width) for x in (out, bound))
        products(*((kept, piece) if is_left else (piece, kept)), target, errors)


def is_cut(placed: Placed, free: int) -> bool:
    """Whether the operand that moves comes in several pieces."""
    return placed.axis == free or len(_steps(placed.shape[free], _columns(placed.shape[free]))) > 1


def _columns(extent: int) -> int:
    """Of a piece of an operand that is cut along K."""
    return max(LEAST_COLUMNS, -(-extent // MOST_PIECES), 1)


def _steps(extent: int, columns: int) -> list[tuple[int, int]]:
    """Where pieces begin and how wide they are."""
    return [(begin, min(columns, extent - begin)) for begin in range(0, extent, columns)]


def _halves(group: Group, moving: Any, placed: Placed, free: int) -> Iterator[tuple[int, Any]]:
    """Pieces of some whole lines, of which each rank has a part of K."""

    def launch(step: tuple[int, int]) -> Pending:
        begin, width = step
        shape = list(placed.shape)
        shape[free] = width
        assert placed.axis is not None
        return gather_whole(
            group, moving.narrow(free, begin, width), Placed(tuple(shape), placed.axis, placed.sizes)
        )

    steps = _steps(placed.shape[free], _columns(placed.shape[free]))
    for (begin, _), found in zip(steps, _ahead(steps, launch), strict=True):
        yield begin, found


def _lines(group: Group, moving: Any, placed: Placed, free: int) -> Iterator[tuple[int, Any]]:
    """Pieces of whole lines that one rank has: first its own, while those of others travel."""
    most = max(placed.sizes)
    line = prod(placed.shape) // max(1, placed.shape[free]) * moving.element_size() * group.size
    columns = max(LEAST_COLUMNS, MOST_BYTES // max(1, line))
    steps = _steps(most, columns)

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

    found = _ahead(steps, launch)
    yield placed.begin(group.rank), moving
    for (begin, width), pieces in zip(steps, found, strict=True):
        for rank in range(group.size):
            has = min(width, placed.sizes[rank] - begin)
            if rank != group.rank and has > 0:
                yield placed.begin(rank) + begin, pieces[rank].narrow(free, 0, has)


def _ahead(steps: list[Any], launch: Callable[[Any], Pending]) -> Iterator[Any]:
    """What comes of each launch. The first is launched here, each next one before the caller has what came, and so travels while
    that is multiplied; not before, as its memory is that of the one but last."""
    first = launch(steps[0]) if steps else None

    def come() -> Iterator[Any]:
        coming = first
        for step in [*steps[1:], None]:
            if coming is None:
                return
            now, coming = coming, None if step is None else launch(step)
            yield now.wait()

    return come()
