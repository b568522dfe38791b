"""Errors against the real-number product A B, in exact integers (paper, section "Accuracy Evaluation")."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .oracle import integer_matmul

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class RealProduct:
    """Exact A B and |A| |B| of two finite FP64 matrices: object arrays of integers, times 2^exponent."""

    product: Array
    magnitude: Array
    exponent: int


# Digits of so many bits at most, so many of them: beyond, integers of any size are the quicker way.
WIDEST_DIGIT = 24
MOST_DIGITS = 24


def _fields(x: Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], int]:
    """x = significands * 2^(shifts + lowest), exactly; the significands have 53 bits at most, shifts are >= 0."""
    significand, exponent = np.frexp(x)
    significands = np.ldexp(significand, 53).astype(np.int64)
    nonzero = significands != 0
    lowest = int(exponent[nonzero].min()) if nonzero.any() else 0
    shifts = np.where(nonzero, exponent.astype(np.int64) - lowest, 0)
    return significands, shifts, lowest - 53


def _as_integers(x: Array) -> tuple[Array, int]:
    """x = integers * 2^exponent, exactly, with one exponent for the whole matrix."""
    significands, shifts, exponent = _fields(x)
    return significands.astype(object) << shifts.astype(object), exponent


def digits(significands: Array, shifts: Array, width: int, count: int) -> list[Array]:
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


def product_of_digits(x: list[Array], y: list[Array], width: int) -> Array:
    """Sum over i, j of (x_i y_j) 2^(width (i + j)) as Python integers; every float64 product here is exact."""
    total = np.zeros((x[0].shape[0], y[0].shape[1]), dtype=object)
    for weight in range(len(x) + len(y) - 1):
        pairs = [(i, weight - i) for i in range(len(x)) if 0 <= weight - i < len(y)]
        # Each product is below 2^53 and there are fewer than 2^10 of them: int64 holds their sum.
        group = sum((x[i] @ y[j]).astype(np.int64) for i, j in pairs)
        total += np.asarray(group).astype(object) << (width * weight)
    return total


def real_product(a: Array, b: Array) -> RealProduct:
    """The real-number product of two finite 2-D FP64 arrays and the sums of |a| |b|, without any rounding.

    The significands are cut into digits so short that their float64 products, summed over K, stay below 2^53: NumPy's
    matmul is then exact, in any order of summation. Where the exponents differ too much for that, Python integers (or
    python-flint's) multiply.
    """
    (sig_a, shift_a, exponent_a), (sig_b, shift_b, exponent_b) = _fields(a), _fields(b)
    exponent = exponent_a + exponent_b
    k = a.shape[1]
    width = min(WIDEST_DIGIT, (53 - k.bit_length()) // 2)
    counts = [-(-(53 + int(shift.max(initial=0))) // max(width, 1)) for shift in (shift_a, shift_b)]
    if width < 8 or max(counts) > MOST_DIGITS or k == 0:
        whole_a, whole_b = _as_integers(a)[0], _as_integers(b)[0]
        magnitude = integer_matmul(abs(whole_a), abs(whole_b))
        return RealProduct(integer_matmul(whole_a, whole_b), magnitude, exponent)
    x = digits(sig_a, shift_a, width, counts[0])
    y = digits(sig_b, shift_b, width, counts[1])
    return RealProduct(
        product_of_digits(x, y, width),
        product_of_digits([abs(d) for d in x], [abs(d) for d in y], width),
        exponent,
    )


def relative_errors(c: Array, exact: RealProduct) -> npt.NDArray[np.float64]:
    """|c - AB| / (|A| |B|), entry by entry; 0 where c is right, infinite for NaN and infinity.

    The differences are formed exactly, only their ratio is rounded.
    """
    finite = np.isfinite(c)
    integers, exponent = _as_integers(np.where(finite, c, 0.0))
    lowest = min(exponent, exact.exponent)
    difference = abs((integers << (exponent - lowest)) - (exact.product << (exact.exponent - lowest)))
    magnitude = exact.magnitude << (exact.exponent - lowest)
    errors = np.where(finite, 0.0, math.inf)
    for index in zip(*np.nonzero((difference != 0) & finite), strict=True):
        errors[index] = _ratio(difference[index], magnitude[index])
    return errors


def _ratio(difference: int, magnitude: int) -> float:
    """The quotient of two integers, rounded once; infinite beyond the range of FP64."""
    try:
        return difference / magnitude
    except (ZeroDivisionError, OverflowError):
        return math.inf


def effective_bits(c: Array, exact: RealProduct) -> float:
    """-log2 of the largest relative error; infinite for an exact result."""
    worst = float(relative_errors(c, exact).max(initial=0.0))
    return math.inf if worst == 0 else -math.log2(worst)
