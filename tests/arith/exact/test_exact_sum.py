"""csrc/arith/exact/exact_sum.hpp: every bit of every product, in digits that need no carry before the end."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ozfp4._testing import exact
from ozfp4.testing import bits_of, round_to_float
from support import ROUNDINGS
from support.dtypes import both_types

LOWEST = -2148
DIGITS = 133


def total(digits: list[int]) -> int:
    return sum(d << (32 * i) for i, d in enumerate(digits))


def check_digits(digits: list[int], dtype: type) -> None:
    for rounding in ROUNDINGS:
        actual = exact.round_digits(np.array(digits, np.int64), rounding, np.dtype(dtype))
        expected = dtype(round_to_float(total(digits), LOWEST, dtype, rounding))
        assert bits_of(actual) == bits_of(expected), rounding


def check(a: np.ndarray, b: np.ndarray, dtype: type = np.float64) -> None:
    wanted = sum((Fraction(float(x)) * Fraction(float(y)) for x, y in zip(a, b, strict=True)), Fraction(0))
    for rounding in ROUNDINGS:
        actual, digits = exact.exact(a, b, rounding, np.dtype(dtype))
        fixed = total(digits.tolist())
        assert Fraction(fixed, 2**-LOWEST) == wanted
        assert bits_of(actual) == bits_of(dtype(round_to_float(fixed, LOWEST, dtype, rounding)))


EXTREMES = [
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    2.0**-1022,
    -(2.0**-1022 - 5e-324),
    1.0,
    -1.0,
    1 + 2.0**-52,
    -(2 - 2.0**-52),
]
EXTREMES += [np.finfo(np.float64).max, -np.finfo(np.float64).max, 2.0**1023, 2.0**-537, -(2.0**-538) * 1.5]


def test_sums_of_two_products_of_extremes() -> None:
    n = len(EXTREMES)
    rng = np.random.default_rng(1)
    for i in range(n):
        for j in range(n):
            check(np.array([EXTREMES[i]]), np.array([EXTREMES[j]]))
            k, m = rng.integers(0, n, 2)
            check(np.array([EXTREMES[i], EXTREMES[k]]), np.array([EXTREMES[j], EXTREMES[m]]))


def test_products_at_every_place() -> None:
    """All ones times all ones, which fill 106 bits, from the lowest place to the highest."""
    ones = float(2**53 - 1)
    for place in range(0, 4091, 5):
        first = max(-1074, place + LOWEST - 971)
        a, b = np.array([np.ldexp(ones, first)]), np.array([np.ldexp(-ones, place + LOWEST - first)])
        _, digits = exact.exact(a, b, "nearest", np.dtype(np.float64))
        assert total(digits.tolist()) == -((2**53 - 1) ** 2 << place)


@both_types
def test_carries_through_every_digit(dtype: type) -> None:
    """Digits as large as 2^31 products can make them, of one sign or of both, and the sums that 1 more or less would change."""
    most = 2**63 - 2**31
    for count in (1, 2, 33, 65, 70, DIGITS - 1):
        for value in (most, -most):
            check_digits([value] * count + [0] * (DIGITS - count), dtype)
            check_digits([value, -value] * (count // 2) + [0] * (DIGITS - count // 2 * 2), dtype)
            check_digits([value] * (count - 1) + [1 if value < 0 else -1] + [0] * (DIGITS - count), dtype)
        borrow = [-1] + [0] * (DIGITS - 1)
        borrow[count] = 1
        check_digits(borrow, dtype)
        check_digits([-d for d in borrow], dtype)


@both_types
def test_rounding_at_every_digit(dtype: type) -> None:
    """Ties, and numbers that differ from them by one lowest bit, for every position of the leading digit."""
    precision = 53 if dtype is np.float64 else 24
    for digit in range(DIGITS - 1):
        for bit in (0, 13, 31):
            length = 32 * digit + bit + 1
            for kept in (2**precision - 1, 2 ** (precision - 1)):
                if length <= precision:
                    continue
                tie = (2 * kept + 1) << (length - precision - 1)
                for value in (tie, tie - 1, tie + 1, -tie, -tie + 1, -tie - 1):
                    digits = [(value >> (32 * i)) & 0xFFFFFFFF for i in range(DIGITS - 1)]
                    digits.append(value >> (32 * (DIGITS - 1)))
                    assert total(digits) == value
                    if (
                        digit % 8 == bit % 8
                        or 30 <= digit <= 36
                        or digit in (62, 63, 66, 67, 68, 95, 96, 100)
                    ):
                        check_digits(digits, dtype)


def test_no_terms() -> None:
    check(np.zeros(0), np.zeros(0))
    check(np.zeros(5), -np.ones(5))
    check(np.array([1.0, 1.0]), np.array([1e-300, -1e-300]))


numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(numbers, numbers), max_size=8))
def test_any_products(pairs: list[tuple[float, float]]) -> None:
    a, b = (np.array([pair[i] for pair in pairs]) for i in (0, 1))
    check(a, b)
    check(a, b, np.float32)


def test_mixed_types() -> None:
    rng = np.random.default_rng(3)
    a = rng.standard_normal(50).astype(np.float32)
    a[:4] = [1e-45, -3e-39, 3.4e38, -0.0]
    b = np.ldexp(rng.standard_normal(50), rng.integers(-1070, 1020, 50))
    for x, y in [(a, b), (b, a), (a, a[::-1])]:
        for dtype in (np.float64, np.float32):
            check(x, y, dtype)
