"""``ozfp4.linalg.det`` and ``slogdet``."""

from __future__ import annotations

from typing import Any, NamedTuple, overload

import numpy as np

from .._request.dlpack import any_library
from .._request.types import Array, Arrays
from .._request.types import TensorT as T
from .._support.fp_mode import in_default_mode
from . import _lu as lu
from ._native import Host, diagonal, from_host, times
from ._operands import over_stack, take

# Factors of 1/2..1 (complex: of up to 2^(1/2)) whose product is in range for certain, and an exponent that never is.
_AT_ONCE = 512
_FAR = 10000


class Slogdet(NamedTuple):
    """det A = sign exp(logabsdet); the sign is +-1, of modulus 1 for complex matrices, or 0, with -infinity beside it."""

    sign: Any
    logabsdet: Any


def _factors(matrices: Any, accuracy: str) -> tuple[Host, Host, Host]:
    """The diagonals of U on the host, the signs of the permutations, and exponents of 2: det A is the product of all."""
    packed, pivots, e = lu.factorise_in_range(matrices, accuracy)
    exchanges = (pivots != np.arange(pivots.shape[1])).sum(1)
    return np.ascontiguousarray(diagonal(packed)), np.where(exchanges % 2, -1, 1), e * pivots.shape[1]


def _products(factors: Host, e: Host) -> Host:
    """The product of each row, times 2^e, in float64 or complex128: out of range only as a whole."""
    total: Host = np.ones(len(factors), np.result_type(factors.dtype, np.float64))
    for begin in range(0, factors.shape[1], _AT_ONCE):
        mantissas, exponents = _split(factors[:, begin : begin + _AT_ONCE])
        total, more = _split(times(total, mantissas.prod(1)))
        e = e + exponents.sum(1) + more
    return _scaled(total, np.clip(e, -_FAR, _FAR))


def _split(x: Host) -> tuple[Host, Host]:
    """m and e with x = m 2^e, the larger part of m in 1/2..1, where x is neither zero nor without end."""
    size = np.maximum(np.abs(x.real), np.abs(x.imag))
    e = np.where(np.isfinite(size), np.frexp(size)[1], 0)
    return _scaled(x.astype(np.result_type(x.dtype, np.float64)), -e), e


def _scaled(x: Host, e: Host) -> Host:
    """x by 2^e, part by part."""
    result = np.empty_like(x)
    result.real = np.ldexp(x.real, e)
    if x.dtype.kind == "c":
        result.imag = np.ldexp(x.imag, e)
    return result


# fmt: off
@overload
def slogdet(a: T, *, accuracy: str | None = ..., check_finite: bool = ...) -> Slogdet: ...
@overload
def slogdet(a: Arrays, *, accuracy: str | None = ..., check_finite: bool = ...) -> Slogdet: ...
# fmt: on
@any_library
@in_default_mode
def slogdet(a: Any, *, accuracy: str | None = None, check_finite: bool = True) -> Slogdet:
    """Sign (phase) and logarithm of the magnitude of the determinants of square matrices, by LU.

    Parameters
    ----------
    a : array_like or torch.Tensor
        (..., n, n), float64, float32, complex128 or complex64; integers and bool become float64.
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

    def steps(matrices: Any) -> tuple[Any, Any]:
        factors, signs, e = _factors(matrices, given.accuracy)
        sizes = np.abs(factors)
        phases = np.where(sizes == 0, 0, factors / sizes).prod(1) * signs
        logarithms = np.log(sizes).sum(1) + e * np.log(2.0)
        results = (phases.astype(factors.dtype), logarithms.astype(sizes.dtype))
        return from_host(results[0], matrices), from_host(results[1], matrices)

    return Slogdet(*over_stack(given, steps, given.a))


# fmt: off
@overload
def det(a: T, *, accuracy: str | None = ..., check_finite: bool = ...) -> T: ...
@overload
def det(a: Arrays, *, accuracy: str | None = ..., check_finite: bool = ...) -> Array: ...
# fmt: on
@any_library
@in_default_mode
def det(a: Any, *, accuracy: str | None = None, check_finite: bool = True) -> Any:
    """The determinants of square matrices, by LU; where they are out of range they are 0 or infinite, and :func:`slogdet` is not.

    Parameters
    ----------
    a : array_like or torch.Tensor
        (..., n, n), float64, float32, complex128 or complex64; integers and bool become float64.
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

    def steps(matrices: Any) -> tuple[Any]:
        factors, signs, e = _factors(matrices, given.accuracy)
        is_zero = (factors == 0).any(1) & np.isfinite(factors).all(1)
        values = np.where(is_zero, 0, _products(factors, e) * signs)
        return (from_host(values.astype(factors.dtype), matrices),)

    return over_stack(given, steps, given.a)[0]
