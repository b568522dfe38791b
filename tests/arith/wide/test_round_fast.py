"""csrc/cuda/reconstruct/round_fast.hpp: the same bits as round_wide.hpp wherever a result is not rare."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ozfp4._testing import exact
from ozfp4.testing import round_to_float

FORMATS = {np.float64: (53, 1023, -1022), np.float32: (24, 127, -126)}
WORDS = (2, 4, 6)
both_types = pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
all_widths = pytest.mark.parametrize("words", WORDS)


def check(values: list[int], exponents: list[int], words: int, dtype: type) -> np.ndarray:
    """Compares what is not rare with the oracle; returns the flags."""
    mask = 2 ** (32 * words) - 1
    table = np.array([[(v & mask) >> (32 * i) & 0xFFFFFFFF for i in range(words)] for v in values], np.uint32)
    actual, rare = exact.round_words(table.reshape(-1, words), exponents, "fast", np.dtype(dtype))
    for value, exponent, x, flag in zip(values, exponents, actual, rare, strict=True):
        if not flag:
            expected = dtype(round_to_float(value, exponent, dtype))
            assert x.tobytes() == expected.tobytes(), f"{value} * 2^{exponent}: {x!r}, expected {expected!r}"
    return rare


def interesting(words: int, precision: int) -> list[int]:
    """Around word boundaries and rounding decisions: half, half +- 1, one bit far below."""
    longest = 32 * words - 1
    values = {0, 1, 2, 3, 2**longest - 1, 2 ** (longest - 1)}
    for bit in range(30, longest, 31):
        for top in range(bit - 2, min(bit + 4, longest)):
            values |= {2**top - 1, 2**top, 2**top + 1, 3 << max(top - 2, 0)}
    for kept in (2 ** (precision - 1), 2 ** (precision - 1) + 1, 2**precision - 1, 2**precision - 2):
        values.add(kept)
        for drop in {1, 2, 10, 11, 12, 31, 32, 33, 63, 64, 65, longest - precision}:
            if 1 <= drop <= longest - precision:
                half = 2 ** (drop - 1)
                values |= {(kept << drop) + r for r in (0, 1, half - 1, half, half + 1, 2 * half - 1)}
    positive = sorted(v for v in values if v < 2**longest)
    return [*positive, *(-v for v in positive)]


@both_types
@all_widths
def test_rounding_decisions(words: int, dtype: type) -> None:
    values = interesting(words, FORMATS[dtype][0])
    for exponent in (0, -32 * words // 2, -32 * words):
        rare = check(values, [exponent] * len(values), words, dtype)
        if dtype is np.float64:
            assert not rare.any()


@both_types
@all_widths
def test_results_near_the_ends_of_the_range_are_rare_or_right(words: int, dtype: type) -> None:
    precision, highest, least = FORMATS[dtype]
    for v in interesting(words, precision)[::3]:
        length = max(abs(v).bit_length(), 1)
        leading = [*range(highest - 3, highest + 3), *range(least - 3, least + 3), 0]
        check([v] * len(leading), [e - length + 1 for e in leading], words, dtype)


@given(st.sampled_from(WORDS), st.data())
def test_any_integer(words: int, data: st.DataObject) -> None:
    limit = 2 ** (32 * words - 1)
    v = data.draw(st.integers(-limit, limit - 1)) >> data.draw(st.integers(0, 32 * words - 1))
    exponent = data.draw(st.integers(-1400, 1100))
    check([v], [exponent], words, np.float64)
    check([v], [exponent // 8], words, np.float32)
