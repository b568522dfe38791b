"""``ozfp4.linalg.cholesky``."""

from __future__ import annotations

from typing import Any, overload

import numpy.typing as npt

from ..request.dlpack import any_library
from ..request.types import TensorT
from ..support.fp_mode import in_default_mode
from .blocks import blocks
from .native import Native
from .operands import FailureError, over_stack, take
from .triangles import adjoint
from .update import update


def lower_factor(native: Native, a: Any, accuracy: str) -> Any:
    """L with L L^H = A, whose lower triangle is read. A block of columns loses the products of all before it at once."""
    factor = native.triangle(a, lower=True)
    n = a.shape[0]
    for begin, end in blocks(n):
        here, done, below = slice(begin, end), slice(0, begin), slice(end, n)
        columns = update(factor[begin:, here], factor[begin:, done], adjoint(factor[here, done]), accuracy)
        head, minor = native.cholesky(columns[: end - begin])
        if minor:
            raise FailureError(
                f"the leading minor of order {begin + minor} is not positive as computed:"
                " the matrix is not positive definite, or nearly singular"
            )
        factor[here, here] = head
        if end < n:
            factor[below, here] = adjoint(
                native.triangular(head, adjoint(columns[end - begin :]), lower=True)
            )
    return factor


@overload
def cholesky(
    a: TensorT, *, lower: bool = ..., accuracy: str | None = ..., check_finite: bool = ...
) -> TensorT: ...
@overload
def cholesky(
    a: npt.ArrayLike, *, lower: bool = ..., accuracy: str | None = ..., check_finite: bool = ...
) -> npt.NDArray[Any]: ...
@any_library
@in_default_mode
def cholesky(a: Any, *, lower: bool = True, accuracy: str | None = None, check_finite: bool = True) -> Any:
    """The Cholesky factor of a symmetric (Hermitian) positive definite matrix: L with A = L L^H, or U with A = U^H U.

    Parameters
    ----------
    a : array_like or torch.Tensor
        (..., n, n), float64, float32, complex128 or complex64; one triangle is read, the lower one where `lower`.
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

    def one(matrix: Any) -> tuple[Any]:
        if lower:
            return (lower_factor(given.native, matrix, given.accuracy),)
        factor = lower_factor(given.native, adjoint(matrix), given.accuracy)
        return (given.native.copy(adjoint(factor), factor.dtype),)

    return over_stack(given.native, given.lead, one, given.a)[0]
