"""``ozfp4.linalg.qr``, by blocks of reflections I - V T V^H."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, overload

from .._request.dlpack import any_library
from .._request.types import Array, Arrays
from .._request.types import TensorT as T
from .._support.fp_mode import in_default_mode
from . import _native as native
from ._native import adjoint, pick
from ._operands import over_stack, take
from ._products import blocks, multiply, update

MODES = ("reduced", "complete", "r")


class Reflections(NamedTuple):
    """I - V T V^H of rows `begin` and below; V lower trapezoidal, T upper triangular."""

    begin: int
    v: Any
    t: Any


class Factors(NamedTuple):
    """A = Q R: Q as the product of its reflections, R upper trapezoidal with min(m, n) rows."""

    reflections: tuple[Reflections, ...]
    r: Any

    def of(self, rows: native.Rows) -> Factors:
        """The factors of some matrices of the stack."""
        kept = (Reflections(each.begin, pick(each.v, rows), pick(each.t, rows)) for each in self.reflections)
        return Factors(tuple(kept), pick(self.r, rows))


def factorise(a: Any, accuracy: str) -> Factors:
    """The factors of a stack of matrices."""
    packed = native.copy(a)
    m, n = a.shape[1:]
    found = []
    for begin, end in blocks(min(m, n)):
        panel, tau = native.qr(packed[:, begin:, begin:end])
        packed[:, begin:, begin:end] = panel
        v = native.triangle(panel, lower=True, offset=-1) + native.eye(m - begin, end - begin, packed)
        found.append(Reflections(begin, v, _inner(v, tau, accuracy)))
        if end < n:
            packed[:, begin:, end:] = _reflect(packed[:, begin:, end:], v, adjoint(found[-1].t), accuracy)
    return Factors(tuple(found), native.triangle(packed[:, : min(m, n)], lower=False))


def _inner(v: Any, tau: Any, accuracy: str) -> Any:
    """T of the product of I - tau v v^H: T = D (1 + S D)^-1, D the tau and S what V^H V has above its diagonal."""
    above = native.triangle(multiply(adjoint(v), v, accuracy), lower=False, offset=1)
    unit = native.eye(v.shape[2], v.shape[2], v)
    inverse = native.triangular(unit + native.times(above, tau[:, None]), unit, lower=False, unit=True)
    return native.times(tau[:, :, None], inverse)


def _reflect(c: Any, v: Any, t: Any, accuracy: str) -> Any:
    """C - V (T (V^H C))."""
    if c.shape[2] == 0:
        return c
    inner = multiply(t, multiply(adjoint(v), c, accuracy), accuracy)
    return update(c, v, inner, accuracy)


def times_q(reflections: Sequence[Reflections], c: Any, accuracy: str, *, inverse: bool) -> Any:
    """Q C, or Q^H C where `inverse`, for the whole m x m Q."""
    c = native.copy(c)
    for each in reflections if inverse else reversed(reflections):
        t = adjoint(each.t) if inverse else each.t
        c[:, each.begin :] = _reflect(c[:, each.begin :], each.v, t, accuracy)
    return c


# fmt: off
@overload
def qr(a: T, *, mode: str = ..., accuracy: str | None = ..., check_finite: bool = ...) -> tuple[T, T]: ...
@overload
def qr(
    a: Arrays, *, mode: str = ..., accuracy: str | None = ..., check_finite: bool = ...
) -> tuple[Array, Array]: ...
# fmt: on
@any_library
@in_default_mode
def qr(a: Any, *, mode: str = "reduced", accuracy: str | None = None, check_finite: bool = True) -> Any:
    """A = Q R by Householder's reflections: Q with orthonormal columns, R upper triangular (trapezoidal).

    Parameters
    ----------
    a : array_like or torch.Tensor
        (..., m, n), float64, float32, complex128 or complex64; integers and bool become float64.
    mode : {"reduced", "complete", "r"}
        Q with min(m, n) columns, with m, or R alone.
    accuracy, check_finite
        As in :func:`ozfp4.linalg.solve`.

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

    Raises
    ------
    TypeError, ValueError, RuntimeError
        As :func:`ozfp4.linalg.solve`; ValueError for an unknown mode.
    """
    if mode not in MODES:
        raise ValueError(f"mode: {mode!r} is unknown; allowed are {', '.join(map(repr, MODES))}")
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
