"""integer · 2^exponent rounded once, against Python's integers: csrc/arith/wide/round_wide.hpp to nearest and in every direction,
csrc/cpu/crt/round_pieces.hpp, and csrc/cuda/reconstruct/round_fast.hpp where a result is not rare."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ozfp4._testing import arith, exact
from ozfp4.testing import assert_same_bits, bits_of, round_to_float
from support import ROUNDINGS
from support.dtypes import FORMATS, both_types

# How the words are rounded, and of how many; "scaled" and "fast" are to nearest.
WIDE = [("scaled", words) for words in (2, *arith.word_counts)]
WIDE += [(rounding, words) for rounding in ROUNDINGS for words in (2, 5, 6, 20)]
FAST = [("fast", words) for words in (2, 4, 6)]
# The longest pieces, of five words, and the exponents that they allow.
LONGEST_OF_PIECES = 157
LEAST, MOST = -1022, 1023 - LONGEST_OF_PIECES


def table_of(values: list[int], words: int) -> np.ndarray:
    return np.array([[v >> (32 * i) & 0xFFFFFFFF for i in range(words)] for v in values], np.uint32)


def check(
    values: list[int], exponents: list[int], how: str, words: int, dtype: type = np.float64
) -> np.ndarray:
    """Compares what is not rare; returns the flags."""
    actual, rare = exact.round_words(table_of(values, words), exponents, how, np.dtype(dtype))
    rounding = how if how in ROUNDINGS else "nearest"
    expected = np.array(
        [round_to_float(*x, dtype, rounding) for x in zip(values, exponents, strict=True)], dtype
    )
    is_compared = ~rare.astype(bool) if how == "fast" else True
    for i in np.flatnonzero((bits_of(actual) != bits_of(expected)) & is_compared)[:1]:
        raise AssertionError(f"{values[i]} * 2^{exponents[i]}: {actual[i]!r}, expected {expected[i]!r}")
    return rare


def interesting(longest: int, precision: int) -> list[int]:
    """Around the ends of words and pieces, and every rounding decision: half, half ± 1, a far bit; of both signs."""
    values = {0, 1, 2, 3, 2**longest - 1, 2 ** (longest - 1), 2 ** (longest - 1) + 1}
    for bit in {*range(31, longest, 32), 51, 52, 53, 103, 104, 105, 156}:
        values |= {2**bit - 1, 2**bit, 2**bit + 1, 2**bit + 2 ** (bit // 2), 2**bit - 2 ** (bit // 2)}
    for kept in (2 ** (precision - 1), 2 ** (precision - 1) + 1, 2**precision - 1, 2**precision - 2):
        for drop in {1, 2, 11, 32, 33, 52, 64, 65, 99, 102, longest - precision}:
            if 1 <= drop <= longest - precision:
                half = 2 ** (drop - 1)
                values |= {(kept << drop) + r for r in (0, 1, half - 1, half, half + 1, 2 * half - 1)}
    positive = sorted(v for v in values if v < 2**longest)
    return [*positive, *(-v for v in positive)]


def at_leading(values: list[int], leading: list[int]) -> tuple[list[int], list[int]]:
    """Each value with every exponent that puts its leading bit to one of those places."""
    pairs = [(v, e - max(abs(v).bit_length(), 1) + 1) for v in values for e in leading]
    return [v for v, _ in pairs], [e for _, e in pairs]


@both_types
@pytest.mark.parametrize(("how", "words"), [*WIDE, *FAST])
def test_decisions_in_the_whole_range(how: str, words: int, dtype: type) -> None:
    """Leading bits in the middle of the range, around the smallest numbers and the largest ones, and far beyond both."""
    precision, highest, least, lowest = FORMATS[dtype]
    leading = [0, 1, -90, *range(lowest - 3, lowest + 3), lowest - 64, *range(least - 2, least + 2)]
    leading += [*range(highest - 1, highest + 3), 3000, -3000, 100_000, -100_000]
    values = interesting(32 * words - 1, precision) + ([-(2 ** (32 * words - 1))] if how in ROUNDINGS else [])
    check(*at_leading(values, leading), how, words, dtype)


@pytest.mark.parametrize("words", [words for _, words in FAST])
def test_nothing_in_the_middle_of_the_range_is_rare(words: int) -> None:
    values = interesting(32 * words - 1, 53)
    for exponent in (0, -16 * words, -32 * words):
        assert not check(values, [exponent] * len(values), "fast", words).any()


def test_decisions_of_pieces() -> None:
    values = interesting(LONGEST_OF_PIECES, 53)
    for exponent in (0, LEAST, MOST, -100):
        check(values, [exponent] * len(values), "pieces", 5)


@both_types
def test_halves_of_the_smallest_subnormal(dtype: type) -> None:
    lowest = FORMATS[dtype][3]
    values, shifts = [1, 3, 5, 2**40 - 1, 2**40, 2**40 + 1], [1, 1, 1, 41, 41, 41]
    expected = np.array([0.0, 2.0, 2.0, 0.0, 0.0, 1.0]) * 2.0**lowest
    for sign in (1, -1):
        table, exponents = table_of([sign * v for v in values], 2), [lowest - s for s in shifts]
        found = exact.round_words(table, exponents, "scaled", np.dtype(dtype))[0]
        assert_same_bits(found, (sign * expected).astype(dtype))


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_short_integers_around_the_smallest_float32(rounding: str) -> None:
    """Every value of 8 bits at every place where it can become subnormal, or vanish."""
    values, exponents = np.meshgrid(np.arange(-256, 256), np.arange(-149 - 10, -149 + 3))
    check(values.ravel().tolist(), exponents.ravel().tolist(), rounding, 2, np.float32)


@both_types
@pytest.mark.parametrize(("how", "words"), WIDE[: len(arith.word_counts) + 1])
def test_random_integers(how: str, words: int, dtype: type) -> None:
    rng = np.random.default_rng(words)
    values = [
        int.from_bytes(rng.bytes(4 * words), "little", signed=True) >> int(rng.integers(1, 32 * words))
        for _ in range(2000)
    ]
    check(
        values,
        [int(rng.integers(-1300, 1100)) - v.bit_length() * int(rng.integers(2)) for v in values],
        how,
        words,
        dtype,
    )


def test_random_lengths_of_pieces() -> None:
    rng = np.random.default_rng(11)
    lengths = [length for length in range(1, LONGEST_OF_PIECES + 1) for _ in range(40)]
    values = [int.from_bytes(rng.bytes(20), "little") % 2**n * (-1) ** i for i, n in enumerate(lengths)]
    check(values, rng.integers(LEAST, MOST + 1, len(values)).tolist(), "pieces", 5)


@given(st.sampled_from([*WIDE, *FAST]), st.data())
def test_any_integer(way: tuple[str, int], data: st.DataObject) -> None:
    limit = 2 ** (32 * way[1] - 1)
    v = data.draw(st.integers(-limit + 1, limit - 1)) >> data.draw(st.integers(0, 32 * way[1] - 1))
    exponent = data.draw(st.integers(-1700, 1100))
    check([v], [exponent], *way)
    check([v], [exponent // 8], *way, np.float32)


@given(st.integers(-(2**LONGEST_OF_PIECES) + 1, 2**LONGEST_OF_PIECES - 1), st.integers(LEAST, MOST))
def test_any_integer_in_pieces(value: int, exponent: int) -> None:
    check([value], [exponent], "pieces", 5)
