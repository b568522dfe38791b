"""``ozfp4.linalg.cholesky``."""

from __future__ import annotations

from typing import Any, overload

import numpy as np

from .._request.dlpack import any_library
from .._request.types import Array, Arrays
from .._request.types import TensorT as T
from .._support.fp_mode import in_default_mode
from . import _native as native
from ._native import adjoint
from ._operands import FailureError, over_stack, take
from ._products import blocks, update


def lower_factor(a: Any, accuracy: str) -> Any:
    """L with L L^H = A, whose lower triangle is read. A block of columns loses the products of all before it at once."""
    factor = native.triangle(a, lower=True)
    n = a.shape[1]
    for begin, end in blocks(n):
        here, done, below = slice(begin, end), slice(0, begin), slice(end, n)
        columns = update(
            factor[:, begin:, here], factor[:, begin:, done], adjoint(factor[:, here, done]), accuracy
        )
        head, minors = native.cholesky(columns[:, : end - begin])
        if minors.any():
            first = int(np.flatnonzero(minors)[0])
            raise FailureError(
                first,
                f"the leading minor of order {begin + minors[first]} is not positive as computed:"
                " the matrix is not positive definite, or nearly singular",
            )
        factor[:, here, here] = head
        if end < n:
            rest = native.triangular(head, adjoint(columns[:, end - begin :]), lower=True)
            factor[:, below, here] = adjoint(rest)
    return factor


# fmt: off
@overload
def cholesky(a: T, *, lower: bool = ..., accuracy: str | None = ..., check_finite: bool = ...) -> T: ...
@overload
def cholesky(
    a: Arrays, *, lower: bool = ..., accuracy: str | None = ..., check_finite: bool = ...
) -> Array: ...
# fmt: on
@any_library
@in_default_mode
def cholesky(a: Any, *, lower: bool = True, accuracy: str | None = None, check_finite: bool = True) -> Any:
    """The Cholesky factor of a symmetric (Hermitian) positive definite matrix: L with A = L L^H, or U with A = U^H U.

    Parameters
    ----------
    a : array_like or torch.Tensor
        (..., n, n), float64, float32, complex128 or complex64; integers and bool become float64. One triangle is
        read, the lower one where `lower`.
    lower : bool
        Return L, as NumPy and torch do by default, else U, as SciPy does.
    accuracy : {"standard", "correct", "scaled"}, optional
        Of the products, as in :func:`ozfp4.matmul`.
    check_finite : bool
        Refuse NaN and infinity; else they take their way through the arithmetic.

    Returns
    -------
    factor : array or tensor
        Of the shape of a, with zeros in the other triangle.

    Examples
    --------
    >>> import numpy as np
    >>> cholesky(np.array([[4.0, 2.0], [2.0, 10.0]]))
    array([[2., 0.],
           [1., 3.]])

    Raises
    ------
    LinAlgError
        A matrix that is not positive definite, with the order of its first leading minor that is not; NumPy's, or torch's for
        tensors.
    TypeError, ValueError, RuntimeError
        As :func:`ozfp4.linalg.solve`.
    """
    given = take(a, square=True, has_b=False, accuracy=accuracy, check_finite=check_finite)

    def steps(matrices: Any) -> tuple[Any]:
        if lower:
            return (lower_factor(matrices, given.accuracy),)
        return (native.copy(adjoint(lower_factor(adjoint(matrices), given.accuracy))),)

    return over_stack(given, steps, given.a)[0]
