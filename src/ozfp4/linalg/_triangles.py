"""``ozfp4.linalg.solve_triangular`` and ``cholesky``."""

from __future__ import annotations

from typing import Any, overload

import numpy as np

from .._request.dlpack import any_library
from .._request.types import Array, Arrays
from .._request.types import TensorT as T
from .._support.fp_mode import in_default_mode
from . import _native as native
from ._native import Host, adjoint, copy, diagonal, triangle, triangular
from ._operands import FailureError, over_stack, take
from ._products import blocks, update


def substitute(t: Any, b: Any, accuracy: str, *, lower: bool, unit: bool = False) -> Any:
    """X with T X = B. Of T one triangle is read; its diagonal holds no zero, or is `unit`.

    Each entry of B loses the products of all blocks before its own at once, and is rounded once.
    """
    n = t.shape[1]
    x = copy(b)
    for begin, end in blocks(n) if lower else reversed(blocks(n)):
        here, done = slice(begin, end), slice(0, begin) if lower else slice(end, n)
        rest = update(x[:, here], t[:, here, done], x[:, done], accuracy)
        x[:, here] = triangular(t[:, here, here], rest, lower=lower, unit=unit)
    return x


def lower_factor(a: Any, accuracy: str) -> Any:
    """L with L L^H = A, whose lower triangle is read. A block of columns loses the products of all before it at once."""
    factor = triangle(a, lower=True)
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
            rest = triangular(head, adjoint(columns[:, end - begin :]), lower=True)
            factor[:, below, here] = adjoint(rest)
    return factor


def check_diagonal(t: Any, words: str) -> Host:
    """The diagonals; FailureError if one holds a zero, whose place stands for {} in the words."""
    found = diagonal(t)
    if not found.all():
        index, place = np.argwhere(found == 0)[0]
        raise FailureError(int(index), words.format(place))
    return found


def transposition(trans: object) -> str:
    """ "N", "T" or "C" of SciPy's names for them; ValueError for anything else."""
    names = {0: "N", 1: "T", 2: "C", "N": "N", "T": "T", "C": "C"}
    if (
        isinstance(trans, (bool, float))
        or not isinstance(trans, (int, str, np.integer))
        or trans not in names
    ):
        raise ValueError(f"trans: {trans!r} is unknown; allowed are 0 or 'N', 1 or 'T', 2 or 'C'")
    return names[trans if isinstance(trans, str) else int(trans)]


# fmt: off
@overload
def solve_triangular(
    a: T, b: T, *, trans: int | str = ..., lower: bool = ..., unit_diagonal: bool = ...,
    accuracy: str | None = ..., check_finite: bool = ...
) -> T: ...
@overload
def solve_triangular(
    a: Arrays, b: Arrays, *, trans: int | str = ..., lower: bool = ..., unit_diagonal: bool = ...,
    accuracy: str | None = ..., check_finite: bool = ...
) -> Array: ...
# fmt: on
@any_library
@in_default_mode
def solve_triangular(
    a: Any,
    b: Any,
    *,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    accuracy: str | None = None,
    check_finite: bool = True,
) -> Any:
    """X with op(A) X = B for a triangular matrix A, of which the other triangle is not read.

    Parameters
    ----------
    a : array_like or torch.Tensor
        (..., n, n), float64, float32, complex128 or complex64; integers and bool become float64.
    b : array_like or torch.Tensor
        (n,), or (..., n, k) with broadcasting stacks.
    trans : {0 or "N", 1 or "T", 2 or "C"}
        op(A): A itself, its transpose, its conjugate transpose.
    lower : bool
        Which triangle A is, before op.
    unit_diagonal : bool
        The diagonal is taken as ones and not read.
    accuracy, check_finite
        As in :func:`ozfp4.linalg.solve`.

    Returns
    -------
    x : array or tensor
        Of the shape of b, or of the stack.

    Examples
    --------
    >>> import numpy as np
    >>> solve_triangular(np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([2.0, 9.0]), lower=True)
    array([1., 2.])

    Raises
    ------
    LinAlgError
        A zero on the diagonal; NumPy's, or torch's for tensors.
    TypeError, ValueError, RuntimeError
        As :func:`ozfp4.linalg.solve`; ValueError for a trans that is unknown.
    """
    way = transposition(trans)
    given = take(a, b, square=True, accuracy=accuracy, check_finite=check_finite)

    def steps(t: Any, right: Any) -> tuple[Any]:
        if not unit_diagonal:
            check_diagonal(t, "singular matrix: entry {} of the diagonal, counted from 0, is zero")
        if way != "N":
            t = adjoint(t) if way == "C" else t.swapaxes(1, 2)
        below = bool(lower) == (way == "N")
        return (substitute(t, right, given.accuracy, lower=below, unit=unit_diagonal),)

    (x,) = over_stack(given, steps, given.a, given.b)
    return given.like_b(x)


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
    accuracy, check_finite
        As in :func:`ozfp4.linalg.solve`.

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
    given = take(a, square=True, accuracy=accuracy, check_finite=check_finite)

    def steps(matrices: Any) -> tuple[Any]:
        if lower:
            return (lower_factor(matrices, given.accuracy),)
        return (copy(adjoint(lower_factor(adjoint(matrices), given.accuracy))),)

    return over_stack(given, steps, given.a)[0]
