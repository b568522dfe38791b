"""``ozfp4.linalg.qr``, by blocks of reflections I - V T V^H."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, overload

import numpy.typing as npt

from ..api.matmul import matmul
from ..request.dlpack import any_library
from ..request.types import TensorT
from ..support.fp_mode import in_default_mode
from .blocks import blocks
from .native import Native
from .operands import over_stack, take
from .triangles import adjoint
from .update import update

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


def factorise(native: Native, a: Any, accuracy: str) -> Factors:
    """The factors of a matrix."""
    packed = native.copy(a, a.dtype)
    m, n = a.shape
    found = []
    for begin, end in blocks(min(m, n)):
        panel, tau = native.qr(packed[begin:, begin:end])
        packed[begin:, begin:end] = panel
        width = end - begin
        v = native.triangle(panel, lower=True, offset=-1) + native.eye(m - begin, width, packed)
        found.append(Reflections(begin, v, _inner(native, v, tau, accuracy)))
        if end < n:
            packed[begin:, end:] = _reflect(packed[begin:, end:], v, adjoint(found[-1].t), accuracy)
    return Factors(tuple(found), native.triangle(packed[: min(m, n)], lower=False))


def _inner(native: Native, v: Any, tau: Any, accuracy: str) -> Any:
    """T of the product of I - tau v v^H: T = D (1 + S D)^-1, D the tau and S what V^H V has above its diagonal."""
    above = native.triangle(matmul(adjoint(v), v, accuracy=accuracy), lower=False, offset=1)
    unit = native.eye(v.shape[1], v.shape[1], v)
    return tau[:, None] * native.triangular(unit + above * tau, unit, lower=False, unit=True)


def _reflect(c: Any, v: Any, t: Any, accuracy: str) -> Any:
    """C - V (T (V^H C))."""
    if c.shape[1] == 0:
        return c
    inner = matmul(t, matmul(adjoint(v), c, accuracy=accuracy), accuracy=accuracy)
    return update(c, v, inner, accuracy)


def times_q(
    native: Native, reflections: Sequence[Reflections], c: Any, accuracy: str, *, inverse: bool
) -> Any:
    """Q C, or Q^H C where `inverse`, for the whole m x m Q."""
    c = native.copy(c, c.dtype)
    for each in reflections if inverse else reversed(reflections):
        t = adjoint(each.t) if inverse else each.t
        c[each.begin :] = _reflect(c[each.begin :], each.v, t, accuracy)
    return c


@overload
def qr(
    a: TensorT, *, mode: str = ..., accuracy: str | None = ..., check_finite: bool = ...
) -> tuple[TensorT, TensorT]: ...
@overload
def qr(
    a: npt.ArrayLike, *, mode: str = ..., accuracy: str | None = ..., check_finite: bool = ...
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]: ...
@any_library
@in_default_mode
def qr(a: Any, *, mode: str = "reduced", accuracy: str | None = None, check_finite: bool = True) -> Any:
    """A = Q R by Householder's reflections: Q with orthonormal columns, R upper triangular (trapezoidal).

    Parameters
    ----------
    a : array_like or torch.Tensor
        (..., m, n), float64, float32, complex128 or complex64.
    mode : {"reduced", "complete", "r"}
        Q with min(m, n) columns, with m, or R alone.
    accuracy : {"standard", "correct", "scaled"}, optional
        Of the products, as in :func:`ozfp4.matmul`.
    check_finite : bool
        Refuse NaN and infinity; else they take their way through the arithmetic.

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
    given = take(a, has_b=False, accuracy=accuracy, check_finite=check_finite)
    native = given.native

    def one(matrix: Any) -> tuple[Any, ...]:
        m, n = matrix.shape
        factors = factorise(native, matrix, given.accuracy)
        if mode == "r":
            return (factors.r,)
        start = native.eye(m, m if mode == "complete" else min(m, n), matrix)
        q = times_q(native, factors.reflections, start, given.accuracy, inverse=False)
        missing = m - min(m, n) if mode == "complete" else 0
        zeros = 0 * native.eye(missing, n, matrix)
        return q, native.join([factors.r, zeros], 0) if missing else factors.r

    result = over_stack(native, given.lead, one, given.a)
    return result[0] if mode == "r" else result
