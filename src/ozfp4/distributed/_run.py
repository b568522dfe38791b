"""One product over a group that all ranks agree upon, from the parts of this rank to its part of the result."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from .._request.library import is_integer, require_torch
from .._torch_ops import agree
from .._torch_ops.agree import Group
from . import _cost as cost
from . import _gathered as gathered
from . import _reduce as reduce
from ._layout import Problem
from ._local import Products

torch: Any = require_torch()


@dataclass(frozen=True)
class Call:
    """A product as all ranks know it: the dtype of the result, keywords of ``ozfp4.matmul``, whether an operand requires grad."""

    problem: Problem
    dtype: Any
    options: dict[str, Any]
    method: str
    return_bound: bool
    needs_gradient: bool


def run(group: Group, call: Call, a: Any, b: Any, out: Any = None) -> tuple[Any, Any]:
    """This rank's part of the result, in `out` if it is given, and bounds of its errors or None. An error of one rank's product
    is a RuntimeError on others that need its entries; an OverflowError is one on each rank."""
    shape = call.problem.result.local(group.rank)
    raises = call.options.get("overflow") == "raise"

    def results() -> tuple[Any, Any]:
        c = torch.empty(shape, dtype=call.dtype, device=a.device) if out is None or raises else out
        of_bound = torch.complex128 if call.dtype.is_complex else torch.float64
        return c, torch.empty(shape, dtype=of_bound, device=a.device) if call.return_bound else None

    largest = prod(call.problem.result.local(0)) * call.problem.item  # some ranks may have an `out`
    c, bound = agree.together(group, results, largest * (1 + call.return_bound))
    if not raises:
        _multiply(group, call, a, b, c, bound)
        return c, bound
    # Nobody's `out` is written where an entry of anybody's does not fit.
    agree.together(group, lambda: _multiply(group, call, a, b, c, bound))
    return c if out is None else out.copy_(c), bound


def _multiply(group: Group, call: Call, a: Any, b: Any, out: Any, bound: Any) -> None:
    """The product by the way of the least cost. All have the same bits."""
    problem, method = call.problem, call.method
    reduces = method != "redistribute" and not reduce.why_not(
        problem, a.dtype, b.dtype, call.options, call.return_bound
    )
    if method == "auto" and reduces:
        reduces = not reduce.is_captured(problem)
    way = cost.choose(problem, method, reduces, is_integer(a.dtype) and is_integer(b.dtype))
    products = Products(call.options, call.return_bound)
    if way.method == "reduce":
        reduce.multiply(group, problem, a, b, products, out)
    else:
        gathered.multiply(group, problem, way, a, b, products, out, bound)
