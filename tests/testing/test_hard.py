"""Hard operands are hard: their products lie where the docstrings place them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from ozfp4.testing import correct_matmul
from ozfp4.testing._oracle import real_sums
from support import ROUNDINGS, hard_operands
from support.dtypes import both_types


def values(a: np.ndarray, b: np.ndarray) -> list[Fraction]:
    """The real products with the first column."""
    sums = real_sums(a, b[:, :1])
    return [
        Fraction(int(sums.integers[i, 0])) * Fraction(2) ** sums.exponent(i, 0) for i in range(a.shape[0])
    ]


def last_place(x: Fraction, dtype: type) -> Fraction:
    """The unit in the last place of floats of that size."""
    info = np.finfo(dtype)
    ratio = abs(x)
    leading = ratio.numerator.bit_length() - ratio.denominator.bit_length()
    leading += (Fraction(2) ** leading <= ratio) - 1 if Fraction(2) ** leading > ratio else 0
    return Fraction(2) ** max(leading - int(info.nmant), int(info.minexp) - int(info.nmant))


@both_types
@pytest.mark.parametrize("kind", ["near-ties", "near-floats", "subnormal-ties"])
def test_within_a_tiny_remainder(kind: str, dtype: type) -> None:
    a, b = hard_operands(kind, 40, 100, 1, dtype=dtype)
    exactly = beside = 0
    for x in values(a, b):
        unit = last_place(x, dtype) / 2 if x else Fraction(1)
        rest = abs(x / unit - round(x / unit))
        assert rest <= Fraction(1, 2)
        exactly += rest == 0
        beside += 0 < rest < Fraction(1, 2**9)
    assert exactly >= 5
    assert beside >= 10


@both_types
def test_overflow_is_near(dtype: type) -> None:
    a, b = hard_operands("overflow-thresholds", 60, 50, 1, dtype=dtype)
    top = Fraction(float(np.finfo(dtype).max))
    unit = last_place(top, dtype)
    assert all(abs(abs(x) - top) <= 3 * unit for x in values(a, b))
    seen = {rounding: set(np.isinf(correct_matmul(a, b, rounding)).ravel()) for rounding in ROUNDINGS}
    assert seen == {"nearest": {True, False}, "down": {True, False}, "up": {True, False}, "zero": {False}}
