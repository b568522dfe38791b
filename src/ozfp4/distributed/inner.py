"""Products over a group: which way, and the call of what goes it. Both ways have the same bits."""

from __future__ import annotations

from typing import Any

from . import cost, gathered
from .collectives import Group
from .layout import Problem
from .local import Products

METHODS = ("auto", "redistribute", "reduce")


def check_method(method: object) -> str:
    """The name of a method; ValueError for an unknown one."""
    if not isinstance(method, str) or method not in METHODS:
        raise ValueError(f"method: {method!r} is unknown; allowed are {', '.join(map(repr, METHODS))}")
    return method


def check_serves(problem: Problem, method: str) -> None:
    """ValueError or NotImplementedError where the method that is asked for cannot serve the problem."""
    if method != "reduce":
        return
    if not problem.cuts_inner:
        raise ValueError(
            "method: 'reduce' adds partial products up, for which a has to be cut along its columns and b along its rows; "
            "'auto' serves every layout"
        )
    raise NotImplementedError(
        "method: 'reduce' is not there yet; 'auto' and 'redistribute' have the same bits"
    )


def multiply(
    group: Group, problem: Problem, method: str, a: Any, b: Any, products: Products, out: Any, bound: Any
) -> None:
    """This rank's part of the result into `out`, and bounds into `bound` (None where not asked for). Range: as
    :func:`check_serves`. Raises as :func:`gathered.multiply`."""
    way = cost.choose(problem, method)
    gathered.multiply(group, problem, way, a, b, products, out, bound)
