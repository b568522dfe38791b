"""Hard operands are hard: their products lie where they are said to lie."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from ozfp4.testing import Certificate, assert_same_bits, correct_matmul, standard_matmul
from ozfp4.testing._oracle import real_sums
from support import HARD, ROUNDINGS, hard_operands
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
@pytest.mark.parametrize("kind", HARD)
def test_any_extents(kind: str, dtype: type) -> None:
    for m, k, n in ((3, 20, 4), (2, 1, 2), (2, 0, 2), (0, 5, 2), (2, 5, 0), (1, 8, 1), (5, 3, 5)):
        a, b = hard_operands(kind, m, k, n, dtype=dtype)
        assert (a.shape, b.shape, a.dtype, b.dtype) == ((m, k), (k, n), dtype, dtype)
        assert np.isfinite(a).all()
        assert np.isfinite(b).all()


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


@both_types
def test_what_is_left_is_tiny(dtype: type) -> None:
    a, b = hard_operands("cancelled", 20, 60, 1, dtype=dtype)
    sizes = (abs(a) @ abs(b)).ravel().tolist()
    found = [abs(x) / Fraction(size) for x, size in zip(values(a, b), sizes, strict=True)]
    assert sum(0 < x < Fraction(1, 2**40) for x in found) >= 18


def test_single_products_are_near_ties() -> None:
    a, b = hard_operands("single-products", 30, 1, 30)
    near = 0
    for i in range(30):
        product = abs(int(a[i, 0])) * abs(int(b[0, i]))
        drop = product.bit_length() - 53
        near += drop > 0 and abs(product % (1 << drop) - (1 << (drop - 1))) <= 3
    assert near >= 20


@pytest.mark.parametrize("kind", HARD)
def test_the_references_agree(kind: str) -> None:
    """standard_matmul gives the correctly rounded product where no entry was rounded to an integer."""
    a, b = hard_operands(kind, 6, 40, 5)
    c, found = standard_matmul(a, b)
    settled = found == Certificate.EXACT
    assert_same_bits(c[settled], correct_matmul(a, b)[settled], kind)
