"""``ozfp4.linalg.solve_triangular`` and ``cholesky``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from .._options import check_name
from .._request.types import Array, Arrays
from .._request.types import TensorT as T
from . import _native as native
from ._native import adjoint, copy, diagonal, triangle, triangular
from ._operands import Common, FailureError, over_stack, routine, take
from ._products import blocks, update

if TYPE_CHECKING:
    from typing_extensions import Unpack


def substitute(t: Any, b: Any, accuracy: str, *, lower: bool, unit: bool = False) -> Any:
    """X with T X = B. One triangle of T is read; its diagonal holds no zero, or is `unit`.

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
    """L with L L^H = A; the lower triangle of A is read. A block of columns loses the products of all before it at once."""
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


def check_diagonal(t: Any, words: str) -> None:
    """FailureError if a diagonal holds a zero; its place replaces {} in the words."""
    for index, place in np.argwhere(diagonal(t) == 0):
        raise FailureError(int(index), words.format(place))


def transposition(trans: object) -> str:
    """ "N", "T" or "C" of SciPy's names for them; ValueError for anything else."""
    if isinstance(trans, (int, np.integer)) and not isinstance(trans, bool):
        trans = {0: "N", 1: "T", 2: "C"}.get(int(trans), trans)
    check_name("trans", trans, ("N", "T", "C"))
    return str(trans)


class Triangle(Common, total=False):
    """Options of solve_triangular."""

    trans: int | str
    lower: bool
    unit_diagonal: bool


@overload
def solve_triangular(a: T, b: T, **options: Unpack[Triangle]) -> T: ...
@overload
def solve_triangular(a: Arrays, b: Arrays, **options: Unpack[Triangle]) -> Array: ...
@routine
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
    """X with op(A) X = B for a triangular matrix A.

    The other triangle of A is not read. X has the shape of B, or of the stack.

    Parameters
    ----------
    a : array_like or torch.Tensor
        (..., n, n). Dtypes, `accuracy`, `check_finite` and errors are those of
        :func:`ozfp4.linalg.solve`.
    b : array_like or torch.Tensor
        (n,), or (..., n, k) with broadcasting stacks.
    trans : {0 or "N", 1 or "T", 2 or "C"}
        op(A): A itself, its transpose, its conjugate transpose.
    lower : bool
        Which triangle A is, before op.
    unit_diagonal : bool
        The diagonal is taken as ones and not read.

    Raises
    ------
    LinAlgError
        A zero on the diagonal. It is NumPy's, or torch's for tensors.

    Examples
    --------
    >>> import numpy as np
    >>> solve_triangular(np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([2.0, 9.0]), lower=True)
    array([1., 2.])
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


@overload
def cholesky(a: T, *, lower: bool = ..., **options: Unpack[Common]) -> T: ...
@overload
def cholesky(a: Arrays, *, lower: bool = ..., **options: Unpack[Common]) -> Array: ...
@routine
def cholesky(a: Any, *, lower: bool = True, accuracy: str | None = None, check_finite: bool = True) -> Any:
    """Cholesky factor of a symmetric (Hermitian) positive definite matrix.

    It is L with A = L L^H, or U with A = U^H U.

    Parameters
    ----------
    a : array_like or torch.Tensor
        (..., n, n). One triangle is read, the lower one if `lower`. Dtypes, `accuracy`,
        `check_finite` and errors are those of :func:`ozfp4.linalg.solve`.
    lower : bool
        Return L, as NumPy and torch do by default, else U, as SciPy does; the other triangle holds
        zeros.

    Raises
    ------
    LinAlgError
        A matrix that is not positive definite, with the order of its first leading minor that is
        not positive. It is NumPy's, or torch's for tensors.

    Examples
    --------
    >>> import numpy as np
    >>> cholesky(np.array([[4.0, 2.0], [2.0, 10.0]]))
    array([[2., 0.],
           [1., 3.]])
    """
    given = take(a, square=True, accuracy=accuracy, check_finite=check_finite)

    def steps(matrices: Any) -> tuple[Any]:
        if lower:
            return (lower_factor(matrices, given.accuracy),)
        return (copy(adjoint(lower_factor(adjoint(matrices), given.accuracy))),)

    return over_stack(given, steps, given.a)[0]
