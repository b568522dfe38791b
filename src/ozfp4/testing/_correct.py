"""The real product of two float matrices, rounded once: what ``accuracy="correct"`` must return, bit for bit.

Nothing here calls the core. Significands are cut into digits whose float64 products are exact, or
multiplied as integers of any size where the exponents of a line differ by too much for that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ._oracle import ROUNDINGS, integer_matmul, round_to_float

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]

FLOATS = (np.dtype(np.float64), np.dtype(np.float32))

# Digits of so many bits at most, so many of them: beyond, integers of any size are the quicker way.
WIDEST_DIGIT = 24
MOST_DIGITS = 24


@dataclass(frozen=True)
class Lines:
    """The rows of a matrix: entry = significand 2^(shift + exponent of its row), exactly; non-finite entries are 0.

    Significands have 53 bits at most, shifts are >= 0.
    """

    significands: Integers
    shifts: Integers
    exponents: Integers


def split(rows: Array) -> Lines:
    """The rows of a float64 or float32 matrix in integers."""
    wide = rows.astype(np.float64)
    significand, exponent = np.frexp(np.where(np.isfinite(wide), wide, 0.0))
    significands = np.ldexp(significand, 53).astype(np.int64)
    nonzero = significands != 0
    far = np.int64(1) << 40
    lowest = np.where(nonzero, exponent.astype(np.int64), far).min(axis=1, initial=far)
    lowest = np.where(lowest == far, 0, lowest)
    shifts = np.where(nonzero, exponent.astype(np.int64) - lowest[:, np.newaxis], 0)
    return Lines(significands, shifts, lowest - 53)


def _digits(significands: Array, shifts: Array, width: int, count: int) -> list[Array]:
    """Digits of significands * 2^shifts in base 2^width, least first, as float64 with the sign of their number."""
    magnitude, sign = np.abs(significands), np.sign(significands).astype(np.float64)
    found = []
    for index in range(count):
        down = width * index - shifts  # the digit's lowest bit, counted in the significand
        right = magnitude >> np.clip(down, 0, 63)
        up = np.clip(-down, 0, width)
        left = (magnitude & ((1 << (width - up)) - 1)) << up
        digit = np.where(down >= 0, right, left) & ((1 << width) - 1)
        found.append(sign * digit)
    return found


def _product_of_digits(x: list[Array], y: list[Array], width: int) -> Array:
    """Sum over i, j of (x_i y_j) 2^(width (i + j)) as Python integers; every float64 product here is exact."""
    total = np.zeros((x[0].shape[0], y[0].shape[1]), dtype=object)
    for weight in range(len(x) + len(y) - 1):
        pairs = [(i, weight - i) for i in range(len(x)) if 0 <= weight - i < len(y)]
        # Each product is below 2^53 and there are fewer than 2^10 of them: int64 holds their sum.
        group = sum((x[i] @ y[j]).astype(np.int64) for i, j in pairs)
        total += np.asarray(group).astype(object) << (width * weight)
    return total


@dataclass(frozen=True)
class RealSums:
    """The real product entry by entry: integers[i, j] 2^(rows[i] + columns[j])."""

    integers: Array
    rows: Integers
    columns: Integers

    def rounded(self, i: int, j: int, dtype: npt.DTypeLike = np.float64, rounding: str = "nearest") -> float:
        """Entry (i, j), rounded once."""
        return round_to_float(self.integers[i, j], int(self.rows[i] + self.columns[j]), dtype, rounding)


def real_sums(a: Array, b: Array, engine: str = "auto", magnitudes: bool = False) -> RealSums:
    """A B of two 2-D matrices without any rounding, or |A| |B|; non-finite entries count as zeros."""
    x, y = split(abs(a) if magnitudes else a), split(abs(b.T) if magnitudes else b.T)
    k = a.shape[1]
    width = min(WIDEST_DIGIT, (53 - k.bit_length()) // 2)
    counts = [-(-(53 + int(z.shifts.max(initial=0))) // max(width, 1)) for z in (x, y)]
    if width < 8 or max(counts) > MOST_DIGITS or k == 0:
        whole = [z.significands.astype(object) << z.shifts.astype(object) for z in (x, y)]
        integers = integer_matmul(whole[0], whole[1].T, engine)
    else:
        cut = [
            _digits(z.significands, z.shifts, width, count) for z, count in zip((x, y), counts, strict=True)
        ]
        integers = _product_of_digits(cut[0], [d.T for d in cut[1]], width)
    return RealSums(integers, x.exponents, y.exponents)


def special_value(x: Array, y: Array) -> float:
    """IEEE dot product of a row and a column of which one holds a NaN or an infinity."""
    meets = ~(np.isfinite(x) & np.isfinite(y))
    pairs = zip(x[meets].tolist(), y[meets].tolist(), strict=True)
    if any(math.isnan(p) or math.isnan(q) or p == 0 or q == 0 for p, q in pairs):
        return math.nan
    positive = (x[meets] > 0) == (y[meets] > 0)
    return math.inf if positive.all() else -math.inf if not positive.any() else math.nan


def special_entries(a: Array, b: Array) -> list[tuple[int, int]]:
    """The entries whose row or column holds a NaN or an infinity."""
    finite = np.logical_and.outer(np.isfinite(a).all(axis=1), np.isfinite(b).all(axis=0))
    return [(int(i), int(j)) for i, j in np.argwhere(~finite)]


def over_stacks(
    a: npt.ArrayLike, b: npt.ArrayLike, multiply: Callable[[Array, Array, np.dtype[Any]], tuple[Array, ...]]
) -> tuple[Array, ...]:
    """``multiply(x, y, dtype)`` of each pair of matrices, shapes as for ``numpy.matmul``; one array for each array it gives."""
    x, y = np.asarray(a), np.asarray(b)
    x, y = x.astype(x.dtype.newbyteorder("=")), y.astype(y.dtype.newbyteorder("="))
    if not {x.dtype, y.dtype} <= set(FLOATS):
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
    if not found:
        found = [multiply(np.zeros((m, k)), np.zeros((k, n)), dtype)]
    shape = stack + (m,) * (x.ndim > 1) + (n,) * (y.ndim > 1)
    count = math.prod(stack)
    return tuple(np.stack(parts)[:count].reshape(shape) for parts in zip(*found, strict=True))


def correct_matmul(
    a: npt.ArrayLike, b: npt.ArrayLike, rounding: str = "nearest", *, engine: str = "auto"
) -> Array:
    """The real product, rounded once: ``ozfp4.matmul(a, b, accuracy="correct", rounding=rounding)``, bit for bit (NaNs as such).

    Parameters
    ----------
    a, b : array_like of float64 or float32
        Shapes as for ``numpy.matmul``.
    rounding : {"nearest", "down", "up", "zero"}
        An exact zero is +0, and -0 when rounding down. NaN and infinities as IEEE dot products give them.
    engine : {"auto", "flint", "object"}
        See :func:`integer_matmul`.

    Returns
    -------
    ndarray
        float32 if both operands are, else float64. A product of two vectors gives a 0-d array.
    """
    if rounding not in ROUNDINGS:
        raise ValueError(f"rounding: {rounding!r} is unknown; allowed are {', '.join(map(repr, ROUNDINGS))}")

    def multiply(x: Array, y: Array, dtype: np.dtype[Any]) -> tuple[Array]:
        sums = real_sums(x, y, engine)
        result = np.empty(sums.integers.shape, dtype)
        for i, j in np.ndindex(*result.shape):
            result[i, j] = sums.rounded(i, j, dtype, rounding)
        for i, j in special_entries(x, y):
            result[i, j] = special_value(x[i], y[:, j])
        return (result,)

    return over_stacks(a, b, multiply)[0]
