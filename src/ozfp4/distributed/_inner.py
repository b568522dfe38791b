"""Products over a group: which way, and the call of what goes it. Both ways have the same bits."""

from __future__ import annotations

from typing import Any

from .._request import library
from . import _cost as cost
from . import _gathered as gathered
from . import _reduce as reduce
from ._collectives import Group
from ._layout import Problem
from ._local import Products

METHODS = ("auto", "redistribute", "reduce")


def check_method(method: object) -> str:
    """The name of a method; ValueError for an unknown one."""
    if not isinstance(method, str) or method not in METHODS:
        raise ValueError(f"method: {method!r} is unknown; allowed are {', '.join(map(repr, METHODS))}")
    return method


def why_not_reduce(
    problem: Problem, dtype_a: Any, dtype_b: Any, options: dict[str, Any], bounds: bool
) -> str:
    """A sentence that says why partial results cannot be added up; "" where they can."""
    return reduce.why_not(problem, dtype_a, dtype_b, options, bounds)


def check_serves(
    problem: Problem, method: str, dtype_a: Any, dtype_b: Any, options: dict[str, Any], bounds: bool
) -> None:
    """NotImplementedError where the method that is asked for cannot serve the problem."""
    why = why_not_reduce(problem, dtype_a, dtype_b, options, bounds) if method == "reduce" else ""
    if why:
        raise NotImplementedError(
            f"method: 'reduce' does not serve this product: {why}; 'auto' and 'redistribute' have the same bits"
        )


def multiply(
    group: Group, problem: Problem, method: str, a: Any, b: Any, products: Products, out: Any, bound: Any
) -> None:
    """This rank's part of the result into `out`, and bounds into `bound` (None where not asked for). Range: as
    :func:`check_serves`. Raises as :func:`gathered.multiply`."""
    reduces = method != "redistribute" and not why_not_reduce(
        problem, a.dtype, b.dtype, products.options, products.bounds
    )
    if method == "auto" and reduces:
        reduces = not reduce.is_captured(problem)
    has_integers = library.is_integer(a.dtype) and library.is_integer(b.dtype)
    way = cost.choose(problem, method, reduces, has_integers)
    if way.method == "reduce":
        reduce.multiply(group, problem, a, b, products, out)
    else:
        gathered.multiply(group, problem, way, a, b, products, out, bound)
