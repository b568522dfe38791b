"""``ozfp4.linalg.det`` and ``slogdet``."""

from __future__ import annotations

from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from ..request.dlpack import any_library
from ..request.types import TensorT
from ..support.fp_mode import in_default_mode
from .lu import factorise_in_range
from .operands import Operands, over_stack, take

# Factors of 1/2..1 (complex: of up to 2^(1/2)) whose product is in range for certain, and an exponent that never is.
_AT_ONCE = 512
_FAR = 10000


class Slogdet(NamedTuple):
    """det A = sign exp(logabsdet); the sign is +-1, of modulus 1 for complex matrices, or 0, with -infinity beside it."""

    sign: Any
    logabsdet: Any


def _diagonal(given: Operands, matrix: Any) -> tuple[npt.NDArray[Any], int, int]:
    """That of U on the host, the sign of the permutation, and the exponent of a power of two: det A is the product of all."""
    packed, pivots, e = factorise_in_range(given.native, matrix, given.accuracy)
    exchanges = int((pivots != np.arange(len(pivots))).sum())
    return given.native.to_host(packed.diagonal()), -1 if exchanges % 2 else 1, e * len(pivots)


def _product(factors: npt.NDArray[Any], e: int) -> Any:
    """That of all factors by 2^e, in float64 or complex128: out of range only as a whole."""
    total = np.ones((), np.result_type(factors.dtype, np.float64))[()]
    for begin in range(0, len(factors), _AT_ONCE):
        mantissas, exponents = _split(factors[begin : begin + _AT_ONCE])
        total, more = _split(total * mantissas.prod())
        e += int(exponents.sum()) + int(more)
    return _scaled(total, np.clip(e, -_FAR, _FAR))


def _split(x: Any) -> tuple[Any, Any]:
    """m and e with x = m 2^e, the larger part of m in 1/2..1, where x is neither zero nor without end."""
    size = np.maximum(np.abs(x.real), np.abs(x.imag))
    e = np.where(np.isfinite(size), np.frexp(size)[1], 0)
    return _scaled(x.astype(np.result_type(x.dtype, np.float64)), -e), e


def _scaled(x: Any, e: Any) -> Any:
    """x by 2^e, part by part."""
    if x.dtype.kind != "c":
        return np.ldexp(x, e)
    result = np.empty(np.shape(x), x.dtype)
    result.real, result.imag = np.ldexp(x.real, e), np.ldexp(x.imag, e)
    return result[()]


@overload
def slogdet(a: TensorT, *, accuracy: str | None = ..., check_finite: bool = ...) -> Slogdet: ...
@overload
def slogdet(a: npt.ArrayLike, *, accuracy: str | None = ..., check_finite: bool = ...) -> Slogdet: ...
@any_library
@in_default_mode
def slogdet(a: Any, *, accuracy: str | None = None, check_finite: bool = True) -> Slogdet:
    """Sign (phase) and logarithm of the magnitude of the determinants of square matrices, by LU.

    Parameters
    ----------
    a : array_like or torch.Tensor
        (..., n, n), float64, float32, complex128 or complex64.
    accuracy, check_finite
        As in :func:`ozfp4.linalg.lu_factor`.

    Returns
    -------
    Slogdet
        sign and logabsdet, both (...). An exactly singular matrix has 0 and -infinity.

    Examples
    --------
    >>> import numpy as np
    >>> sign, logarithm = slogdet(-np.eye(3) * 1e200)
    >>> float(sign), float(round(logarithm, 6))
    (-1.0, 1381.551056)

    Raises
    ------
    TypeError, ValueError, RuntimeError
        As :func:`ozfp4.linalg.solve`.
    """
    given = take(a, square=True, has_b=False, accuracy=accuracy, check_finite=check_finite)

    def one(matrix: Any) -> tuple[Any, Any]:
        diagonal, sign, e = _diagonal(given, matrix)
        size = np.abs(diagonal)
        phase = np.where(size == 0, 0, diagonal / size).prod() * sign
        logarithm = np.log(size).sum() + e * np.log(2.0)
        results = (phase.astype(diagonal.dtype), logarithm.astype(size.dtype))
        first, second = (given.native.from_host(np.asarray(x), matrix) for x in results)
        return first, second

    return Slogdet(*(x[()] for x in over_stack(given.native, given.lead, one, given.a)))


@overload
def det(a: TensorT, *, accuracy: str | None = ..., check_finite: bool = ...) -> TensorT: ...
@overload
def det(a: npt.ArrayLike, *, accuracy: str | None = ..., check_finite: bool = ...) -> npt.NDArray[Any]: ...
@any_library
@in_default_mode
def det(a: Any, *, accuracy: str | None = None, check_finite: bool = True) -> Any:
    """The determinants of square matrices, by LU; where they are out of range they are 0 or infinite, and :func:`slogdet` is not.

    Parameters
    ----------
    a : array_like or torch.Tensor
        (..., n, n), float64, float32, complex128 or complex64.
    accuracy, check_finite
        As in :func:`ozfp4.linalg.lu_factor`.

    Returns
    -------
    array or tensor
        (...), of the dtype of a.

    Examples
    --------
    >>> import numpy as np
    >>> float(det(np.array([[0.0, 2.0], [3.0, 4.0]])))
    -6.0

    Raises
    ------
    TypeError, ValueError, RuntimeError
        As :func:`ozfp4.linalg.solve`.
    """
    given = take(a, square=True, has_b=False, accuracy=accuracy, check_finite=check_finite)

    def one(matrix: Any) -> tuple[Any]:
        diagonal, sign, e = _diagonal(given, matrix)
        zero = (diagonal == 0).any() and np.isfinite(diagonal).all()
        value = (
            np.zeros((), diagonal.dtype) if zero else (_product(diagonal, e) * sign).astype(diagonal.dtype)
        )
        return (given.native.from_host(np.asarray(value), matrix),)

    return over_stack(given.native, given.lead, one, given.a)[0][()]
