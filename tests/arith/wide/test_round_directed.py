"""csrc/arith/wide/round_wide.hpp in every direction: integer · 2^exponent rounded once, against Python's integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ozfp4._testing import exact
from ozfp4.testing import assert_same_bits, bits_of, round_to_float
from support import ROUNDINGS

FORMATS = {np.float64: (53, 1023, -1022, -1074), np.float32: (24, 127, -126, -149)}
WORDS = (2, 5, 6, 20)
both_types = pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
all_roundings = pytest.mark.parametrize("rounding", ROUNDINGS)


def check(values: list[int], exponents: list[int], words: int, dtype: type, rounding: str) -> None:
    mask = 2 ** (32 * words) - 1
    table = np.array([[(v & mask) >> (32 * i) & 0xFFFFFFFF for i in range(words)] for v in values], np.uint32)
    actual, _ = exact.round_words(table, exponents, rounding, np.dtype(dtype))
    expected = np.array(
        [round_to_float(v, e, dtype, rounding) for v, e in zip(values, exponents, strict=True)], dtype
    )
    wrong = np.flatnonzero(bits_of(actual) != bits_of(expected))
    assert not wrong.size, (
        f"{values[wrong[0]]} * 2^{exponents[wrong[0]]}: {actual[wrong[0]]!r}, expected {expected[wrong[0]]!r}"
    )
    if rounding == "nearest":
        assert_same_bits(actual, exact.round_words(table, exponents, "scaled", np.dtype(dtype))[0])


def interesting(words: int, precision: int) -> list[int]:
    """Around every rounding decision: kept bits even, odd or all ones, then nothing, one far bit, half, half +- 1."""
    longest = 32 * words - 1
    values = {0, 1, 2, 3, 2**longest - 1, 2 ** (longest - 1), 2 ** (longest - 1) + 1}
    for kept in (2 ** (precision - 1), 2 ** (precision - 1) + 1, 2**precision - 1):
        values.add(kept)
        for drop in {1, 2, 11, 32, 33, 64, longest - precision}:
            if 1 <= drop <= longest - precision:
                half = 2 ** (drop - 1)
                values |= {(kept << drop) + r for r in (0, 1, half - 1, half, half + 1, 2 * half - 1)}
    positive = sorted(v for v in values if v < 2**longest)
    return [*positive, *(-v for v in positive), -(2**longest)]


@both_types
@all_roundings
@pytest.mark.parametrize("words", WORDS)
def test_every_decision_in_the_whole_range(words: int, rounding: str, dtype: type) -> None:
    """Leading bits in the middle of the range, around the smallest numbers and the largest ones, and far beyond both."""
    precision, highest, least, lowest = FORMATS[dtype]
    leading = [0, 1, -90, *range(lowest - 3, lowest + 3), lowest - 64, least - 1, least, least + 1]
    leading += [*range(highest - 1, highest + 3), 3000, -3000, 100_000, -100_000]
    values, exponents = [], []
    for v in interesting(words, precision):
        values += [v] * len(leading)
        exponents += [e - max(abs(v).bit_length(), 1) + 1 for e in leading]
    check(values, exponents, words, dtype, rounding)


@all_roundings
def test_all_short_integers_around_the_smallest_float32(rounding: str) -> None:
    """Every value of 8 bits at every place where it can become subnormal, or vanish."""
    values, exponents = np.meshgrid(np.arange(-256, 256), np.arange(-149 - 10, -149 + 3))
    check(values.ravel().tolist(), exponents.ravel().tolist(), 2, np.float32, rounding)


@given(st.sampled_from(WORDS), st.sampled_from(ROUNDINGS), st.data())
def test_any_integer(words: int, rounding: str, data: st.DataObject) -> None:
    limit = 2 ** (32 * words - 1)
    v = data.draw(st.integers(-limit, limit - 1)) >> data.draw(st.integers(0, 32 * words - 1))
    exponent = data.draw(st.integers(-1700, 1100))
    check([v], [exponent], words, np.float64, rounding)
    check([v], [exponent // 8], words, np.float32, rounding)
