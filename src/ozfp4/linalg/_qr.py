"""``ozfp4.linalg.qr``, by blocks of reflections I - V T V^H, and ``lstsq``: least squares and least norms by it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from .._options import check_name
from .._report import Report
from .._request.types import Array, Arrays
from .._request.types import TensorT as T
from . import _native as native
from . import _refine as refining
from ._native import Host, Rows, adjoint, copy, eye, join, pick, put, zeros
from ._operands import Common, check_flags, over_stack, routine, take
from ._products import blocks, multiply, residual, update
from ._systems import warn_of
from ._triangles import check_diagonal, substitute

if TYPE_CHECKING:
    from typing_extensions import Unpack

MODES = ("reduced", "complete", "r")
ZERO_IN_R = (
    "entry {} of the diagonal of R, counted from 0, rounds to zero: the rank is deficient or nearly so"
)


class Factors(NamedTuple):
    """A = Q R, with R upper trapezoidal with min(m, n) rows.

    Q is the product of I - V T V^H of rows `begin` and below, each as (begin, V, T), V lower trapezoidal and T upper triangular.
    """

    reflections: list[tuple[int, Any, Any]]
    r: Any

    def of(self, rows: Rows) -> Factors:
        """The factors of some matrices of the stack."""
        return Factors(
            [(i, pick(v, rows), pick(t, rows)) for i, v, t in self.reflections], pick(self.r, rows)
        )


def factorise(a: Any, accuracy: str) -> Factors:
    """The factors of a stack of matrices."""
    packed = copy(a)
    m, n = a.shape[1:]
    found = []
    for begin, end in blocks(min(m, n)):
        panel, tau = native.qr(packed[:, begin:, begin:end])
        packed[:, begin:, begin:end] = panel
        v = native.triangle(panel, lower=True, offset=-1) + eye(m - begin, end - begin, packed)
        t = _inner(v, tau, accuracy)
        found.append((begin, v, t))
        packed[:, begin:, end:] = _reflect(packed[:, begin:, end:], v, adjoint(t), accuracy)
    return Factors(found, native.triangle(packed[:, : min(m, n)], lower=False))


def _inner(v: Any, tau: Any, accuracy: str) -> Any:
    """T of the product of I - tau v v^H: T = D (1 + S D)^-1, D the tau and S what V^H V has above its diagonal."""
    above = native.triangle(multiply(adjoint(v), v, accuracy), lower=False, offset=1)
    unit = eye(v.shape[2], v.shape[2], v)
    inverse = native.triangular(unit + native.times(above, tau[:, None]), unit, lower=False, unit=True)
    return native.times(tau[:, :, None], inverse)


def _reflect(c: Any, v: Any, t: Any, accuracy: str) -> Any:
    """C - V (T (V^H C))."""
    if c.shape[2] == 0:
        return c
    return update(c, v, multiply(t, multiply(adjoint(v), c, accuracy), accuracy), accuracy)


def times_q(reflections: Sequence[tuple[int, Any, Any]], c: Any, accuracy: str, *, inverse: bool) -> Any:
    """Q C, or Q^H C where `inverse`, for the whole m x m Q."""
    c = copy(c)
    for begin, v, t in reflections if inverse else reversed(reflections):
        c[:, begin:] = _reflect(c[:, begin:], v, adjoint(t) if inverse else t, accuracy)
    return c


@overload
def qr(a: T, *, mode: str = ..., **options: Unpack[Common]) -> tuple[T, T]: ...
@overload
def qr(a: Arrays, *, mode: str = ..., **options: Unpack[Common]) -> tuple[Array, Array]: ...
@routine
def qr(a: Any, *, mode: str = "reduced", accuracy: str | None = None, check_finite: bool = True) -> Any:
    """A = Q R by Householder's reflections.

    Q has orthonormal columns; R is upper triangular (trapezoidal).

    Parameters
    ----------
    a : array_like or torch.Tensor
        (..., m, n). Dtypes, `accuracy`, `check_finite` and errors are those of
        :func:`ozfp4.linalg.solve`.
    mode : {"reduced", "complete", "r"}
        Q with min(m, n) columns, Q with m columns, or R alone.

    Returns
    -------
    (q, r), or r for mode "r"
        R has min(m, n) rows, or m in mode "complete". Its diagonal may be negative, as in LAPACK.

    Examples
    --------
    >>> import numpy as np
    >>> q, r = qr(np.array([[3.0, 5.0], [4.0, 10.0]]))
    >>> bool(np.allclose(q @ r, [[3, 5], [4, 10]])), float(round(abs(r[0, 0]), 12))
    (True, 5.0)
    """
    check_name("mode", mode, MODES)
    given = take(a, accuracy=accuracy, check_finite=check_finite)

    def steps(matrices: Any) -> tuple[Any, ...]:
        m, n = matrices.shape[1:]
        factors = factorise(matrices, given.accuracy)
        if mode == "r":
            return (factors.r,)
        start = eye(m, m if mode == "complete" else min(m, n), matrices)
        q = times_q(factors.reflections, start, given.accuracy, inverse=False)
        missing = m - min(m, n) if mode == "complete" else 0
        return q, join([factors.r, zeros(missing, n, matrices)], 1) if missing else factors.r

    result = over_stack(given, steps, given.a)
    return result[0] if mode == "r" else result


class LstsqResult(NamedTuple):
    """`solution` X and `residuals`, the sums of squares of the columns of B - A X."""

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

    z, about = solve([join([top, bottom], 1)], every), np.zeros(count, refining.ABOUT)
    if refine:
        part, _ = refining.quick(tall, left_inverse, tall[:, :, :0])
        unproven = np.flatnonzero(part == np.inf)
        if unproven.size:
            matrices = pick(tall, unproven)
            part[unproven] = refining.part_left(matrices, left_inverse([eye(m, m, matrices)], unproven))
        answer = slice(m, None) if least_squares else slice(0, m)
        refined, about, _ = refining.refine(z, residual_of, solve, part, answer)
        done = np.flatnonzero(about["converged"])
        put(z, done, pick(refined, done))
    return z[:, :m], z[:, m:], about


@routine
def lstsq(
    a: Any, b: Any, *, refine: bool = False, accuracy: str | None = None, check_finite: bool = True
) -> LstsqResult:
    """Least squares solution X of A X = B, column by column, for A of full rank.

    If A has fewer rows than columns, X is the solution of least norm.

    Parameters
    ----------
    a : array_like or torch.Tensor
        (..., m, n), of rank min(m, n). Without `refine` only a zero in R is an error. Dtypes,
        `accuracy`, `check_finite` and other errors are those of :func:`ozfp4.linalg.solve`.
    b : array_like or torch.Tensor
        (m,), or (..., m, k) with broadcasting stacks.
    refine : bool
        Correct X and the residual together (Björck's augmented system), with residuals that are
        correctly rounded. The accuracy is that of :func:`ozfp4.linalg.solve`, up to condition
        numbers of about 2^48. If that fails, a LinAlgWarning (SciPy's) follows.

    Returns
    -------
    LstsqResult
        solution, (n,) or (..., n, k), and residuals, () or (..., k). residuals are the sums of
        squares of B - A X, with `refine` for the exact X.

    Raises
    ------
    LinAlgError
        A zero on the diagonal of R, with its index. It is NumPy's, or torch's for tensors.

    Examples
    --------
    >>> import numpy as np
    >>> found = lstsq(np.array([[1.0], [1.0]]), np.array([1.0, 3.0]), refine=True)
    >>> found.solution.tolist(), float(found.residuals)
    ([2.0], 2.0)
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
