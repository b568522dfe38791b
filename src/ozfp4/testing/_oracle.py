"""The references of "scaled" and "correct": what every path must return, bit for bit, in NumPy's and Python's integers.

Written a second time on purpose. Nothing here calls the core: the two can only agree by both being right.

    s_i = bits - 1 - e_i          e_i: exponent of the largest magnitude in row i of A (t_j: column j of B)
    Ã = round(A 2^s), B̃ = round(B 2^t)                      ties to even
    C_ij = round((Ã B̃)_ij 2^-(s_i + t_j))                   once, ties to even, to float64 or float32

"correct" is the same by larger s and t, which leave nothing to round in Ã and B̃.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._options import ROUNDINGS, check_name

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]

# Precision in bits, exponent of the largest finite number and of the smallest subnormal one.
FORMATS = {np.dtype(np.float64): (53, 1023, -1074), np.dtype(np.float32): (24, 127, -149)}
PRECISIONS = {dtype: precision for dtype, (precision, _, _) in FORMATS.items()}
ENGINES = ("auto", "flint", "object")
_FAR = 2**40  # beyond all exponents


def split(lines: Array) -> tuple[Integers, Integers]:
    """m and e with x = m 2^e of each entry, m of 53 bits; m = 0 for zeros and non-finite entries."""
    wide = lines.astype(np.float64)  # exact for float32, and makes its subnormal numbers normal
    fractions, exponents = np.frexp(np.where(np.isfinite(wide), wide, 0.0))
    return np.ldexp(fractions, 53).astype(np.int64), exponents.astype(np.int64) - 53


def scale_exponents(lines: Array, bits: int | Integers) -> Integers:
    """``bits - 1 - e`` of each row of a float array, as int64 of shape (rows,).

    e is the exponent of the row's largest finite magnitude; a row without one gets 0. The number
    of bits may differ from row to row.
    """
    significands, exponents = split(lines)
    largest = exponents.max(axis=1, initial=-_FAR, where=significands != 0)
    return np.where(largest == -_FAR, 0, bits - 53 - largest)


def exact_exponents(lines: Array) -> Integers:
    """s of each row for which all x · 2^s are integers."""
    significands, exponents = split(lines)
    lowest = exponents.min(axis=1, initial=_FAR, where=significands != 0)
    return np.where(lowest == _FAR, 0, -lowest)


def scaled_integers(lines: Array, exponents: Integers) -> Array:
    """``round(x · 2^s)`` of each row of a float array, ties to even.

    The exponents are int64 of shape (rows,); entries that are not finite become 0. The integers
    are int64, or Python's (dtype object) where one has more than 62 bits.
    """
    significands, places = split(lines)
    places += exponents[:, np.newaxis]
    # From 55 places on a quotient is below 1/2.
    right, left = np.clip(-places, 0, 60), np.where(significands == 0, 0, np.maximum(places, 0))
    quotient = significands >> right  # the floor, of negative numbers too
    twice_rest, one = 2 * (significands - (quotient << right)), np.int64(1) << right
    quotient += (twice_rest > one) | ((twice_rest == one) & (quotient % 2 == 1))
    return quotient << left if left.max(initial=0) <= 9 else quotient.astype(object) << left.astype(object)


def _dot_flint(x: Array, y: Array) -> Array:
    from flint import fmpz_mat

    (m, k), n = x.shape, y.shape[1]
    product = fmpz_mat(m, k, x.ravel().tolist()) * fmpz_mat(k, n, y.ravel().tolist())
    return np.array([int(entry) for entry in product.entries()], dtype=object).reshape(m, n)


def integer_matmul(x: Array, y: Array, engine: str = "auto") -> Array:
    """Exact product of integer matrices, as an object array of Python integers.

    The matrices hold int64 or Python integers. The engine is "flint", python-flint's
    ``fmpz_mat``, or "object", NumPy's arrays of Python integers; "auto" is flint where that is
    installed. ValueError for another.
    """
    check_name("engine", engine, ENGINES)
    if 0 in (*x.shape, *y.shape):
        return np.zeros((x.shape[0], y.shape[1]), dtype=object)
    if engine == "flint" or (engine == "auto" and find_spec("flint")):
        return _dot_flint(x, y)
    product: Array = x.astype(object) @ y.astype(object)
    return product


class Sums(NamedTuple):
    """A product entry by entry: integers[i, j] 2^-(s[i] + t[j])."""

    integers: Array
    s: Integers
    t: Integers

    def exponent(self, i: int, j: int) -> int:
        """That of 2 of an entry."""
        return -int(self.s[i] + self.t[j])

    def rounded(self, dtype: npt.DTypeLike, rounding: str = "nearest") -> Array:
        """All entries, each rounded once."""
        result = np.empty(self.integers.shape, dtype)
        for i, j in np.ndindex(*result.shape):
            result[i, j] = round_to_float(self.integers[i, j], self.exponent(i, j), dtype, rounding)
        return result


def scaled_sums(a: Array, b: Array, s: Integers, t: Integers, engine: str = "auto") -> Sums:
    """Ã B̃ by these scale exponents."""
    return Sums(integer_matmul(scaled_integers(a, s), scaled_integers(b.T, t).T, engine), s, t)


def real_sums(a: Array, b: Array, engine: str = "auto") -> Sums:
    """A B of two 2-D matrices without any rounding; non-finite entries count as zeros."""
    return scaled_sums(a, b, exact_exponents(a), exact_exponents(b.T), engine)


def integer_product(
    a: Array, b: Array, bits: int = 53, *, engine: str = "auto"
) -> tuple[Array, Integers, Integers]:
    """The exact integers Ã B̃ of two float matrices, and their scale exponents.

    The integers are (m, n), the exponents of rows and columns (m,) and (n,). `bits` is the
    capacity of the scaled integers; non-finite entries count as zeros. The engine is
    :func:`integer_matmul`'s.
    """
    return scaled_sums(a, b, scale_exponents(a, bits), scale_exponents(b.T, bits), engine)


def round_to_float(
    integer: int, exponent: int, dtype: npt.DTypeLike = np.float64, rounding: str = "nearest"
) -> float:
    """``integer · 2^exponent`` rounded once to float64 or float32, or to infinity.

    The integers have any size. The rounding is "nearest", ties to even, "down", "up" or "zero";
    ValueError for another. Zero is +0, and -0 when rounding down; a number that is not zero and
    rounds to zero keeps its sign.
    """
    check_name("rounding", rounding, ROUNDINGS)
    precision, max_exponent, lowest = FORMATS[np.dtype(dtype)]
    magnitude = abs(integer)
    if magnitude == 0:
        return -0.0 if rounding == "down" else 0.0
    away = rounding == ("down" if integer < 0 else "up")
    leading = magnitude.bit_length() - 1 + exponent
    last_place = max(leading - precision + 1, lowest)  # the result is a multiple of 2^last_place
    drop = last_place - exponent
    if drop <= 0:
        kept = magnitude << -drop
    else:
        kept, rest = magnitude >> drop, magnitude & ((1 << drop) - 1)
        half = 1 << (drop - 1)
        if rounding == "nearest":
            kept += rest > half or (rest == half and kept % 2 == 1)
        else:
            kept += away and rest > 0
    if kept.bit_length() - 1 + last_place <= max_exponent:
        value = math.ldexp(kept, last_place)
    elif rounding == "nearest" or away:
        value = math.inf
    else:
        value = math.ldexp((1 << precision) - 1, max_exponent + 1 - precision)
    return -value if integer < 0 else value


def special_value(x: Array, y: Array) -> float:
    """IEEE dot product of a row and a column of which one holds a NaN or an infinity."""
    meets = ~(np.isfinite(x) & np.isfinite(y))
    if np.isnan(x[meets]).any() or np.isnan(y[meets]).any():
        return math.nan
    signs = set((np.sign(x[meets]) * np.sign(y[meets])).tolist())  # 0 where an infinity meets a zero
    return math.inf if signs == {1.0} else -math.inf if signs == {-1.0} else math.nan


def special_entries(a: Array, b: Array) -> list[tuple[int, int]]:
    """The entries with a NaN or an infinity in their row or column."""
    finite = np.logical_and.outer(np.isfinite(a).all(axis=1), np.isfinite(b).all(axis=0))
    return [(int(i), int(j)) for i, j in np.argwhere(~finite)]


def with_specials(result: Array, a: Array, b: Array) -> Array:
    """`result` with the IEEE dot products at those entries."""
    for i, j in special_entries(a, b):
        result[i, j] = special_value(a[i], b[:, j])
    return result


def over_stacks(
    a: npt.ArrayLike, b: npt.ArrayLike, multiply: Callable[[Array, Array, np.dtype[Any]], tuple[Array, ...]]
) -> tuple[Array, ...]:
    """``multiply(x, y, dtype)`` of each pair of matrices, shapes as for ``numpy.matmul``; one array for each array it gives."""
    x, y = np.asarray(a), np.asarray(b)
    x, y = x.astype(x.dtype.newbyteorder("=")), y.astype(y.dtype.newbyteorder("="))
    if {x.dtype, y.dtype} - set(FORMATS):
        raise TypeError(f"dtypes {x.dtype} and {y.dtype}: the reference takes float64 and float32")
    dtype = np.promote_types(x.dtype, y.dtype)
    matrix_x = x[np.newaxis, :] if x.ndim == 1 else x
    matrix_y = y[:, np.newaxis] if y.ndim == 1 else y
    (m, k), (rows, n) = matrix_x.shape[-2:], matrix_y.shape[-2:]
    if k != rows:
        raise ValueError(f"inner dimensions differ: {x.shape} and {y.shape}")
    stack = np.broadcast_shapes(matrix_x.shape[:-2], matrix_y.shape[:-2])
    stack_x = np.broadcast_to(matrix_x, (*stack, m, k))
    stack_y = np.broadcast_to(matrix_y, (*stack, k, n))
    found = [multiply(stack_x[index], stack_y[index], dtype) for index in np.ndindex(*stack)]
    found = found or [multiply(np.zeros((m, k)), np.zeros((k, n)), dtype)]
    shape = stack + (m,) * (x.ndim > 1) + (n,) * (y.ndim > 1)
    count = math.prod(stack)
    return tuple(np.stack(parts)[:count].reshape(shape) for parts in zip(*found, strict=True))


def exact_matmul(
    a: npt.ArrayLike, b: npt.ArrayLike, bits: int | None = None, *, engine: str = "auto"
) -> Array:
    """Reference of "scaled": the exact product of the scaled integers, rounded.

    It is ``ozfp4.matmul(a, b, accuracy="scaled")`` with a plan of so many bits, bit for bit (NaNs
    as such).

    Parameters
    ----------
    a, b : array_like of float64 or float32
        Shapes as for ``numpy.matmul``: 1-D, 2-D, or stacks with broadcasting; any strides and byte
        order.
    bits : int, optional
        Capacity of the scaled integers; by default 53, or 24 when both operands are float32.
    engine : {"auto", "flint", "object"}
        See :func:`integer_matmul`.

    Returns
    -------
    ndarray
        float32 if both operands are, else float64. A product of two vectors gives a 0-d array.
    """

    def multiply(x: Array, y: Array, dtype: np.dtype[Any]) -> tuple[Array]:
        capacity = PRECISIONS[dtype] if bits is None else bits
        sums = Sums(*integer_product(x, y, capacity, engine=engine))
        return (with_specials(sums.rounded(dtype), x, y),)

    return over_stacks(a, b, multiply)[0]


def correct_matmul(
    a: npt.ArrayLike, b: npt.ArrayLike, rounding: str = "nearest", *, engine: str = "auto"
) -> Array:
    """Reference of "correct": the exact product, correctly rounded.

    It is ``ozfp4.matmul(a, b, accuracy="correct", rounding=rounding)``, bit for bit (NaNs as
    such). Operands, engine and result are those of :func:`exact_matmul`, the rounding that of
    :func:`round_to_float`. NaN and infinities follow IEEE dot products.
    """
    check_name("rounding", rounding, ROUNDINGS)

    def multiply(x: Array, y: Array, dtype: np.dtype[Any]) -> tuple[Array]:
        return (with_specials(real_sums(x, y, engine).rounded(dtype, rounding), x, y),)

    return over_stacks(a, b, multiply)[0]
