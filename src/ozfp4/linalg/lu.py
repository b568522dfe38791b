"""``ozfp4.linalg.lu_factor`` and ``lu_solve``."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
import numpy.typing as npt

from ..request import library
from ..request.dlpack import any_library
from ..request.types import TensorT
from ..support.fp_mode import in_default_mode
from .blocks import blocks
from .native import Native
from .native.contract import Host
from .operands import over_stack, take
from .scale import fits, room
from .triangles import adjoint, check_diagonal, substitute, transposition, zeros_of
from .update import update

ZERO_PIVOT = "the pivot {}, counted from 0, rounds to zero: the matrix is singular or nearly so"


def order_of(pivots: Host, rows: int) -> Host:
    """The rows in the order that the exchanges of row i with row pivots[i], one after the other, leave them in."""
    order = list(range(rows))
    for i, j in enumerate(pivots.tolist()):
        order[i], order[j] = order[j], order[i]
    return np.array(order, dtype=np.int64)


def factorise(native: Native, a: Any, accuracy: str) -> tuple[Any, Host]:
    """L (unit) and U packed in one matrix, and the exchanges of rows, from 0.

    A block of columns, and then one of rows, loses the products of all before it at once (Crout's order).
    """
    packed = native.copy(a, a.dtype)
    m, n = a.shape
    pivots = np.arange(min(m, n), dtype=np.int32)
    for begin, end in blocks(min(m, n)):
        here, done = slice(begin, end), slice(0, begin)
        columns = update(packed[begin:, here], packed[begin:, done], packed[done, here], accuracy)
        panel, exchanged = native.lu(columns)
        pivots[here] = exchanged + begin
        order = order_of(exchanged, m - begin)
        moved = np.flatnonzero(order != np.arange(m - begin))
        to, source = (native.from_host(rows + begin, packed) for rows in (moved, order[moved]))
        packed[to] = packed[source]
        packed[begin:, here] = panel
        if end < n:
            rows = update(packed[here, end:], packed[here, done], packed[done, end:], accuracy)
            packed[here, end:] = native.triangular(panel[: end - begin], rows, lower=True, unit=True)
    return packed, pivots


def factorise_in_range(native: Native, a: Any, accuracy: str) -> tuple[Any, Host, int]:
    """The same of 2^-e A, and e: the least of a few with which the factors of a finite A are well in range."""
    packed, pivots = factorise(native, a, accuracy)
    e = 0
    for more in (4, room(native, a)):
        if fits(native, packed) or not native.is_finite(a):
            break
        e = more
        packed, pivots = factorise(native, a * 2.0**-e, accuracy)
    return packed, pivots, e


def fill_zeros(native: Native, packed: Any) -> str:
    """Put u times the largest entry of its column of U in place of a zero pivot: A changes by no more than its rounding errors.

    The words that name the first zero, or "". FailureError where a column holds nothing else: it proves A singular.
    """
    zeros = zeros_of(native, packed)
    if not zeros:
        return ""
    sizes = native.column_sizes(native.triangle(packed, lower=False))
    for k in zeros:
        packed[k, k] = native.roundoff(packed.dtype) * sizes[k]
    check_diagonal(native, packed, ZERO_PIVOT)
    return ZERO_PIVOT.format(zeros[0])


def solve_factored(native: Native, packed: Any, pivots: Host, b: Any, accuracy: str, way: str = "N") -> Any:
    """X with op(A) X = B, from A's factors; the diagonal of U holds no zero."""
    order = order_of(pivots, packed.shape[0])
    if way == "N":
        y = substitute(native, packed, b[native.from_host(order, b)], accuracy, lower=True, unit=True)
        return substitute(native, packed, y, accuracy, lower=False)
    turned = adjoint(packed) if way == "C" else packed.T
    y = substitute(native, turned, b, accuracy, lower=True)
    y = substitute(native, turned, y, accuracy, lower=False, unit=True)
    return y[native.from_host(np.argsort(order), b)]


@overload
def lu_factor(
    a: TensorT, *, accuracy: str | None = ..., check_finite: bool = ...
) -> tuple[TensorT, TensorT]: ...
@overload
def lu_factor(
    a: npt.ArrayLike, *, accuracy: str | None = ..., check_finite: bool = ...
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32]]: ...
@any_library
@in_default_mode
def lu_factor(a: Any, *, accuracy: str | None = None, check_finite: bool = True) -> Any:
    """P A = L U with partial pivoting, as SciPy and torch keep it.

    Parameters
    ----------
    a : array_like or torch.Tensor
        (..., m, n), float64, float32, complex128 or complex64.
    accuracy : {"standard", "correct", "scaled"}, optional
        Of the products, as in :func:`ozfp4.matmul`.
    check_finite : bool
        Refuse NaN and infinity; else they take their way through the arithmetic.

    Returns
    -------
    lu : array or tensor
        Of the shape of a: U on and above the diagonal, below it L, whose diagonal is 1.
    piv : array or tensor of int32
        (..., min(m, n)): row i was exchanged with row piv[i], one after the other. Counted from 0 for NumPy, from 1 for torch,
        as their own functions do.

    A zero on the diagonal of U is no error here, but one of :func:`ozfp4.linalg.lu_solve`.

    Examples
    --------
    >>> import numpy as np
    >>> lu, piv = lu_factor(np.array([[1.0, 3.0], [2.0, 4.0]]))
    >>> lu, piv.tolist()
    (array([[2. , 4. ],
           [0.5, 1. ]]), [1, 1])

    Raises
    ------
    TypeError, ValueError, RuntimeError
        As :func:`ozfp4.linalg.solve`.
    """
    given = take(a, has_b=False, accuracy=accuracy, check_finite=check_finite)
    native = given.native
    first = 1 if library.is_tensor(a) else 0

    def one(matrix: Any) -> tuple[Any, Any]:
        packed, pivots = factorise(native, matrix, given.accuracy)
        return packed, native.from_host(pivots + np.int32(first), packed)

    return over_stack(native, given.lead, one, given.a)


@overload
def lu_solve(
    lu_and_piv: tuple[TensorT, TensorT],
    b: TensorT,
    *,
    trans: int | str = ...,
    accuracy: str | None = ...,
    check_finite: bool = ...,
) -> TensorT: ...
@overload
def lu_solve(
    lu_and_piv: tuple[npt.ArrayLike, npt.ArrayLike],
    b: npt.ArrayLike,
    *,
    trans: int | str = ...,
    accuracy: str | None = ...,
    check_finite: bool = ...,
) -> npt.NDArray[Any]: ...
@any_library
@in_default_mode
def lu_solve(
    lu_and_piv: Any,
    b: Any,
    *,
    trans: int | str = 0,
    accuracy: str | None = None,
    check_finite: bool = True,
) -> Any:
    """X with op(A) X = B, from the factors of :func:`ozfp4.linalg.lu_factor` of a square A, or SciPy's or torch's own.

    Parameters
    ----------
    lu_and_piv : (array, array) or (tensor, tensor)
        As returned by lu_factor.
    b : array_like or torch.Tensor
        (n,), or (..., n, k) with broadcasting stacks.
    trans : {0 or "N", 1 or "T", 2 or "C"}
        op(A): A itself, its transpose, its conjugate transpose.
    accuracy, check_finite
        As in lu_factor.

    Returns
    -------
    x : array or tensor
        Of the shape of b, or of the stack.

    Raises
    ------
    LinAlgError
        A pivot that is zero, with its index; NumPy's, or torch's for tensors.
    TypeError, ValueError, RuntimeError
        As :func:`ozfp4.linalg.solve`; the factors are called a. ValueError for pivots that are none.
    """
    way = transposition(trans)
    if not isinstance(lu_and_piv, (tuple, list)) or len(lu_and_piv) != 2:
        raise TypeError("lu_and_piv: a pair (lu, piv) is needed, as lu_factor returns it")
    lu, piv = lu_and_piv
    given = take(lu, b, square=True, accuracy=accuracy, check_finite=check_finite)
    pivots = _checked_pivots(piv, given.a, library.is_tensor(lu))

    def one(packed: Any, right: Any, exchanged: Host) -> tuple[Any]:
        check_diagonal(given.native, packed, ZERO_PIVOT)
        return (solve_factored(given.native, packed, exchanged, right, given.accuracy, way),)

    (x,) = over_stack(given.native, given.lead, one, given.a, given.b, pivots)
    return given.like_b(x)


def _checked_pivots(piv: Any, lu: Any, are_tensors: bool) -> Host:
    """The exchanges on the host, from 0, for each matrix of lu; TypeError or ValueError unless they are such."""
    if library.is_tensor(piv) != are_tensors:
        raise TypeError("piv: NumPy arrays and torch tensors cannot be mixed; lu is of the other library")
    first = 1 if library.is_tensor(piv) else 0
    try:
        if first:
            library.check_tensor("piv", piv)
        host = library.array_of_tensor("piv", piv.detach().cpu()) if first else library.as_array("piv", piv)
    except ValueError:  # NumPy's, of lists of different lengths
        raise TypeError(f"piv: {piv!r} is no array of integers") from None
    if host.dtype.kind not in "iu":
        raise TypeError(f"piv: dtype {piv.dtype if first else host.dtype} holds no integers")
    n = lu.shape[-1]
    needed = (*lu.shape[:-2], n)
    try:
        if host.shape[-1:] != (n,):
            raise ValueError
        exchanged = np.broadcast_to(host, needed)
    except ValueError:
        raise ValueError(f"piv: shape {host.shape} does not fit lu; {needed} is needed") from None
    if host.size and not (host.min() >= first and host.max() < n + first):
        raise ValueError(f"piv: an index is outside {first}..{n - 1 + first}")
    return exchanged.astype(np.int64) - first
