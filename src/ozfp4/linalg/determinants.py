"""``ozfp4.linalg.det`` and ``slogdet``."""

from __future__ import annotations

from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from ..request.types import TensorT
from .lu import factorise
from .operands import Operands, over_stack, take


class Slogdet(NamedTuple):
    """det A = sign exp(logabsdet); the sign is +-1, of modulus 1 for complex matrices, or 0, with -infinity beside it."""

    sign: Any
    logabsdet: Any


def _diagonal(given: Operands, matrix: Any) -> tuple[npt.NDArray[Any], int]:
    """That of U on the host, and the sign of the permutation."""
    packed, pivots = factorise(given.native, matrix, given.accuracy)
    exchanges = int((pivots != np.arange(len(pivots))).sum())
    return given.native.to_host(packed.diagonal()), -1 if exchanges % 2 else 1


@overload
def slogdet(a: TensorT, *, accuracy: str | None = ..., check_finite: bool = ...) -> Slogdet: ...
@overload
def slogdet(a: npt.ArrayLike, *, accuracy: str | None = ..., check_finite: bool = ...) -> Slogdet: ...
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
        diagonal, sign = _diagonal(given, matrix)
        size = np.abs(diagonal)
        with np.errstate(divide="ignore", invalid="ignore"):
            phase = np.where(size == 0, 0, diagonal / size).prod() * sign
            logarithm = np.log(size).sum()
        results = (phase.astype(diagonal.dtype), logarithm.astype(size.dtype))
        first, second = (given.native.from_host(np.asarray(x), matrix) for x in results)
        return first, second

    return Slogdet(*(x[()] for x in over_stack(given.native, given.lead, one, given.a)))


@overload
def det(a: TensorT, *, accuracy: str | None = ..., check_finite: bool = ...) -> TensorT: ...
@overload
def det(a: npt.ArrayLike, *, accuracy: str | None = ..., check_finite: bool = ...) -> npt.NDArray[Any]: ...
def det(a: Any, *, accuracy: str | None = None, check_finite: bool = True) -> Any:
    """The determinants of square matrices, by LU; out of range they are 0 or infinite, where :func:`slogdet` is not.

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
        diagonal, sign = _diagonal(given, matrix)
        with np.errstate(over="ignore", under="ignore"):
            value = (diagonal.prod() * sign).astype(diagonal.dtype)
        return (given.native.from_host(np.asarray(value), matrix),)

    return over_stack(given.native, given.lead, one, given.a)[0][()]
