"""``ozfp4.linalg.qr``, by blocks of reflections I - V T V^H."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from .._options import check_name
from .._request.types import Array, Arrays
from .._request.types import TensorT as T
from . import _native as native
from ._native import adjoint, pick
from ._operands import Common, over_stack, routine, take
from ._products import blocks, multiply, update

if TYPE_CHECKING:
    from typing_extensions import Unpack

MODES = ("reduced", "complete", "r")


class Factors(NamedTuple):
    """A = Q R: Q as the product of I - V T V^H of rows `begin` and below, each as (begin, V, T), V lower trapezoidal and T upper
    triangular; R upper trapezoidal with min(m, n) rows."""

    reflections: list[tuple[int, Any, Any]]
    r: Any

    def of(self, rows: native.Rows) -> Factors:
        """The factors of some matrices of the stack."""
        return Factors(
            [(i, pick(v, rows), pick(t, rows)) for i, v, t in self.reflections], pick(self.r, rows)
        )


def factorise(a: Any, accuracy: str) -> Factors:
    """The factors of a stack of matrices."""
    packed = native.copy(a)
    m, n = a.shape[1:]
    found = []
    for begin, end in blocks(min(m, n)):
        panel, tau = native.qr(packed[:, begin:, begin:end])
        packed[:, begin:, begin:end] = panel
        v = native.triangle(panel, lower=True, offset=-1) + native.eye(m - begin, end - begin, packed)
        t = _inner(v, tau, accuracy)
        found.append((begin, v, t))
        packed[:, begin:, end:] = _reflect(packed[:, begin:, end:], v, adjoint(t), accuracy)
    return Factors(found, native.triangle(packed[:, : min(m, n)], lower=False))


def _inner(v: Any, tau: Any, accuracy: str) -> Any:
    """T of the product of I - tau v v^H: T = D (1 + S D)^-1, D the tau and S what V^H V has above its diagonal."""
    above = native.triangle(multiply(adjoint(v), v, accuracy), lower=False, offset=1)
    unit = native.eye(v.shape[2], v.shape[2], v)
    inverse = native.triangular(unit + native.times(above, tau[:, None]), unit, lower=False, unit=True)
    return native.times(tau[:, :, None], inverse)


def _reflect(c: Any, v: Any, t: Any, accuracy: str) -> Any:
    """C - V (T (V^H C))."""
    return update(c, v, multiply(t, multiply(adjoint(v), c, accuracy), accuracy), accuracy)


def times_q(reflections: Sequence[tuple[int, Any, Any]], c: Any, accuracy: str, *, inverse: bool) -> Any:
    """Q C, or Q^H C where `inverse`, for the whole m x m Q."""
    c = native.copy(c)
    for begin, v, t in reflections if inverse else reversed(reflections):
        c[:, begin:] = _reflect(c[:, begin:], v, adjoint(t) if inverse else t, accuracy)
    return c


@overload
def qr(a: T, *, mode: str = ..., **options: Unpack[Common]) -> tuple[T, T]: ...
@overload
def qr(a: Arrays, *, mode: str = ..., **options: Unpack[Common]) -> tuple[Array, Array]: ...
@routine
def qr(a: Any, *, mode: str = "reduced", accuracy: str | None = None, check_finite: bool = True) -> Any:
    """A = Q R by Householder's reflections: Q with orthonormal columns, R upper triangular (trapezoidal).

    Parameters
    ----------
    a : array_like or torch.Tensor
        (..., m, n). Dtypes, `accuracy`, `check_finite` and errors are those of :func:`ozfp4.linalg.solve`.
    mode : {"reduced", "complete", "r"}
        Q with min(m, n) columns, with m, or R alone.

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
        start = native.eye(m, m if mode == "complete" else min(m, n), matrices)
        q = times_q(factors.reflections, start, given.accuracy, inverse=False)
        missing = m - min(m, n) if mode == "complete" else 0
        return q, native.join([factors.r, native.zeros(missing, n, matrices)], 1) if missing else factors.r

    result = over_stack(given, steps, given.a)
    return result[0] if mode == "r" else result
