"""Approximate inverses of a square matrix, as functions: from its factors, and from those of a product with its inverse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..api.matmul import matmul
from . import lu
from .definite import lower_factor
from .native import Native
from .operands import FailureError
from .triangles import adjoint, check_diagonal, substitute


class Solver(NamedTuple):
    """`solve` gives about A^-1 X, `solve_adjoint` about A^-H X."""

    name: str
    solve: Callable[[Any], Any]
    solve_adjoint: Callable[[Any], Any]


def by_lu(native: Native, a: Any, accuracy: str) -> Solver:
    """From P A = L U; FailureError for a pivot that is exactly zero."""
    packed, pivots, e = lu.factorise_in_range(native, a, accuracy)
    check_diagonal(native, packed, "the pivot")

    def solve(x: Any, way: str = "N") -> Any:
        return lu.solve_factored(native, packed, pivots, x * 2.0**-e if e else x, accuracy, way)

    return Solver("LU", solve, lambda x: solve(x, "C"))


def by_cholesky(native: Native, a: Any, accuracy: str) -> Solver:
    """From A = L L^H; FailureError for a matrix that is not positive definite."""
    factor = lower_factor(native, a, accuracy)

    def solve(x: Any) -> Any:
        y = substitute(native, factor, x, accuracy, lower=True)
        return substitute(native, adjoint(factor), y, accuracy, lower=False)

    return Solver("Cholesky", solve, solve)


def by_inverse(native: Native, a: Any, first: Solver, accuracy: str) -> Solver | None:
    """From C = fl(R A), R about A^-1 by the first factors: A^-1 = C^-1 R, as in Rump's inversion of ill-conditioned matrices.

    C is computed entry by entry with one rounding, so it stands for R A whatever the condition of A, and its own condition is
    about u times that of A. None where R overflows or C has a zero pivot.
    """
    inverse = first.solve(native.eye(a.shape[0], a.shape[0], a))
    product = matmul(inverse, a, accuracy="correct")
    if not native.is_finite(product):
        return None
    try:
        second = by_lu(native, product, accuracy)
    except FailureError:
        return None
    return Solver(
        f"{first.name}, then LU of the inverse's product",
        lambda x: second.solve(matmul(inverse, x, accuracy="correct")),
        lambda x: matmul(adjoint(inverse), second.solve_adjoint(x), accuracy="correct"),
    )
