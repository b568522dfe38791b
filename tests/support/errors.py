"""Errors against the real-number product A B, in exact integers (paper, section "Accuracy Evaluation")."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ozfp4.testing._oracle import exact_exponents, real_sums, scaled_integers

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class RealProduct:
    """Exact A B and |A| |B| of two finite FP64 matrices: object arrays of integers, times 2^exponent."""

    product: Array
    magnitude: Array
    exponent: int


def as_integers(x: Array) -> tuple[Array, int]:
    """x = integers * 2^exponent, exactly, with one exponent for the whole matrix."""
    line = x.reshape(1, -1)
    up = exact_exponents(line)
    return scaled_integers(line, up).astype(object).reshape(x.shape), -int(up[0])


def real_product(a: Array, b: Array) -> RealProduct:
    """The real-number product of two finite 2-D FP64 arrays and the sums of |a| |b|, without any rounding."""
    sums, magnitudes = real_sums(a, b), real_sums(abs(a), abs(b))
    exponents = -(sums.s[:, np.newaxis] + sums.t)
    lowest = int(exponents.min()) if exponents.size else 0
    up = (exponents - lowest).astype(object)
    return RealProduct(sums.integers << up, magnitudes.integers << up, lowest)


def relative_errors(c: Array, exact: RealProduct) -> npt.NDArray[np.float64]:
    """|c - AB| / (|A| |B|), entry by entry; 0 where c is right, infinite for NaN and infinity.

    The differences are formed exactly, only their ratio is rounded.
    """
    finite = np.isfinite(c)
    integers, exponent = as_integers(np.where(finite, c, 0.0))
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
