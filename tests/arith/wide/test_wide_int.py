"""csrc/arith/wide/wide_int.hpp at every width that is compiled, against Python's integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ozfp4._testing import arith

WORDS = tuple(arith.word_counts)
all_widths = pytest.mark.parametrize("words", WORDS)
FACTORS = (1, 2, 3, 255, 2**23 - 15, 2**31, 2**32 - 1)


def to_words(x: int, words: int) -> np.ndarray:
    return np.array([(x >> (32 * i)) & 0xFFFFFFFF for i in range(words)], np.uint32)


def unsigned(words: np.ndarray) -> int:
    return sum(int(word) << (32 * i) for i, word in enumerate(words))


def signed(words: np.ndarray) -> int:
    x = unsigned(words)
    return x - (1 << (32 * len(words))) if x >> (32 * len(words) - 1) else x


def check(x: int, y: int, factor: int, words: int) -> None:
    """x and y in [-2^(32 words - 1), 2^(32 words - 1))."""
    modulus = 1 << (32 * words)
    found = arith.wide(to_words(x, words), to_words(y, words), factor)
    assert unsigned(found["add"]) == (x + y) % modulus
    assert unsigned(found["sub"]) == (x - y) % modulus
    assert unsigned(found["negate"]) == -x % modulus
    assert unsigned(found["mul_small"]) == x * factor % modulus
    assert unsigned(found["magnitude"]) == abs(x)
    assert signed(found["masked"]) == (y if x < 0 else 0)
    assert found["is_negative"] == (x < 0)
    pattern = x % modulus
    assert (unsigned(found["quotient"]), found["remainder"]) == divmod(pattern, factor)
    assert found["bit_length"] == pattern.bit_length()
    assert abs(int(found["to_double"]) - pattern) <= pattern >> 52
    assert len(found["longer"]) > words > len(found["shorter"])
    assert signed(found["longer"]) == x
    assert unsigned(found["shorter"]) == x % (1 << (32 * len(found["shorter"])))


def test_lengths_reach_640_bits() -> None:
    assert list(WORDS) == sorted(WORDS)
    assert 32 * WORDS[-1] >= 640


@all_widths
def test_carries_run_through_every_word(words: int) -> None:
    top = 1 << (32 * words - 1)
    ends = [0, 1, -1, top - 1, -top, -top + 1]
    for bit in range(31, 32 * words - 1, 32):
        ends += [(1 << bit) - 1, 1 << bit, (1 << bit + 1) - 1, -(1 << bit), -(1 << bit + 1)]
    ends = [x for x in ends if -top <= x < top]
    for i, x in enumerate(ends):
        for y in ends:
            check(x, y, FACTORS[i % len(FACTORS)], words)


@given(st.sampled_from(WORDS), st.sampled_from(FACTORS), st.data())
def test_any_integers(words: int, factor: int, data: st.DataObject) -> None:
    top = 1 << (32 * words - 1)
    drop = st.integers(0, 32 * words - 1)
    x, y = (data.draw(st.integers(-top, top - 1)) >> data.draw(drop) for _ in range(2))
    check(x, y, factor, words)


def test_what_is_not_compiled_is_refused() -> None:
    with pytest.raises(RuntimeError, match="7 words"):
        arith.wide(to_words(0, 7), to_words(0, 7), 1)
