"""csrc/arith/scale_entry.hpp: round(x 2^shift), ties to even, against fractions, at every shift in range."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ozfp4._testing import arith

TINY = 5e-324
LARGEST = 1.7976931348623157e308


def rounded(x: float, shift: int) -> int:
    return round(Fraction(x) * Fraction(2) ** shift)  # Fraction rounds ties to even


def exponent(x: float) -> int:
    return math.frexp(x)[1] - 1


def numbers(dtype: type) -> list[float]:
    info = np.finfo(dtype)
    precision = info.nmant + 1
    rng = np.random.default_rng(2)
    significands = [
        1.0,
        1.5,
        1.0 + 2.0 ** (1 - precision),
        2.0 - 2.0 ** (1 - precision),
        1.0 + 2.0**-5,
        *(1.0 + rng.integers(0, 2 ** (precision - 1), 6) * 2.0 ** (1 - precision)),
    ]
    scales = [0, 1, -1, int(info.minexp), int(info.maxexp) - 1, 100, -100]
    lowest = float(info.smallest_subnormal)
    subnormal = [lowest, 2 * lowest, 3 * lowest, float(info.tiny) - lowest, float(info.tiny) / 2 + lowest]
    return [math.ldexp(s, e) for s in significands for e in scales] + subnormal


@pytest.mark.parametrize(
    ("function", "dtype"), [(arith.scaled_integer64, np.float64), (arith.scaled_integer32, np.float32)]
)
def test_every_shift(function, dtype: type) -> None:
    """From the largest shift, where the entry is itself its row's largest, to far below the last bit."""
    for x in numbers(dtype):
        shifts = np.arange(52 - exponent(x), -70 - exponent(x), -1, dtype=np.int32)
        assert function(dtype(x), shifts).tolist() == [rounded(x, int(s)) for s in shifts], x
        assert function(dtype(-x), shifts).tolist() == [-rounded(x, int(s)) for s in shifts], x


@pytest.mark.parametrize(
    ("function", "dtype"), [(arith.scaled_integer64, np.float64), (arith.scaled_integer32, np.float32)]
)
def test_the_smallest_entries_beside_the_largest(function, dtype: type) -> None:
    info = np.finfo(dtype)
    for bits in (2, 24, 53):
        shift = bits - int(info.maxexp)
        assert function(info.smallest_subnormal, shift) == 0
        assert function(info.tiny, shift) == 0
        assert function(info.max, shift) == rounded(float(info.max), shift)
        assert function(dtype(0.0), shift) == function(dtype(-0.0), shift) == 0


def test_ties_go_to_the_even_integer() -> None:
    halves = np.arange(-21, 22) / 2.0
    assert arith.scaled_integer64(halves, 0).tolist() == [round(h) for h in halves.tolist()]
    assert arith.scaled_integer64(2.0**53 - 1, -1) == 2**52
    assert arith.scaled_integer64(2.0**53 - 3, -1) == 2**52 - 2


def test_rounding_up_reaches_the_capacity() -> None:
    assert arith.scaled_integer64(2.0 - 2.0**-52, 51) == 2**52
    assert arith.scaled_integer64(LARGEST, 1 - 1023) == 4
    assert arith.scaled_integer64(TINY, 52 + 1074) == 2**52


@given(st.floats(allow_nan=False, allow_infinity=False).filter(bool), st.integers(2, 53), st.integers(0, 80))
def test_any_number_in_any_row(x: float, bits: int, below: int) -> None:
    shift = bits - 1 - exponent(x) - below
    assert arith.scaled_integer64(x, shift) == rounded(x, shift)


@given(
    st.floats(allow_nan=False, allow_infinity=False, width=32).filter(bool),
    st.integers(2, 53),
    st.integers(0, 80),
)
def test_any_single_in_any_row(x: float, bits: int, below: int) -> None:
    shift = bits - 1 - exponent(x) - below
    assert arith.scaled_integer32(x, shift) == rounded(x, shift)
