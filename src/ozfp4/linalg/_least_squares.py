"""``ozfp4.linalg.lstsq``: least squares and least norms by QR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._report import Report
from ._householder import factorise, times_q
from ._native import Host, Rows, adjoint, eye, join, pick, put, zeros
from ._operands import check_flags, over_stack, routine, take
from ._products import residual
from ._refine import ABOUT, part_left, quick
from ._refine import refine as refined_solution
from ._systems import warn_of
from ._triangles import check_diagonal, substitute

ZERO_IN_R = (
    "entry {} of the diagonal of R, counted from 0, rounds to zero: the rank is deficient or nearly so"
)


class LstsqResult(NamedTuple):
    """`solution` X and `residuals`, the sums of the squares |B - A X|^2 of each column."""

    solution: Any
    residuals: Any


def _augmented(tall: Any, b: Any, least_squares: bool, refine: bool, accuracy: str) -> tuple[Any, Any, Host]:
    """R and X with R + T X = top, T^H R = bottom for a stack of tall T of full rank; and what `ABOUT` has of their refinement.

    Least squares is top = B, bottom = 0: X is the solution, R the residual. Least norm is top = 0, bottom = B with T = A^H: R is
    the solution.
    """
    count, m, n = tall.shape
    missing = zeros(n if least_squares else m, b.shape[2], b)
    top, bottom = (b, missing) if least_squares else (missing, b)
    factors = factorise(tall, accuracy)
    check_diagonal(factors.r, ZERO_IN_R)
    every = np.arange(count)

    def solve(terms: Sequence[Any], rows: Rows) -> Any:
        (z,) = terms
        reflections, r = factors.of(rows)
        h = substitute(adjoint(r), z[:, m:], accuracy, lower=True)
        d = times_q(reflections, z[:, :m], accuracy, inverse=True)
        x = substitute(r, d[:, :n] - h, accuracy, lower=False)
        d[:, :n] = h
        return join([times_q(reflections, d, accuracy, inverse=False), x], 1)

    def residual_of(parts: list[Any], rows: Rows) -> tuple[list[Any], Report | None]:
        rs, xs = [z[:, :m] for z in parts], [z[:, m:] for z in parts]
        matrices = pick(tall, rows)
        upper, _ = residual([pick(top, rows), *(-r for r in rs)], matrices, xs)
        lower, _ = residual([pick(bottom, rows)], adjoint(matrices), rs)
        return [join([upper, lower], 1)], None

    def left_inverse(terms: Sequence[Any], rows: Rows) -> Any:
        (y,) = terms
        return solve([join([y, zeros(n, y.shape[2], y)], 1)], rows)[:, m:]

    z, about = solve([join([top, bottom], 1)], every), np.zeros(count, ABOUT)
    if refine:
        part, _ = quick(tall, left_inverse, tall[:, :, :0])
        unproven = np.flatnonzero(part == np.inf)
        if unproven.size:
            matrices = pick(tall, unproven)
            part[unproven] = part_left(matrices, left_inverse([eye(m, m, matrices)], unproven))
        answer = slice(m, None) if least_squares else slice(0, m)
        refined, about, _ = refined_solution(z, residual_of, solve, part, answer)
        done = np.flatnonzero(about["converged"])
        put(z, done, pick(refined, done))
    return z[:, :m], z[:, m:], about


@routine
def lstsq(
    a: Any, b: Any, *, refine: bool = False, accuracy: str | None = None, check_finite: bool = True
) -> LstsqResult:
    """X of least |B - A X|, column by column, for A of full rank; of the least norm where A has fewer rows than columns.

    Parameters
    ----------
    a : array_like or torch.Tensor
        (..., m, n), of rank min(m, n); unrefined, only a zero in R is an error. Dtypes, `accuracy`, `check_finite` and other
        errors are those of :func:`ozfp4.linalg.solve`.
    b : array_like or torch.Tensor
        (m,), or (..., m, k) with broadcasting stacks.
    refine : bool
        Correct X and the residual together (Björck's augmented system), with residuals that are rounded once; as in
        :func:`ozfp4.linalg.solve`, up to condition numbers of about 2^48. LinAlgWarning (SciPy's) where that fails.

    Returns
    -------
    LstsqResult
        solution (n,) or (..., n, k); residuals () or (..., k): the sums of squares of B - A X, for the
        real X where that was refined.

    Examples
    --------
    >>> import numpy as np
    >>> found = lstsq(np.array([[1.0], [1.0]]), np.array([1.0, 3.0]), refine=True)
    >>> found.solution.tolist(), float(found.residuals)
    ([2.0], 2.0)

    Raises
    ------
    LinAlgError
        A zero on the diagonal of R, with its index; NumPy's, or torch's for tensors.
    """
    check_flags(refine=refine)
    given = take(a, b, accuracy=accuracy, check_finite=check_finite)
    reasons: list[str] = []

    def steps(matrices: Any, right: Any) -> tuple[Any, Any]:
        least_squares = matrices.shape[1] >= matrices.shape[2]
        tall = matrices if least_squares else adjoint(matrices)
        r, x, about = _augmented(tall, right, least_squares, refine, given.accuracy)
        reasons.extend(about["reason"][~about["converged"]])
        x = x if least_squares else r
        rest, _ = residual([right], matrices, [x])
        if least_squares:
            done = np.flatnonzero(about["converged"])
            put(rest, done, pick(r, done))
        return x, (abs(rest) ** 2).sum(1)

    x, sums = over_stack(given, steps, given.a, given.b)
    if refine and reasons:
        warn_of(reasons[0])
    return LstsqResult(given.like_b(x), given.like_b(sums))
