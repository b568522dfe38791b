"""``ozfp4.linalg.lstsq``: least squares and least norms by QR."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..report import Report
from ..request.dlpack import any_library
from ..support.fp_mode import in_default_mode
from .evidence import inverse_of, quick
from .householder import factorise, times_q
from .native import Native
from .operands import check_flags, over_stack, take
from .refine import refine as refined_solution
from .systems import warn_of
from .triangles import adjoint, check_diagonal, substitute
from .update import residual

ZERO_IN_R = (
    "entry {} of the diagonal of R, counted from 0, rounds to zero: the rank is deficient or nearly so"
)


class LstsqResult(NamedTuple):
    """`solution` X and `residuals`, the sums of the squares |B - A X|^2 of each column."""

    solution: Any
    residuals: Any


def _augmented(
    native: Native, tall: Any, b: Any, least_squares: bool, refine: bool, accuracy: str
) -> tuple[Any, Any, str]:
    """R and X with R + T X = top, T^H R = bottom for a tall T of full rank; and why they are not refined, or "".

    Least squares is top = B, bottom = 0: X is the solution, R the residual. Least norm is top = 0, bottom = B with T = A^H: R is
    the solution.
    """
    m, n = tall.shape
    zeros = 0 * native.eye(n if least_squares else m, b.shape[1], b)
    top, bottom = (b, zeros) if least_squares else (zeros, b)
    factors = factorise(native, tall, accuracy)
    check_diagonal(native, factors.r, ZERO_IN_R)

    def solve(z: Any) -> Any:
        h = substitute(native, adjoint(factors.r), z[m:], accuracy, lower=True)
        d = times_q(native, factors.reflections, z[:m], accuracy, inverse=True)
        x = substitute(native, factors.r, d[:n] - h, accuracy, lower=False)
        d[:n] = h
        return native.join([times_q(native, factors.reflections, d, accuracy, inverse=False), x], 0)

    def residual_of(parts: list[Any]) -> tuple[list[Any], Report | None]:
        rs, xs = [z[:m] for z in parts], [z[m:] for z in parts]
        minus = [-r for r in rs]
        upper, _ = residual(native, [top, *minus], [tall] * len(xs), xs, False)
        lower, _ = residual(native, [bottom], [adjoint(tall)] * len(rs), rs, False)
        return [native.join([upper, lower], 0)], None

    right = native.join([top, bottom], 0)
    if not refine:
        z = solve(right)
        return z[:m], z[m:], ""
    answer = slice(m, None) if least_squares else slice(0, m)

    def left_inverse(y: Any) -> Any:
        bottom = 0 * native.eye(n, y.shape[1], y)
        return solve(native.join([y, bottom], 0))[m:]

    part, _ = quick(native, tall, left_inverse, tall[:, :0])
    if not part < np.inf:
        part = inverse_of(native, tall, left_inverse(native.eye(m, m, tall))).part
    found = refined_solution(native, solve(right), residual_of, solve, part, answer)
    z, reason = (found.x, "") if found.converged else (solve(right), found.reason)
    return z[:m], z[m:], reason


@any_library
@in_default_mode
def lstsq(
    a: Any, b: Any, *, refine: bool = False, accuracy: str | None = None, check_finite: bool = True
) -> LstsqResult:
    """X of least |B - A X|, column by column, for A of full rank; of the least norm where A has fewer rows than columns.

    Parameters
    ----------
    a : array_like or torch.Tensor
        (..., m, n), float64, float32, complex128 or complex64, of rank min(m, n); unrefined, only a zero in R is an error.
    b : array_like or torch.Tensor
        (m,), or (..., m, k) with broadcasting stacks.
    refine : bool
        Correct X and the residual together (Björck's augmented system), with residuals that are rounded once; as in
        :func:`ozfp4.linalg.solve`, up to condition numbers of about 2^48. LinAlgWarning (SciPy's) where that fails.
    accuracy, check_finite
        As in :func:`ozfp4.linalg.solve`.

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
    TypeError, ValueError, RuntimeError
        As :func:`ozfp4.linalg.solve`.
    """
    check_flags(refine=refine)
    given = take(a, b, accuracy=accuracy, check_finite=check_finite)
    native = given.native
    reasons = []

    def one(matrix: Any, right: Any) -> tuple[Any, Any]:
        least_squares = matrix.shape[0] >= matrix.shape[1]
        tall = matrix if least_squares else adjoint(matrix)
        r, x, reason = _augmented(native, tall, right, least_squares, refine, given.accuracy)
        reasons.append(reason)
        if not least_squares:
            x = r
        refined = refine and least_squares and not reason
        rest = r if refined else residual(native, [right], [matrix], [x], False)[0]
        return x, (abs(rest) ** 2).sum(0)

    x, sums = over_stack(native, given.lead, one, given.a, given.b)
    if any(reasons):
        warn_of(next(filter(None, reasons)))
    return LstsqResult(given.like_b(x), given.like_b(sums))
