"""A complex product by real ones (request/complex.py), in blocks of the result where copies would need too much workspace."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from .._options import Options
from ..backends.cpu import DEFAULT_WORKSPACE
from ..backends.cuda import pairs
from ..backends.cuda.launch import UNLIMITED
from ..report import Report, merged_report
from ..request import complex as forms
from ..request import library
from ..request.operands import MatmulRequest, broadcast_stack
from . import on_cuda

# A real request -> its result, what is beside it (bounds or the product rounded up; None), and the report if one is wanted.
Run = Callable[[MatmulRequest], tuple[Any, Any, Report | None]]


def multiply(
    request: MatmulRequest, decide: Callable[[MatmulRequest], object], run: Run, encloses: bool = False
) -> tuple[Any, Any, Report | None]:
    """The result of `run` for the complex request itself. `decide` refuses real requests before operands are copied for
    them; it reads their extents. `encloses`: beside the result is the product rounded up.

    Raises
    ------
    MemoryError
        A workspace limit below what the copies and the smallest blocks need.
    """
    if library.is_tensor(request.a):
        on_cuda.check_device(request.a.device)
    c = empty_result(request, request.shape.result, request.dtype) if request.out is None else request.out
    beside = request.upper
    if encloses and beside is None:
        beside = empty_result(request, request.shape.result, request.dtype)
    elif request.asked.return_bound:
        beside = empty_result(
            request, request.shape.result, request.torch.complex128 if library.is_tensor(c) else np.complex128
        )
    product = _Product(request, decide, run, c, beside)
    abouts = [about for block in product.blocks() if (about := product.run_block(block)) is not None]
    results = [None if x is None else to_caller(request, x) for x in (c, beside)]
    return results[0], results[1], merged_report(abouts, _kind(request)) if abouts else None


def _kind(request: MatmulRequest) -> str:
    names = ["complex" if forms.is_complex(x) else "real" for x in (request.a, request.b)]
    return "complex" if names[0] == names[1] else " by ".join(names)


def empty_result(given: MatmulRequest | library.Operands, shape: tuple[int, ...], dtype: Any) -> Any:
    """A new result, an array or a tensor on the operands' device."""
    if library.is_tensor(given.a):
        return given.torch.empty(shape, dtype=dtype, device=given.a.device)
    return library.new_array(given.torch, shape, dtype)


def to_caller(given: MatmulRequest | library.Operands, result: Any) -> Any:
    """A result in the caller's library; a NumPy scalar for a product of two vectors, as np.matmul."""
    if given.torch is not None:
        return result if library.is_tensor(result) else library.tensor_of_array(result)
    return result[()] if result.ndim == 0 else result


@dataclass(frozen=True, eq=False)
class Part(MatmulRequest):
    """The real product that a block of a complex one is."""


class _Block(NamedTuple):
    """Rows and columns of the result; which block it is, of how many."""

    rows: slice
    columns: slice
    number: int
    of: int


class _Product:
    """One complex product, its results allocated: `c`, and beside it bounds, or the upper ends of an enclosure, or None."""

    def __init__(
        self, request: MatmulRequest, decide: Callable[[MatmulRequest], object], run: Run, c: Any, beside: Any
    ) -> None:
        self.request, self.decide, self.run = request, decide, run
        self.a, self.b = forms.with_matrix_axes(request.a, request.b)
        self.c = forms.matrices(request.shape, c)
        self.beside = None if beside is None else forms.matrices(request.shape, beside)
        addend = None if request.update is None else request.update.c
        self.addend = None if addend is None else forms.matrices(request.shape, addend)
        self.is_stacked = not forms.is_complex(request.b)
        on_device = library.is_tensor(request.a)
        self.limit = request.asked.workspace_limit or (UNLIMITED if on_device else DEFAULT_WORKSPACE)

    def blocks(self) -> Iterator[_Block]:
        """Blocks of the result whose copies take half of the workspace or less, if those of a row and a column do; of all
        lines of an operand that is prepared."""
        m, n, prepared = self.request.shape.m, self.request.shape.n, self.request.prepared
        rows, columns = _core.cut_for_copies(
            m,
            n,
            *forms.copied_bytes(self.a, self.b, prepared),
            self._entry_bytes(),
            self.limit // 2,
            prepared.a is not None,
            prepared.b is not None,
        )
        starts = [(i, j) for i in range(0, max(m, 1), rows) for j in range(0, max(n, 1), columns)]
        for number, (i, j) in enumerate(starts):
            yield _Block(slice(i, min(i + rows, m)), slice(j, min(j + columns, n)), number, len(starts))

    def _entry_bytes(self) -> int:
        """Of what an entry needs beside the results."""
        shape, results = self.request.shape, [self.c]
        needed = 0
        if self.beside is not None and self.request.asked.return_bound:
            needed = self.beside.itemsize  # bounds are copied into their place
        elif self.beside is not None:
            results.append(self.beside)
        if not self.is_stacked:
            needed += sum(x.itemsize for x in results if not forms.has_neighbours(x))
        return int(needed) * math.prod(shape.stack)

    def run_block(self, block: _Block) -> Report | None:
        """Multiply a block into its place; its report if one is wanted."""
        whole = self.request
        a, b = self.a[..., block.rows, :], self.b[..., :, block.columns]
        results = [x[..., block.rows, block.columns] for x in (self.c, self.beside) if x is not None]
        shape = forms.real_shape(whole, a.shape[-2], b.shape[-1])
        is_paired = forms.are_paired(a, b)
        self.decide(Part(a, b, None, shape, None, whole.single, None, whole.asked, is_paired=is_paired))
        x, y = forms.real_operands(a, b, pairs.expand if library.is_tensor(a) else None, whole.prepared)
        written = results[:1] if whole.asked.return_bound else results
        places = [forms.real_result(result, self.is_stacked) for result in written]
        made = [*whole.prepared, *(None for _ in places)]
        copied = sum(
            new.nbytes
            for new, old, before in zip((x, y, *places), (a, b, *written), made, strict=True)
            if before is None and not forms.lie_together(new, old)
        )
        update = whole.update
        if self.addend is not None:
            own = self.addend[..., block.rows, block.columns]
            update = replace(update, c=forms.real_result(own, self.is_stacked))
            copied += 0 if forms.lie_together(update.c, own) else update.c.nbytes
        if not library.is_tensor(x):
            x, y = (broadcast_stack(z, shape.stack) for z in (x, y))
        torch = whole.torch if library.is_tensor(x) else None
        upper = places[1] if len(places) > 1 else None
        asked = self._asked(block, copied)
        real = Part(x, y, places[0], shape, places[0].dtype, whole.single, torch, asked, upper,
                    whole.prepared, is_paired=is_paired, update=update)  # fmt: skip
        try:
            _, second, about = self.run(real)
        except _core.WorkspaceError as error:
            raise _core.WorkspaceError(
                f"workspace_limit = {self.limit} bytes, {copied} of which are for copies of complex operands, is too small: this "
                f"product needs at least {error.least} bytes beside them"
            ) from None
        if whole.asked.return_bound:
            places.append(second)
        for result, place in zip(results, places, strict=True):
            forms.put_parts(result, place, self.is_stacked)
        if about is None:
            return None
        return self._about_block(about, block, copied)

    def _asked(self, block: _Block, copied: int) -> Options:
        """The arguments of a block's product."""
        asked = self.request.asked
        if copied >= self.limit:
            raise _core.WorkspaceError(
                f"workspace_limit = {self.limit} bytes is too small: the copies for the smallest block take {copied}"
            )
        progress = asked.progress
        told = None if progress is None else lambda fraction: progress((block.number + fraction) / block.of)
        rest = None if self.limit == UNLIMITED else self.limit - copied
        return asked._replace(workspace_limit=rest, progress=told)

    def _about_block(self, about: Report, block: _Block, copied: int) -> Report:
        """The report in terms of the complex matrices; lines that a block before has counted are not counted again."""
        is_complex = [forms.is_complex(x) for x in (self.a, self.b)]
        # Each column of B is two of the same numbers, or beside the parts of A the CPU sees it twice.
        twice = 2 if all(is_complex) or not (is_complex[1] or library.is_tensor(self.b)) else 1
        is_paired = about.plan is not None and about.plan.is_complex
        return replace(
            about,
            products=about.products * (1 if is_paired else 4 if all(is_complex) else 2),
            special_rows=about.special_rows if block.columns.start == 0 else 0,
            special_columns=about.special_columns // twice if block.rows.start == 0 else 0,
            workspace=about.workspace + copied,
        )
