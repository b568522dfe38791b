"""Products of whole lines: operands move, as they are, until each rank has the rows and columns of what it computes. While a rank
multiplies one piece of the operand that moves, the next one travels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from .._api.matmul import matmul
from .._api.prepare import prepare
from .._options import plan_options, unusual
from .._request.library import is_integer, require_torch
from .._torch_ops import agree
from .._torch_ops.agree import Group
from ._collectives import Pending, filled_up, gather, gather_whole, move, packed
from ._cost import needed, pieces
from ._layout import Placed, Problem

torch: Any = require_torch()

# An operand that a rank multiplies with several pieces is scaled and encoded once. That is from so many operations on, and up
# to so many entries, as its planes take more memory.
LEAST_KEPT = 2.0**34
MOST_KEPT = 2**31


class Products:
    """The products that one rank computes. A product that fails keeps the reason, and the rank takes part in the exchanges of the
    others; `failure` is raised when no rank waits any more. `bounds`: whether bounds of the errors are wanted, too.
    """

    def __init__(self, options: dict[str, Any], bounds: bool) -> None:
        self.options, self.bounds = unusual({**options, "return_bound": bounds}), bounds
        self.failure: Exception | None = None

    def __call__(self, a: Any, b: Any, out: Any, bound: Any) -> None:
        """A B into `out`, and its bounds into `bound`, views of a result; after a failure nothing."""
        if out.numel():
            self.attempt(partial(self._multiply, a, b, out, bound))

    def attempt(self, do: Callable[[], Any]) -> Any:
        """The value of `do`; None after a failure, and where it fails."""
        if self.failure is not None:
            return None
        try:
            return do()
        except Exception as error:
            self.failure = error
            return None

    def _multiply(self, a: Any, b: Any, out: Any, bound: Any) -> None:
        found = None
        with suppress(torch.cuda.OutOfMemoryError):
            found = matmul(a, b, out=out, **self.options)
        if found is None:  # the error does not hold any more what the first attempt had taken
            # Operands that came take a part of the memory that a product cannot have in one piece. The bits are the same.
            torch.cuda.empty_cache()
            free, _ = torch.cuda.mem_get_info(out.device)
            limit = min(free * 3 // 4, self.options.get("workspace_limit") or free)
            found = matmul(a, b, out=out, **{**self.options, "workspace_limit": limit})
        if self.bounds:
            bound.copy_(found[1])

    def keep(self, x: Any, is_left: bool, other: Any, entries: int) -> Any:
        """`x` for products with several pieces of `other`, of so many columns (for a left operand, rows) altogether.

        It is prepared if that is possible and pays, else as it is. The bits are the same.
        """
        is_worth_it = 2.0 * x.numel() * entries >= LEAST_KEPT and 0 < x.numel() <= MOST_KEPT
        has_integers = is_integer(x.dtype) or is_integer(other.dtype)
        if self.failure is not None or not is_worth_it or has_integers:
            return x
        result = torch.promote_types(x.dtype, other.dtype)
        if not x.dtype.is_complex and result.is_complex:
            result = result.to_real()
        kind = "complex" if other.dtype.is_complex else "real"
        try:
            return prepare(
                x, "left" if is_left else "right", dtype=result, other=kind, **plan_options(self.options)
            )
        except (MemoryError, RuntimeError, ValueError):
            return x  # no memory for its planes, or a stack that is not kept


def multiply(
    group: Group, problem: Problem, a: Any, b: Any, products: Products, out: Any, bound: Any
) -> None:
    """This rank's part of the result into `out`, and bounds into `bound` (None where not asked for)."""
    reserve(group, problem, a.device)
    given, laid, targets = (a, b), (problem.a, problem.b), needed(problem, problem.result)
    which = {-2: 1, -1: 0}.get(problem.result.axis or 0)  # the operand that all ranks have to have
    if which is None or laid[which].axis not in (-1, -2):
        x, y = (move(group, *each) for each in zip(given, laid, targets, strict=True))
        products(x, y, out, bound)
        return
    moving, placed, is_left = given[which], laid[which], which == 1
    kept = move(group, given[1 - which], laid[1 - which], targets[1 - which])
    free = -1 if is_left else -2
    steps, extent = pieces(problem, problem.result), placed.shape[free]
    if steps == [(0, extent)]:
        coming = iter([(0, gather_whole(group, moving, placed).wait())])
    else:
        kept = products.keep(kept, is_left, moving, extent)
        reserve(group, problem, moving.device)  # next to what is kept
        coming = (_lines if placed.axis == free else _halves)(group, moving, placed, free, steps)
    for begin, piece in coming:
        width = piece.shape[free]
        target, errors = (None if x is None else x.narrow(free, begin, width) for x in (out, bound))
        products(*((kept, piece) if is_left else (piece, kept)), target, errors)
        del piece, target, errors  # their memory is that of the next one but one, which is asked for now


def reserve(group: Group, problem: Problem, device: Any) -> None:
    """Makes sure that every rank has memory for what it will send and receive at a time, so that no rank lacks it while others
    wait. torch's allocator keeps what is given back here. All ranks decide alike whether this is worth an exchange.
    """
    sizes: list[int] = []
    axis, operands = problem.result.axis, ((problem.a, problem.item_a), (problem.b, problem.item_b))
    for (source, item), target in zip(operands, needed(problem, problem.result), strict=True):
        if source.axis is None or source == target:
            continue
        received, buffers = target.largest * item, 1
        if source.axis in (-1, -2) and target.axis is None and axis in (-1, -2):
            free = -3 - axis
            widest = max(width for _, width in pieces(problem, problem.result))
            if widest < source.shape[free]:
                parts = problem.ranks if source.axis == free else 1
                received, buffers = received * widest * parts // source.shape[free], 2
        sizes += [received, received // problem.ranks] * buffers
    if group.size > 1 and sum(sizes) >= agree.LEAST_CONFIRMED:
        agree.together(
            group, lambda: [torch.empty(size, dtype=torch.uint8, device=device) for size in sizes], sum(sizes)
        )


Steps = list[tuple[int, int]]


def _halves(group: Group, moving: Any, placed: Placed, free: int, steps: Steps) -> Iterator[tuple[int, Any]]:
    """Pieces of some whole lines, of which each rank has a part of K."""

    def launch(step: tuple[int, int]) -> Pending:
        shape = list(placed.shape)
        shape[free] = step[1]
        return gather_whole(group, moving.narrow(free, *step), replace(placed, shape=tuple(shape)))

    coming = _ahead(steps, launch)  # taken one by one: zip would hold what it gave before
    for begin, _ in steps:
        yield begin, next(coming)


def _lines(group: Group, moving: Any, placed: Placed, free: int, steps: Steps) -> Iterator[tuple[int, Any]]:
    """Pieces of whole lines that one rank has: first its own, while those of others travel."""

    def launch(step: tuple[int, int]) -> Pending:
        begin, width = step
        own = moving.shape[free]
        part = moving.narrow(free, min(begin, own), max(0, min(width, own - begin)))
        return gather(group, packed(filled_up(part, free, width)))

    coming = _ahead(steps, launch)
    yield placed.range(free, group.rank)[0], moving
    for begin, width in steps:
        parts = next(coming)
        for rank in range(group.size):
            first, extent = placed.range(free, rank)
            if rank != group.rank and extent > begin:
                yield first + begin, parts[rank].narrow(free, 0, min(width, extent - begin))
        del parts


def _ahead(steps: Steps, launch: Callable[[Any], Pending]) -> Iterator[Any]:
    """The results of the launches. The first is launched here, each next one before the caller has the result before, so
    that it travels while that one is multiplied. It is not launched earlier, as it uses the memory of the one but last."""
    waiting = [launch(step) for step in steps[:1]]

    def come() -> Iterator[Any]:
        for step in steps[1:]:
            waiting.append(launch(step))
            yield waiting.pop(0).wait()  # held by whoever took it alone
        if waiting:
            yield waiting.pop().wait()

    return come()
