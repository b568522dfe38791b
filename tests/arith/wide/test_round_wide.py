"""csrc/arith/wide/round_wide.hpp: integer · 2^exponent rounded once, against Python's integers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ozfp4._testing import arith, exact
from ozfp4.testing import assert_same_bits, bits_of, round_to_float

FORMATS = {np.float64: (53, 1023, -1022, -1074), np.float32: (24, 127, -126, -149)}
WORDS = (2, *arith.word_counts)
both_types = pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
all_widths = pytest.mark.parametrize("words", WORDS)


def rounded(table: npt.ArrayLike, exponents: npt.ArrayLike, dtype: type) -> np.ndarray:
    return exact.round_words(table, exponents, "scaled", np.dtype(dtype))[0]


def check(values: list[int], exponents: list[int], words: int, dtype: type) -> None:
    mask = 2 ** (32 * words) - 1
    table = np.array([[(v & mask) >> (32 * i) & 0xFFFFFFFF for i in range(words)] for v in values], np.uint32)
    actual = rounded(table.reshape(-1, words), exponents, dtype)
    expected = np.array([round_to_float(v, e, dtype) for v, e in zip(values, exponents, strict=True)], dtype)
    try:
        assert_same_bits(actual, expected)
    except AssertionError as error:
        wrong = int(np.flatnonzero(bits_of(actual) != bits_of(expected))[0])
        raise AssertionError(f"{values[wrong]} * 2^{exponents[wrong]}: {error}") from None


def both_signs(values: list[int]) -> list[int]:
    return [*values, *(-v for v in values)]


def interesting(words: int, precision: int) -> list[int]:
    """Around every rounding decision: kept bits even, odd or all ones, then half, half ± 1, a far bit."""
    longest = 32 * words - 1
    values = {0, 1, 2, 3, 2**longest - 1, 2 ** (longest - 1), 2 ** (longest - 1) + 1}
    for kept in (2 ** (precision - 1), 2 ** (precision - 1) + 1, 2**precision - 1, 2**precision - 2):
        values.add(kept)
        for drop in {1, 2, 10, 11, 12, 31, 32, 33, 63, 64, 65, longest - precision}:
            if 1 <= drop <= longest - precision:
                half = 2 ** (drop - 1)
                values |= {(kept << drop) + r for r in (0, 1, half - 1, half, half + 1, 2 * half - 1)}
    return sorted(v for v in values if v < 2**longest)


@both_types
@all_widths
def test_normal_results(words: int, dtype: type) -> None:
    values = both_signs(interesting(words, FORMATS[dtype][0]))
    for exponent in (0, 1, -1, -64, -100):
        check(values, [exponent] * len(values), words, dtype)


@both_types
@all_widths
def test_results_around_underflow(words: int, dtype: type) -> None:
    """The leading bit from far below the smallest subnormal number to above the smallest normal one."""
    precision, _, least_normal, lowest = FORMATS[dtype]
    for v in both_signs(interesting(words, precision)):
        length = max(abs(v).bit_length(), 1)
        leading = [*range(lowest - 70, lowest + 4), *range(least_normal - 4, least_normal + 3), -2000]
        check([v] * len(leading), [e - length + 1 for e in leading], words, dtype)


@both_types
@all_widths
def test_results_around_overflow(words: int, dtype: type) -> None:
    precision, highest, _, _ = FORMATS[dtype]
    for v in both_signs(interesting(words, precision)):
        length = max(abs(v).bit_length(), 1)
        leading = [*range(highest - 3, highest + 4), 3000, 100_000]
        check([v] * len(leading), [e - length + 1 for e in leading], words, dtype)


@both_types
def test_halves_of_the_smallest_subnormal(dtype: type) -> None:
    lowest = FORMATS[dtype][3]
    values = [1, 3, 5, 2**40 - 1, 2**40, 2**40 + 1]
    shifts = [1, 1, 1, 41, 41, 41]
    expected = np.array([0.0, 2.0, 2.0, 0.0, 0.0, 1.0]) * 2.0**lowest
    table = np.array([[v & 0xFFFFFFFF, v >> 32] for v in values], np.uint32)
    assert_same_bits(rounded(table, [lowest - s for s in shifts], dtype), expected.astype(dtype))
    negative = np.array([[-v & 0xFFFFFFFF, (-v >> 32) & 0xFFFFFFFF] for v in values], np.uint32)
    assert_same_bits(rounded(negative, [lowest - s for s in shifts], dtype), (-expected).astype(dtype))


@both_types
def test_an_exact_zero_is_plus_zero(dtype: type) -> None:
    for words in WORDS:
        for exponent in (0, 4000, -4000):
            check([0], [exponent], words, dtype)
            assert not np.signbit(rounded(np.zeros((1, words), np.uint32), [exponent], dtype))[0]


@both_types
@all_widths
def test_random_integers(words: int, dtype: type) -> None:
    rng = np.random.default_rng(words)
    values, exponents = [], []
    for _ in range(2000):
        v = int.from_bytes(rng.bytes(4 * words), "little", signed=True) >> int(rng.integers(0, 32 * words))
        values.append(v if abs(v) < 2 ** (32 * words - 1) else 0)
        exponents.append(int(rng.integers(-1300, 1100)) - v.bit_length() * int(rng.integers(0, 2)))
    check(values, exponents, words, dtype)


@given(st.integers(-(2**158), 2**158), st.integers(-1400, 1100))
def test_any_integer(v: int, exponent: int) -> None:
    check([v], [exponent], 5, np.float64)
    check([v], [exponent], 5, np.float32)
