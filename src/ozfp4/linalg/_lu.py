"""``ozfp4.linalg.lu_factor``, ``lu_solve``, ``det`` and ``slogdet``."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from .._request import library
from .._request.types import Array, Arrays
from .._request.types import TensorT as T
from . import _native as native
from ._native import Host, adjoint, from_host, pick, put
from ._operands import Common, over_stack, routine, take
from ._products import blocks, fits, room, scaled, update
from ._triangles import check_diagonal, substitute, transposition

if TYPE_CHECKING:
    from typing_extensions import Unpack

# Factors of 1/2..1 (complex: of up to 2^(1/2)): so many have a product that is in range for certain; and an exponent that never
# is.
_AT_ONCE = 512
_FAR = 10000

ZERO_PIVOT = "the pivot {}, counted from 0, rounds to zero: the matrix is singular or nearly so"


def order_of(pivots: Host, rows: int) -> Host:
    """The rows in the order that the exchanges of row i with row pivots[i], one after the other, leave them in."""
    order = np.tile(np.arange(rows), (len(pivots), 1))
    every = np.arange(len(pivots))
    for i, j in enumerate(pivots.T):
        order[every, j], order[:, i] = order[:, i].copy(), order[every, j]
    return order


def factorise(a: Any, accuracy: str) -> tuple[Any, Host]:
    """L (unit) and U packed in one matrix, and the exchanges of rows, from 0.

    A block of columns, and then one of rows, loses the products of all before it at once (Crout's order).
    """
    m, n = a.shape[1:]
    packed = native.copy(a)
    pivots = np.empty((len(a), min(m, n)), np.int32)
    for begin, end in blocks(min(m, n)):
        here, done = slice(begin, end), slice(0, begin)
        columns = update(packed[:, begin:, here], packed[:, begin:, done], packed[:, done, here], accuracy)
        panel, exchanged = native.lu(columns)
        pivots[:, here] = exchanged + begin
        if end - begin < n:
            _exchange(packed[:, begin:], order_of(exchanged, m - begin))
        packed[:, begin:, here] = panel
        if end < n:
            rows = update(packed[:, here, end:], packed[:, here, done], packed[:, done, end:], accuracy)
            packed[:, here, end:] = native.triangular(panel[:, : end - begin], rows, lower=True, unit=True)
    return packed, pivots


def _exchange(matrices: Any, orders: Host) -> None:
    """Move the rows that change their places: each large matrix by itself."""
    for matrix, order in zip(matrices, orders, strict=True):
        moved = np.flatnonzero(order != np.arange(len(order)))
        to, source = (from_host(rows, matrices) for rows in (moved, order[moved]))
        matrix[to] = matrix[source]


def factorise_in_range(a: Any, accuracy: str) -> tuple[Any, Host, Host]:
    """The factors of 2^-e A, and e: the least of a few with which those of a finite A are well in range."""
    packed, pivots = factorise(a, accuracy)
    exponents = np.zeros(len(a), np.int64)
    for e in (4, room(a)):
        outside = np.flatnonzero(~fits(packed))
        outside = outside[native.is_finite(pick(a, outside))]
        if not outside.size:
            break
        exponents[outside] = e
        again, pivots[outside] = factorise(scaled(pick(a, outside), -exponents[outside]), accuracy)
        put(packed, outside, again)
    return packed, pivots, exponents


def fill_zeros(packed: Any) -> dict[int, str]:
    """Replace a zero pivot by u times the largest entry of its column of U: A changes by no more than its rounding errors.

    For the matrices that have one, the words that name the first zero: that of a column of zeros, which nothing fills, or any.
    """
    zeros = native.diagonal(packed) == 0
    failures = {}
    for i in np.flatnonzero(zeros.any(1)).tolist():
        sizes = native.column_sizes(native.triangle(packed[i : i + 1], lower=False))[0]
        for k in np.flatnonzero(zeros[i]).tolist():
            packed[i, k, k] = native.roundoff(packed) * sizes[k]
        left = native.diagonal(packed[i : i + 1])[0] == 0
        failures[i] = ZERO_PIVOT.format((left if left.any() else zeros[i]).argmax())
    return failures


def solve_factored(packed: Any, order: Host, b: Any, accuracy: str, way: str = "N") -> Any:
    """X with op(A) X = B, from A's factors and the order of its rows; the diagonal of U holds no zero."""
    if way == "N":
        y = substitute(packed, _rows_of(b, order), accuracy, lower=True, unit=True)
        return substitute(packed, y, accuracy, lower=False)
    turned = adjoint(packed) if way == "C" else packed.swapaxes(1, 2)
    y = substitute(turned, b, accuracy, lower=True)
    y = substitute(turned, y, accuracy, lower=False, unit=True)
    return _rows_of(y, np.argsort(order, axis=1))


def _rows_of(x: Any, order: Host) -> Any:
    """The rows of each matrix in its own order."""
    every = np.arange(len(order))[:, None]
    return x[from_host(every, x), from_host(order, x)]


@overload
def lu_factor(a: T, **options: Unpack[Common]) -> tuple[T, T]: ...
@overload
def lu_factor(a: Arrays, **options: Unpack[Common]) -> tuple[Array, Array]: ...
@routine
def lu_factor(a: Any, *, accuracy: str | None = None, check_finite: bool = True) -> Any:
    """P A = L U with partial pivoting, in the form of SciPy and torch.

    Parameters
    ----------
    a : array_like or torch.Tensor
        (..., m, n). Dtypes, `accuracy`, `check_finite` and errors are those of
        :func:`ozfp4.linalg.solve`.

    Returns
    -------
    lu : array or tensor
        Has the shape of a: U on and above the diagonal, below it L, which has a diagonal of ones.
    piv : array or tensor of int32
        (..., min(m, n)): row i was exchanged with row piv[i], one after the other. Counted from 0
        for NumPy and from 1 for torch, as by their own functions.

    Notes
    -----
    A zero on the diagonal of U is an error of :func:`ozfp4.linalg.lu_solve`, but not of this
    function.

    Examples
    --------
    >>> import numpy as np
    >>> lu, piv = lu_factor(np.array([[1.0, 3.0], [2.0, 4.0]]))
    >>> lu, piv.tolist()
    (array([[2. , 4. ],
           [0.5, 1. ]]), [1, 1])
    """
    given = take(a, accuracy=accuracy, check_finite=check_finite)
    first = np.int32(1 if given.torch else 0)

    def steps(matrices: Any) -> tuple[Any, Any]:
        packed, pivots = factorise(matrices, given.accuracy)
        return packed, from_host(pivots + first, packed)

    return over_stack(given, steps, given.a)


@overload
def lu_solve(lu_and_piv: tuple[T, T], b: T, *, trans: int | str = ..., **options: Unpack[Common]) -> T: ...
@overload
def lu_solve(
    lu_and_piv: tuple[Arrays, Arrays], b: Arrays, *, trans: int | str = ..., **options: Unpack[Common]
) -> Array: ...
@routine
def lu_solve(
    lu_and_piv: Any, b: Any, *, trans: int | str = 0, accuracy: str | None = None, check_finite: bool = True
) -> Any:
    """X with op(A) X = B, from the LU factors of a square A.

    The factors are those of :func:`ozfp4.linalg.lu_factor`, SciPy or torch.

    Parameters
    ----------
    lu_and_piv : (array, array) or (tensor, tensor)
        As returned by lu_factor. Dtypes, `accuracy`, `check_finite` and errors are those of
        :func:`ozfp4.linalg.solve`; errors name the factors a.
    b : array_like or torch.Tensor
        (n,), or (..., n, k) with broadcasting stacks.
    trans : {0 or "N", 1 or "T", 2 or "C"}
        op(A): A itself, its transpose, its conjugate transpose.

    Returns
    -------
    x
        Has the shape of b, or of the stack.

    Raises
    ------
    LinAlgError
        A pivot that is zero, with its index. It is NumPy's, or torch's for tensors.
    ValueError
        Invalid pivots.
    """
    way = transposition(trans)
    if not isinstance(lu_and_piv, (tuple, list)) or len(lu_and_piv) != 2:
        raise TypeError("lu_and_piv: a pair (lu, piv) is needed, as lu_factor returns it")
    lu, piv = lu_and_piv
    given = take(lu, b, square=True, accuracy=accuracy, check_finite=check_finite)
    pivots = _checked_pivots(piv, given.a.shape[-1], given.lead, given.torch is not None)

    def steps(packed: Any, right: Any, exchanged: Host) -> tuple[Any]:
        check_diagonal(packed, ZERO_PIVOT)
        order = order_of(exchanged, packed.shape[1])
        return (solve_factored(packed, order, right, given.accuracy, way),)

    (x,) = over_stack(given, steps, given.a, given.b, pivots)
    return given.like_b(x)


def _checked_pivots(piv: Any, n: int, lead: tuple[int, ...], are_tensors: bool) -> Host:
    """The exchanges on the host, from 0, for each matrix of the stack; TypeError or ValueError unless they are such."""
    if library.is_tensor(piv) != are_tensors:
        raise TypeError("piv: NumPy arrays and torch tensors cannot be mixed; lu is of the other library")
    try:
        host = library.as_array("piv", piv.cpu() if are_tensors else piv)
    except ValueError:  # NumPy's, of lists of different lengths
        raise TypeError(f"piv: {piv!r} is no array of integers") from None
    if host.dtype.kind not in "iu":
        raise TypeError(f"piv: dtype {host.dtype} holds no integers")
    needed = (*lead, n)
    try:
        if host.shape[-1:] != (n,):
            raise ValueError
        exchanged = np.broadcast_to(host, needed)
    except ValueError:
        raise ValueError(f"piv: shape {host.shape} does not fit lu; {needed} is needed") from None
    first = 1 if are_tensors else 0
    if host.size and not (host.min() >= first and host.max() < n + first):
        raise ValueError(f"piv: an index is outside {first}..{n - 1 + first}")
    return exchanged.reshape(prod(lead), n).astype(np.int64) - first


class Slogdet(NamedTuple):
    """Sign and logarithm of a determinant: det A = sign exp(logabsdet).

    The sign is +-1, has modulus 1 for complex matrices, or is 0 with a logabsdet of -infinity.
    """

    sign: Any
    logabsdet: Any


def _factors(matrices: Any, accuracy: str) -> tuple[Host, Host, Host]:
    """The diagonals of U on the host, the signs of the permutations, and exponents of 2: det A is the product of all."""
    packed, pivots, e = factorise_in_range(matrices, accuracy)
    exchanges = (pivots != np.arange(pivots.shape[1])).sum(1)
    return np.ascontiguousarray(native.diagonal(packed)), np.where(exchanges % 2, -1, 1), e * pivots.shape[1]


def _products(factors: Host, e: Host) -> Host:
    """The product of each row, times 2^e, in float64 or complex128: out of range only as a whole."""
    total: Host = np.ones(len(factors), np.result_type(factors.dtype, np.float64))
    for begin in range(0, factors.shape[1], _AT_ONCE):
        mantissas, exponents = _split(factors[:, begin : begin + _AT_ONCE])
        total, more = _split(native.times(total, mantissas.prod(1)))
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


@routine
def slogdet(a: Any, *, accuracy: str | None = None, check_finite: bool = True) -> Slogdet:
    """Sign (phase) and logarithm of the magnitude of determinants, by LU.

    Parameters
    ----------
    a : array_like or torch.Tensor
        (..., n, n). Dtypes, `accuracy`, `check_finite` and errors are those of
        :func:`ozfp4.linalg.solve`.

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
    """
    given = take(a, square=True, accuracy=accuracy, check_finite=check_finite)

    def steps(matrices: Any) -> tuple[Any, Any]:
        factors, signs, e = _factors(matrices, given.accuracy)
        sizes = np.abs(factors)
        phases = np.where(sizes == 0, 0, factors / sizes).prod(1) * signs
        logarithms = np.log(sizes).sum(1) + e * np.log(2.0)
        results = (phases.astype(factors.dtype), logarithms.astype(sizes.dtype))
        return from_host(results[0], matrices), from_host(results[1], matrices)

    return Slogdet(*over_stack(given, steps, given.a))


@overload
def det(a: T, **options: Unpack[Common]) -> T: ...
@overload
def det(a: Arrays, **options: Unpack[Common]) -> Array: ...
@routine
def det(a: Any, *, accuracy: str | None = None, check_finite: bool = True) -> Any:
    """Determinants of square matrices, by LU.

    A determinant out of the range of the dtype of a is 0 or infinite; see :func:`slogdet`.

    Parameters
    ----------
    a : array_like or torch.Tensor
        (..., n, n). Dtypes, `accuracy`, `check_finite` and errors are those of
        :func:`ozfp4.linalg.solve`.

    Examples
    --------
    >>> import numpy as np
    >>> float(det(np.array([[0.0, 2.0], [3.0, 4.0]])))
    -6.0
    """
    given = take(a, square=True, accuracy=accuracy, check_finite=check_finite)

    def steps(matrices: Any) -> tuple[Any]:
        factors, signs, e = _factors(matrices, given.accuracy)
        is_zero = (factors == 0).any(1) & np.isfinite(factors).all(1)
        values = np.where(is_zero, 0, _products(factors, e) * signs)
        return (from_host(values.astype(factors.dtype), matrices),)

    return over_stack(given, steps, given.a)[0]
