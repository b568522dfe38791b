"""One product over a group that all ranks agree upon, from the parts of this rank to its part of the result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .._request.library import is_integer, require_torch
from .._torch_ops import agree
from .._torch_ops.agree import Group
from . import _cost as cost
from . import _gathered as gathered
from . import _reduce as reduce
from ._collectives import move
from ._gathered import Products
from ._layout import Problem

torch: Any = require_torch()


def run(group: Group, problem: Problem, a: Any, b: Any, out: Any = None) -> tuple[Any, Any]:
    """This rank's part of the result, in `out` if it is given, and bounds of its errors or None. An error of one rank's product
    is a RuntimeError on others that need its entries; an OverflowError is one on each rank."""
    shape = problem.result.local(group.rank)
    raises = problem.options.get("overflow") == "raise"

    def results() -> tuple[Any, Any]:
        c = torch.empty(shape, dtype=problem.dtype, device=a.device) if out is None or raises else out
        of_bound = torch.complex128 if problem.dtype.is_complex else torch.float64
        return c, torch.empty(shape, dtype=of_bound, device=a.device) if problem.return_bound else None

    largest = problem.result.largest * problem.item  # some ranks may have an `out`
    c, bound = agree.together(group, results, largest * (1 + problem.return_bound))
    if not raises:
        _multiply(group, problem, a, b, c, bound)
        return c, bound
    # No rank's `out` is written if an entry of any rank does not fit.
    agree.together(group, lambda: _multiply(group, problem, a, b, c, bound))
    return c if out is None else out.copy_(c), bound


def _multiply(group: Group, problem: Problem, a: Any, b: Any, out: Any, bound: Any) -> None:
    """The product by the way of the least cost. All have the same bits. An error of this rank's products is raised after all that
    others wait for."""
    method = problem.method
    why_not = reduce.why_not(problem, a.dtype, b.dtype, problem.options, problem.return_bound)
    if method == "reduce" and why_not:
        raise NotImplementedError(
            f"method: 'reduce' cannot compute this product: {why_not}; 'auto' and 'redistribute' have the same bits"
        )
    # While a CUDA graph is captured the number of entries that are left cannot be read.
    is_captured = problem.device == "cuda" and bool(torch.cuda.is_current_stream_capturing())
    reduces = not why_not and (method == "reduce" or not is_captured)
    way = cost.choose(problem, method, reduces, is_integer(a.dtype) and is_integer(b.dtype))
    computed, wanted, results = way.computed, problem.result, [out, bound]

    def elsewhere() -> list[Any]:
        """Results that move, and room for those that come."""
        for placed in (wanted, computed):
            made = [x if x is None else x.new_empty(placed.local(group.rank)) for x in (out, bound)]
        return made

    if computed != wanted:
        size = 2 * sum(x.largest for x in (computed, wanted)) * problem.item
        results = agree.together(group, elsewhere, size)
    problem, products = replace(problem, result=computed), Products(problem.options, problem.return_bound)
    if way.method == "reduce":
        reduce.multiply(group, problem, a, b, products, results[0])
    else:
        gathered.multiply(group, problem, a, b, products, *results)
    if computed != wanted:
        agree.confirm(group, products.failure)
        for target, found in zip((out, bound), results, strict=True):
            if target is not None:
                target.copy_(move(group, found, computed, wanted))
    elif products.failure is not None:
        raise products.failure
