"""csrc/cpu/crt/round_pieces.hpp against rounding in Python's integers: every decision, every length, the ends of its range."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ozfp4._testing import exact
from ozfp4.testing import round_to_float

LONGEST = 157
LEAST, MOST = -1022, 1023 - LONGEST


def check(values: list[int], exponents: list[int]) -> None:
    mask = 2**160 - 1
    words = np.array([[(v & mask) >> (32 * i) & 0xFFFFFFFF for i in range(5)] for v in values], np.uint32)
    actual, _ = exact.round_words(words, exponents, "pieces", np.dtype(np.float64))
    for value, exponent, x in zip(values, exponents, actual, strict=True):
        expected = np.float64(round_to_float(value, exponent, np.float64))
        assert x.tobytes() == expected.tobytes(), f"{value} * 2^{exponent}: {x!r}, expected {expected!r}"


def interesting() -> list[int]:
    """Around the borders of the pieces and of the rounding: half, half +- 1, one bit far below."""
    values = {0, 1, 2, 3, 2**LONGEST - 1, 2 ** (LONGEST - 1)}
    for bit in (51, 52, 53, 64, 103, 104, 105, 128, 156):
        values |= {2**bit - 1, 2**bit, 2**bit + 1, 2**bit - 2**51, 2**bit + 2**51}
    for kept in (2**52, 2**52 + 1, 2**53 - 1, 2**53 - 2, 0x15555555555555):
        for drop in (1, 2, 10, 50, 51, 52, 53, 54, 98, 99, 100, 101, 102, 103, 104):
            half = 2 ** (drop - 1)
            values |= {(kept << drop) + r for r in (0, 1, half - 1, half, half + 1, 2 * half - 1)}
            for below in range(0, drop - 1, 7):
                values |= {(kept << drop) + half + 2**below, (kept << drop) + half - 2**below}
    positive = sorted(v for v in values if v < 2**LONGEST)
    return [*positive, *(-v for v in positive)]


def test_rounding_decisions() -> None:
    values = interesting()
    for exponent in (0, LEAST, MOST, -100):
        check(values, [exponent] * len(values))


def test_random_lengths() -> None:
    rng = np.random.default_rng(11)
    values = [
        int.from_bytes(rng.bytes(20), "little") % 2**length * sign
        for length in range(1, LONGEST + 1)
        for sign in (1, -1) * 20
    ]
    check(values, [int(e) for e in rng.integers(LEAST, MOST + 1, len(values))])


@given(st.integers(-(2**LONGEST) + 1, 2**LONGEST - 1), st.integers(LEAST, MOST))
def test_any_value(value: int, exponent: int) -> None:
    check([value], [exponent])
