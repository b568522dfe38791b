"""Approximate inverses of a square matrix, as functions: from its factors, and from those of a product with its inverse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..api.matmul import matmul
from . import lu
from .definite import lower_factor
from .evidence import Inverse, inverse_of, like, quick, random_numbers
from .native import Native
from .operands import FailureError
from .triangles import adjoint, substitute

# The noise of an inverse, in units of the roundoff.
_NOISE = 8


class Solver(NamedTuple):
    """`solve` gives about A^-1 X, with `part` of it as an error, infinite where unknown; `solve_adjoint` about A^-H X.

    `solve` takes up to `terms` matrices X and gives A^-1 times their sum. `failure` names a zero pivot that was filled:
    then only a refined solution is one.
    """

    name: str
    solve: Callable[..., Any]
    solve_adjoint: Callable[[Any], Any]
    part: float = np.inf
    terms: int = 1
    failure: str = ""


def by_lu(native: Native, a: Any, accuracy: str) -> Solver:
    """From P A = L U; FailureError for a matrix that is plainly singular."""
    packed, pivots, e = lu.factorise_in_range(native, a, accuracy)
    failure = lu.fill_zeros(native, packed)

    def solve(x: Any, way: str = "N") -> Any:
        return lu.solve_factored(native, packed, pivots, x * 2.0**-e if e else x, accuracy, way)

    return Solver("LU", solve, lambda x: solve(x, "C"), failure=failure)


def by_cholesky(native: Native, a: Any, accuracy: str) -> Solver:
    """From A = L L^H; FailureError for a matrix that is not positive definite."""
    factor = lower_factor(native, a, accuracy)

    def solve(x: Any) -> Any:
        y = substitute(native, factor, x, accuracy, lower=True)
        return substitute(native, adjoint(factor), y, accuracy, lower=False)

    return Solver("Cholesky", solve, solve)


def trusted(native: Native, a: Any, b: Any, first: Solver) -> tuple[Solver, Any, Inverse | None]:
    """A solver with the part of an error that it leaves, what `first` makes of B, and None; or, if that did not show it, a solver
    by the inverse, and the inverse."""
    part, x = quick(native, a, first.solve, b)
    if part < np.inf:
        return first._replace(part=part), x, None
    inverse = inverse_of(native, a, first.solve(native.eye(a.shape[0], a.shape[0], a)))
    return _by_matrix(native, first.name, inverse), x, inverse


def by_inverse(
    native: Native, a: Any, first: Solver, accuracy: str, inverse: Any | None = None
) -> Solver | None:
    """From C = fl(R A), R about A^-1 by the first factors, or `inverse`: A^-1 = C^-1 R, as in Rump's inversion of ill-conditioned
    matrices.

    C is computed entry by entry with one rounding, so it stands for R A whatever the condition of A, and its own condition is
    about u times that of A. R has its last bits at random, without which it may be as singular as A, and C too. None where R
    overflows or C is plainly singular.
    """
    if inverse is None:
        inverse = first.solve(native.eye(a.shape[0], a.shape[0], a))
    noise = 1 + _NOISE * native.roundoff(a.dtype) * random_numbers(*a.shape)
    matrix = inverse * like(native, noise, a)
    product = matmul(matrix, a, accuracy="correct")
    if not native.is_finite(product):
        return None
    try:
        second = by_lu(native, product, accuracy)
    except FailureError:
        return None
    part, _ = quick(native, product, second.solve, product[:, :0])
    if not part < np.inf:
        unit = native.eye(a.shape[0], a.shape[0], a)
        again = inverse_of(native, product, second.solve(unit), native.roundoff(product.dtype))
        second = _by_matrix(native, second.name, again)
        part = again.part
    return Solver(
        f"{first.name}, then LU of the inverse's product",
        lambda *x: second.solve(_times(native, matrix, x)),
        lambda x: matmul(adjoint(matrix), second.solve_adjoint(x), accuracy="correct"),
        part,
        2,
    )


def _by_matrix(native: Native, name: str, inverse: Inverse) -> Solver:
    """By products with the inverse itself, each entry rounded once."""
    return Solver(
        name,
        lambda *x: _times(native, inverse.matrix, x),
        lambda x: matmul(adjoint(inverse.matrix), x, accuracy="correct"),
        inverse.part,
        2,
    )


def _times(native: Native, matrix: Any, x: Sequence[Any]) -> Any:
    """The matrix by the sum of some X, rounded once."""
    return matmul(native.join([matrix] * len(x), 1), native.join(list(x), 0), accuracy="correct")
