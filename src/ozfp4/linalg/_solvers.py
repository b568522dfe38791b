"""Approximate inverses of square matrices, as functions: from their factors, and from those of a product with the inverse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _lu as lu
from ._definite import lower_factor
from ._evidence import Solve, part_left, quick, random_numbers
from ._native import Host, Rows, adjoint, eye, is_finite, join, numbers, pick, roundoff
from ._operands import FailureError
from ._products import multiply, scaled
from ._triangles import substitute

# The noise of an inverse, in units of the roundoff.
_NOISE = 8


class Solver(NamedTuple):
    """For a stack: `solve` takes up to `terms` matrices X of some of its systems and gives about A^-1 times their sum,
    `solve_adjoint` about A^-H X of one. `part` is the share of an error that is left, infinite where unknown.

    `failures` name zero pivots that were filled, by the systems: there only a refined solution is one.
    """

    name: str
    solve: Solve
    solve_adjoint: Solve
    part: Host
    terms: int = 1
    failures: Mapping[int, str] = {}

    def of(self, kept: Rows) -> Solver:
        """That of some of the systems, which are counted anew."""
        return self._replace(
            solve=lambda x, rows: self.solve(x, kept[rows]),
            solve_adjoint=lambda x, rows: self.solve_adjoint(x, kept[rows]),
            part=self.part[kept],
            failures={},
        )


def by_lu(a: Any, accuracy: str) -> Solver:
    """From P A = L U; FailureError for a matrix that is plainly singular."""
    solver, singular = _by_lu(a, accuracy)
    if singular.size:
        first = int(singular[0])
        raise FailureError(first, solver.failures[first])
    return solver


def _by_lu(a: Any, accuracy: str) -> tuple[Solver, Rows]:
    """The same, and the matrices that are plainly singular."""
    factors = lu.factorise_in_range(a, accuracy)
    failures, singular = lu.fill_zeros(factors.packed)
    order = lu.order_of(factors.pivots, a.shape[1])

    def solve(terms: Sequence[Any], rows: Rows, way: str = "N") -> Any:
        x = scaled(terms[0], -factors.exponents[rows])
        return lu.solve_factored(pick(factors.packed, rows), pick(order, rows), x, accuracy, way)

    unknown = np.full(len(a), np.inf)
    solver = Solver("LU", solve, lambda x, rows: solve(x, rows, "C"), unknown, failures=failures)
    return solver, singular


def by_cholesky(a: Any, accuracy: str) -> Solver:
    """From A = L L^H; FailureError for a matrix that is not positive definite."""
    factor = lower_factor(a, accuracy)

    def solve(terms: Sequence[Any], rows: Rows) -> Any:
        left = pick(factor, rows)
        y = substitute(left, terms[0], accuracy, lower=True)
        return substitute(adjoint(left), y, accuracy, lower=False)

    return Solver("Cholesky", solve, solve, np.full(len(a), np.inf))


def by_matrix(name: str, inverse: Any, part: Host) -> Solver:
    """By products with the inverse itself, each entry rounded once."""
    return Solver(
        name,
        lambda x, rows: _times(pick(inverse, rows), x),
        lambda x, rows: _times(adjoint(pick(inverse, rows)), x),
        part,
        2,
    )


def by_inverse(a: Any, inverse: Any, name: str, accuracy: str) -> list[tuple[Solver, Rows]]:
    """From C = fl(R A), R about A^-1, an `inverse` by the factors `name`: A^-1 = C^-1 R, as in Rump's inversion of
    ill-conditioned matrices. Solvers, each with the systems that it is for.

    C is computed entry by entry with one rounding, so it stands for R A whatever the condition of A, and its own condition is
    about u times that of A. R has its last bits at random, without which it may be as singular as A, and C too. No solver is for
    systems where R overflows or C is plainly singular.
    """
    noise = 1 + _NOISE * roundoff(a) * random_numbers(*a.shape[1:])
    matrix = inverse * numbers(noise, a)
    product = multiply(matrix, a, "correct")
    rows = np.flatnonzero(is_finite(product))
    if not rows.size:
        return []
    second, singular = _by_lu(pick(product, rows), accuracy)
    left = np.setdiff1d(np.arange(len(rows)), singular)
    if not left.size:
        return []
    second, rows = second.of(left), rows[left]
    matrix, product = pick(matrix, rows), pick(product, rows)
    part, _ = quick(product, second.solve, product[:, :, :0])
    found = []
    if (sure := np.flatnonzero(part < np.inf)).size:
        found.append(
            (_after(name, pick(matrix, sure), second.of(sure)._replace(part=part[sure])), rows[sure])
        )
    if (unsure := np.flatnonzero(part == np.inf)).size:
        product = pick(product, unsure)
        again = second.solve([eye(a.shape[1], a.shape[1], product)], unsure)
        proven = by_matrix(second.name, again, part_left(product, again, roundoff(product)))
        found.append((_after(name, pick(matrix, unsure), proven), rows[unsure]))
    return found


def _after(name: str, matrix: Any, second: Solver) -> Solver:
    """By products with the matrix R, then the solver of C."""
    return Solver(
        f"{name}, then {second.name} of the inverse's product",
        lambda x, rows: second.solve([_times(pick(matrix, rows), x)], rows),
        lambda x, rows: _times(adjoint(pick(matrix, rows)), [second.solve_adjoint(x, rows)]),
        second.part,
        2,
    )


def _times(matrix: Any, x: Sequence[Any]) -> Any:
    """The matrix by the sum of some X, rounded once."""
    return multiply(join([matrix] * len(x), 2), join(x, 1), "correct")
