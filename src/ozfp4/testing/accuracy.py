"""Errors against the real-number product A B, in exact integers (paper, section "Accuracy Evaluation")."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
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


def _as_integers(x: Array) -> tuple[Array, int]:
    """x = integers * 2^exponent, exactly, with one exponent for the whole matrix."""
    significand, exponent = np.frexp(x)
    integers = (significand * 2.0**53).astype(np.int64)
    lowest = int(exponent[integers != 0].min()) if integers.any() else 0
    shifts = np.where(integers != 0, exponent - lowest, 0)
    return integers.astype(object) << shifts.astype(object), lowest - 53


def real_product(a: Array, b: Array) -> RealProduct:
    """The real-number product of two finite 2-D FP64 arrays and the sums of |a| |b|, without any rounding."""
    integers_a, exponent_a = _as_integers(a)
    integers_b, exponent_b = _as_integers(b)
    return RealProduct(
        integer_matmul(integers_a, integers_b),
        integer_matmul(abs(integers_a), abs(integers_b)),
        exponent_a + exponent_b,
    )


def relative_errors(c: Array, exact: RealProduct) -> npt.NDArray[np.float64]:
    """|c - AB| / (|A| |B|), entry by entry; 0 where the denominator is 0 and c is right.

    The differences are formed exactly, only their ratio is rounded.
    """
    errors = np.empty(c.shape)
    for index, value in np.ndenumerate(c):
        numerator, denominator = float(value).as_integer_ratio()
        shift = exact.exponent
        unit = Fraction(2) ** shift
        difference = Fraction(numerator, denominator) - exact.product[index] * unit
        scale = exact.magnitude[index] * unit
        if difference == 0:
            errors[index] = 0.0
        else:
            errors[index] = math.inf if scale == 0 else float(abs(difference) / scale)
    return errors


def effective_bits(c: Array, exact: RealProduct) -> float:
    """-log2 of the largest relative error; infinite for an exact result."""
    worst = float(relative_errors(c, exact).max(initial=0.0))
    return math.inf if worst == 0 else -math.log2(worst)
