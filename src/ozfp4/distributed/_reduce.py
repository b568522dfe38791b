"""Products of operands that are cut along K, from partial products: of A and B moves only what the lines say of themselves.

The pieces of a line give the scale of the line, as on one device. With it each rank encodes and multiplies its own piece, and the
residues of an entry are those of the whole product once they are summed. Every rank receives those of its part of the result,
sums them, and reconstructs: the one rounding. Entries that no certificate covers there, and lines with NaN or infinity, are
multiplied again from whole lines. So all bits are those of one device.
"""

from __future__ import annotations

import hashlib
import operator
from dataclasses import replace
from functools import partial, reduce
from math import prod
from typing import Any

from .._dispatch.product import partial_product
from .._options import Options
from .._request import library
from .._request.library import require_torch
from .._torch_ops import agree
from .._torch_ops.agree import Group
from . import _cost as cost
from ._collectives import Pending, exchange, gather, swap_bytes
from ._gathered import Products
from ._layout import Extents, Placed, Problem

torch: Any = require_torch()

# A GPU sums so many residues of a modulus as it reconstructs (kMaxSplits in csrc/cuda/multiply/schedule.hpp).
MOST_RANKS = 64
# Bytes of the residues of a block. While one travels, the next one may be multiplied: the memory is that of two on their way
# out and two on their way in.
MOST_BYTES = {"cpu": 2**28, "cuda": 2**31}
ALIGNED = 256  # columns or rows of a block are a multiple of this: whole tiles
MANY = 16  # where more than one entry of so many is left, all of a rank's part are multiplied again
REPAIR_BYTES = 2**31  # of the whole lines of an operand that a rank gathers at a time


def why_not(problem: Problem, dtype_a: Any, dtype_b: Any, options: dict[str, Any], bounds: bool) -> str:
    """ "" where the product can be made from partial products, else why it cannot. The same on all ranks."""
    if (problem.a.axis, problem.b.axis) != (-1, -2):
        return "a has to be cut along its columns and b along its rows"
    if len(problem.a.shape) != 2 or len(problem.b.shape) != 2:
        return "stacks of matrices are redistributed"
    if problem.result.axis not in (-2, -1, None):
        return "the result is cut along its rows or its columns, or replicated"
    if library.is_integer(dtype_a) and library.is_integer(dtype_b):
        wraps = options.get("overflow", "wrap") == "wrap"
        return "" if wraps else "whether an entry fits its dtype is asked of whole lines"
    if any(not (dtype.is_floating_point or dtype.is_complex) for dtype in (dtype_a, dtype_b)):
        return f"it is for floating-point operands, or for integers alone; these are {dtype_a} and {dtype_b}"
    if bounds:
        return "bounds of errors are made from whole lines"
    if problem.ranks > MOST_RANKS:
        return f"it is for groups of at most {MOST_RANKS} ranks, this one has {problem.ranks}"
    plan = options.get("plan")
    if options.get("scheme", "II") != "II" or (plan is not None and (not plan.moduli or plan.is_complex)):
        return "residues are those of scheme II"
    return ""


def multiply(group: Group, problem: Problem, a: Any, b: Any, products: Products, out: Any) -> None:
    """This rank's part of the result into `out`. RuntimeError after an error of another rank's piece, or where plans differ.

    Precondition: what :func:`why_not` has nothing against, a result that is cut.
    """
    if 0 in (problem.m, problem.n):
        return
    if out.dtype.is_complex:
        _multiply_parts(group, problem, a, b, products, out)
    elif library.is_integer(out.dtype):
        _add_integers(group, problem.result, a, b, products, out)
    elif problem.k == 0:
        products(a.new_empty((out.shape[0], 0)), b.new_empty((0, out.shape[1])), out, None)
    else:
        a, b = (x.detach().resolve_neg() for x in (a, b))
        _Reduction(group, problem, a, b, products, out).run()


def _multiply_parts(group: Group, problem: Problem, a: Any, b: Any, products: Products, out: Any) -> None:
    """A complex product as the real one that has its bits (docs/inside/accuracy.md). Two complex operands become (re, im)
    side by side along K; a single one becomes its real and its imaginary part side by side."""
    inner = 1 + (a.is_complex() and b.is_complex())
    more_rows, more_columns = (1, 2) if b.is_complex() else (2, 1)

    def grown(of: Placed, *by: int) -> Placed:
        assert of.axis is not None
        sizes = tuple(by[of.axis] * size for size in of.sizes)
        return Placed((of.shape[0] * by[0], of.shape[1] * by[1]), of.axis, sizes)

    laid_a, laid_b = grown(problem.a, more_rows, inner), grown(problem.b, inner, more_columns)
    result = grown(problem.result, more_rows, more_columns)

    def take() -> tuple[Any, Any, Any]:
        shape = result.local(group.rank)
        return *_as_real(a, b), torch.empty(shape, dtype=out.dtype.to_real(), device=out.device)

    items = (problem.item_a, laid_a), (problem.item_b, laid_b), (problem.item, result)
    a, b, found = agree.together(group, take, sum(item * x.largest for item, x in items))
    real = replace(
        problem, a=laid_a, b=laid_b, result=result,
        item_a=a.element_size(), item_b=b.element_size(), item=problem.item // 2,
    )  # fmt: skip
    multiply(group, real, a, b, products, found)
    rows, columns = out.shape
    pairs = found.view(rows, columns, 2) if more_columns == 2 else found.view(rows, 2, columns).mT
    torch.view_as_real(out).copy_(pairs)


def _as_real(a: Any, b: Any) -> tuple[Any, Any]:
    """The operands of the real product."""
    a, b = (x.detach().resolve_conj().resolve_neg() for x in (a, b))
    if not b.is_complex():
        return torch.stack([a.real, a.imag], 1).flatten(0, 1), b
    if not a.is_complex():
        return a, torch.view_as_real(b).flatten(1)
    x, y = b.real, b.imag
    pairs = torch.stack([torch.stack([x, y], -1), torch.stack([-y, x], -1)], 1).flatten(2).flatten(0, 1)
    return torch.view_as_real(a).flatten(1), pairs


def _add_integers(group: Group, placed: Placed, a: Any, b: Any, products: Products, out: Any) -> None:
    """Modulo 2^w of the result's dtype the sum of the ranks' products is that of all of K; of bool, whether any is true."""

    def take() -> Any:
        """The partial product; what is sent of it and received has room then, too."""
        partial = torch.empty(placed.shape, dtype=out.dtype, device=out.device)
        torch.empty((2, *placed.shape), dtype=out.dtype, device=out.device)
        return partial

    partial = agree.together(group, take, 3 * placed.entries * out.element_size())
    products(a, b, partial, None)
    agree.confirm(group, products.failure)
    parts = [placed.part(partial, rank) for rank in range(group.size)]
    found = exchange(group, parts, [tuple(out.shape)] * group.size)
    # Dtypes of the same bits that torch adds everywhere.
    summed = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[out.element_size()]
    add = operator.ior if out.dtype == torch.bool else operator.iadd
    out.copy_(reduce(add, (part.view(summed) for part in found)).view(out.dtype))


class _Reduction:
    """The product of floating-point matrices: this rank's part of the result into `out`."""

    def __init__(self, group: Group, problem: Problem, a: Any, b: Any, products: Products, out: Any) -> None:
        self.group, self.problem, self.computed = group, problem, problem.result
        self.a, self.b, self.products, self.out = a, b, products, out
        assert self.computed.axis is not None
        self.axis, self.free = self.computed.axis, -3 - self.computed.axis
        self.own = [self.computed.range(axis, group.rank) for axis in (-2, -1)]  # rows, columns
        self.piece: Any = None

    def run(self) -> None:
        step, waiting = self._prepare(), []
        extent = self.computed.shape[self.free]
        is_hidden = cost.hides_residues(self.problem, self.computed)
        for begin in range(0, extent, step):
            block = begin, min(step, extent - begin)
            waiting.append((block, self._exchange(block)))
            if len(waiting) > is_hidden:
                self._finish(*waiting.pop(0))
        if waiting:
            self._finish(*waiting.pop())
        self._mend()

    def _prepare(self) -> int:
        """Makes the piece, with the scales of whole lines; gives the lines of a block. A failure on one rank raises on all."""
        group = self.group
        asked = Options.of(self.products.options)
        is_correct = asked.accuracy == "correct"

        def facts() -> Any:
            self.piece = partial_product(self.a, self.b, self.problem.k, asked, self.out.dtype)
            return self.piece.facts()

        words = agree.together(group, facts)
        digest = hashlib.blake2b(repr(self.piece.plan._key()).encode(), digest_size=8).digest()
        mark = torch.full_like(words[:1], int.from_bytes(digest, "little", signed=True))
        found = gather(group, torch.cat([words, mark])).wait().cpu()
        if not bool((found[:, -1] == found[0, -1]).all()):
            raise RuntimeError(
                "the ranks' devices would multiply by different plans; with backend= or plan= all take the same one"
            )

        def settle() -> Any:
            self.piece.settle(found[:, :-1])
            # Lines of a block along the axis that no rank cuts: blocks of about the same size, none too large.
            sizes, extent = self.computed.sizes, self.computed.shape[self.free]
            most = (
                max(1, MOST_BYTES[self.a.device.type] // max(1, self._bytes_of(sum(sizes), ALIGNED)))
                * ALIGNED
            )
            blocks = -(-extent // most)
            step = int(min(most, -(-extent // (blocks * ALIGNED)) * ALIGNED))
            # Memory for two blocks on their way out and two on their way in: torch's allocator keeps what is given back here.
            lines = sum(sizes), group.size * sizes[group.rank]
            total = sum(2 * self._bytes_of(count, step) for count in lines)
            torch.empty(total, dtype=torch.uint8, device=self.a.device)
            return step, self.piece.rounded() if is_correct else None

        step, rounded = agree.together(group, settle)
        if is_correct:
            self.piece.set_rounded(gather(group, rounded).wait().sum(0))
        return int(step)

    def _bytes_of(self, along: int, free: int) -> int:
        """Bytes of the residues of so many lines along the axis that is cut, and along the other one."""
        return int(self.piece.bytes_of(*((along, free) if self.axis == -2 else (free, along))))

    def _part(self, rank: int, block: tuple[int, int]) -> Any:
        """The rows and columns of a rank's part of a block."""
        along = self.computed.range(self.axis, rank)
        return (along, block) if self.axis == -2 else (block, along)

    def _exchange(self, block: tuple[int, int]) -> Pending:
        """The residues of this rank's part, of all pieces: those of other ranks, which are on their way, in rank order, and
        behind them its own. Each rank sends every other one the residues of that one's part; zeros after a failure."""
        group, piece = self.group, self.piece
        parts = [self._part(rank, block) for rank in range(group.size)]
        sizes = [piece.bytes_of(rows[1], columns[1]) for rows, columns in parts]
        own = sizes[group.rank]
        others = [0 if rank == group.rank else size for rank, size in enumerate(sizes)]
        sent = self.a.new_empty(sum(others), dtype=torch.uint8)
        received = self.a.new_empty(group.size * own + piece.tail(own), dtype=torch.uint8)
        travelling = received[: (group.size - 1) * own]
        targets = list(sent.split(others))
        targets[group.rank] = received[len(travelling) : len(travelling) + own]
        self.products.attempt(lambda: piece.residues(parts, targets))
        if self.products.failure is not None:
            for target in targets:
                target.zero_()
        if group.size == 1:
            return Pending(None, lambda: received)
        coming = [0 if rank == group.rank else own for rank in range(group.size)]
        pending = swap_bytes(group, sent, others, travelling, coming)
        return Pending(None, lambda: received if pending.wait() is not None else None)

    def _finish(self, block: tuple[int, int], coming: Pending) -> None:
        received = coming.wait()
        rows, columns = self._part(self.group.rank, block)
        if rows[1] and columns[1]:
            out = self.out.narrow(self.free, *block)
            self.products.attempt(lambda: self.piece.finish(received, self.group.size, rows, columns, out))

    def _mend(self) -> None:
        """Entries that are not certified, then those of lines with NaN or infinity: from whole lines."""
        all_lines = [
            [_indices(self.computed.range(axis, rank)) for axis in (-2, -1)]
            for rank in range(self.group.size)
        ]
        self._make_anew(self._listed())
        rows, columns = self.piece.special_lines
        self._make_anew([(own[torch.isin(own, rows)], other) for own, other in all_lines])
        self._make_anew([(other, own[torch.isin(own, columns)]) for other, own in all_lines])

    def _listed(self) -> list[tuple[Any, Any]]:
        """The rows and columns of each rank's entries that are not certified, on the CPU. Raises on all ranks where one has
        failed: its residues are in the sums of the others."""
        m = self.problem.m
        marks = torch.zeros(m + self.problem.n + 1, dtype=torch.bool, device="cpu")
        count = self.products.attempt(self.piece.count_listed) or 0
        if count > self.out.numel() // MANY:
            places = [_indices(own) for own in self.own]
        else:
            found = self.products.attempt(self.piece.listed) if count else None
            places = [] if found is None else [found[:, 0], found[:, 1]]
        for first, lines in zip((0, m), places, strict=False):
            marks[first + lines] = True
        marks[-1] = self.products.failure is not None
        all_marks = gather(self.group, marks.to(self.a.device)).wait().cpu()
        if bool(all_marks[:, -1].any()):
            agree.confirm(self.group, self.products.failure)
        return [(each[:m].nonzero().view(-1), each[m:-1].nonzero().view(-1)) for each in all_marks]

    def _make_anew(self, wanted: list[tuple[Any, Any]]) -> None:
        """The products of some rows with some columns, each rank's own, sorted, by blocks of whole lines, of which the ranks send
        each other their pieces. Every rank takes part until all have theirs."""
        if not any(len(rows) and len(columns) for rows, columns in wanted):
            return
        rank, operands = self.group.rank, (self.a, self.b)
        steps = [max(1, REPAIR_BYTES // max(1, x.element_size() * self.problem.k)) for x in operands]
        most = [max(len(each[side]) for each in wanted) for side in (0, 1)]
        self._reserve_lines(wanted, steps)
        for first in range(0, most[0], steps[0]):
            rows = [each[first : first + steps[0]] for each, _ in wanted]
            a = self._whole_lines(self.a, 0, rows)
            for second in range(0, most[1], steps[1]):
                columns = [each[second : second + steps[1]] for _, each in wanted]
                b = self._whole_lines(self.b, 1, columns)
                if len(rows[rank]) and len(columns[rank]):
                    self.products.attempt(partial(self._put_products, a, b, rows[rank], columns[rank]))

    def _put_products(self, a: Any, b: Any, rows: Any, columns: Any) -> None:
        values = self.out.new_empty((len(rows), len(columns)))
        self.products(a, b, values, None)
        if self.products.failure is None:
            i, j = (
                x.to(self.out.device) - begin for x, (begin, _) in zip((rows, columns), self.own, strict=True)
            )
            self.out[i[:, None], j] = values

    def _reserve_lines(self, wanted: list[tuple[Any, Any]], steps: list[int]) -> None:
        """Makes sure on all ranks or on none that there is memory for the lines of a step and for their products. The lines
        are on their way out, on their way in, and put together. See :meth:`_reserve`."""
        problem, items = self.problem, [x.element_size() for x in (self.a, self.b)]

        def bytes_of(rank: int) -> int:
            own, travelling = [], 0
            for side, item in enumerate(items):
                lines = [min(len(each[side]), steps[side]) for each in wanted]
                own.append(lines[rank])
                travelling += item * (sum(lines) * problem.a.sizes[rank] + 2 * own[side] * problem.k)
            return int(travelling + prod(own) * max(items))

        largest = max(bytes_of(rank) for rank in range(self.group.size))
        own = bytes_of(self.group.rank)
        agree.together(self.group, lambda: torch.empty(own, dtype=torch.uint8, device=self.a.device), largest)

    def _whole_lines(self, x: Any, axis: int, indices: list[Any]) -> Any:
        """The lines at this rank's indices, of all of K."""
        parts = [x.index_select(axis, each.to(x.device)) for each in indices]
        own = len(indices[self.group.rank])
        shapes: list[Extents] = [(size, own) if axis else (own, size) for size in self.problem.a.sizes]
        return torch.cat(exchange(self.group, parts, shapes), 1 - axis)


def _indices(lines: tuple[int, int]) -> Any:
    return torch.arange(lines[0], sum(lines), device="cpu")
