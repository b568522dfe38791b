"""csrc/arith/exact/settle.hpp: sums of two numbers rounded once, and what an approximate sum with a bound decides."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ozfp4._testing import exact
from ozfp4.testing import bits_of, round_to_float
from support import ROUNDINGS
from support.dtypes import FORMATS, both_types

all_roundings = pytest.mark.parametrize("rounding", ROUNDINGS)


def rounded(value: Fraction, exponent: int, dtype: type, rounding: str) -> np.ndarray:
    """A dyadic number times 2^exponent."""
    numerator, denominator = value.as_integer_ratio()
    return dtype(round_to_float(numerator, exponent - denominator.bit_length() + 1, dtype, rounding))


def check_pair(x: float, y: float, exponent: int, dtype: type) -> None:
    for rounding in ROUNDINGS:
        actual = exact.round_pair(x, y, exponent, rounding, np.dtype(dtype))
        expected = rounded(Fraction(x) + Fraction(y), exponent, dtype, rounding)
        assert bits_of(actual) == bits_of(expected), (
            f"({x.hex()} + {y.hex()}) 2^{exponent} {rounding}: {actual!r}"
        )


@both_types
def test_pairs_around_every_decision(dtype: type) -> None:
    """The second number from the first one's half of a last place down to the least; below powers of two a half of that."""
    precision = FORMATS[dtype][0]
    for first in (1.0, 1.0 + 2.0**-52, 2.0 - 2.0**-52, 1.0 + 2.0 ** (1 - precision), 1.5 + 2.0**-precision):
        for weight in (*range(-precision - 2, 1 - precision), *range(-120, -52, 3), -128, -129, -500, -1074):
            for second in (2.0**weight, 1.5 * 2.0**weight, 2.0**weight * (1 + 2.0**-52)):
                for sign in (1, -1):
                    check_pair(first, sign * second, 0, dtype)
                    check_pair(-sign * second, -first, 3, dtype)


@both_types
def test_pairs_at_the_ends_of_the_range(dtype: type) -> None:
    precision, highest, least, lowest = FORMATS[dtype]
    for first in (1.0, 1.5, 2.0 - 2.0**-52, 2.0 - 2.0 ** (1 - precision), 1.0 + 2.0 ** (1 - precision)):
        for second in (0.0, 2.0**-53, -(2.0**-53), 2.0**-54, -(2.0**-80), 2.0**-precision, -(2.0**-1074)):
            leading = [
                *range(lowest - 3, lowest + 4),
                least - 1,
                least,
                highest - 1,
                highest,
                highest + 1,
                40_000,
                -40_000,
            ]
            for exponent in leading:
                check_pair(first, second, exponent, dtype)
                check_pair(-first, second, exponent, dtype)


@both_types
def test_pairs_of_zeros_and_of_opposite_numbers(dtype: type) -> None:
    for x, y in [
        (0.0, 0.0),
        (-0.0, -0.0),
        (0.0, -0.0),
        (1.5, -1.5),
        (5e-324, -5e-324),
        (0.0, 5e-324),
        (0.0, -5e-324),
    ]:
        check_pair(x, y, 0, dtype)
        check_pair(x, y, 1000, dtype)


numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(numbers, numbers, st.integers(-3000, 3000), st.sampled_from(list(FORMATS)))
def test_any_pair(x: float, y: float, exponent: int, dtype: type) -> None:
    check_pair(x, y, 0, dtype)
    check_pair(x, y, exponent, dtype)


# ---- The decision ---------------------------------------------------------------------------------------------------


def check_settled(high: float, low: float, bound: float, exponent: int, dtype: type, rounding: str) -> bool:
    """Certain only where both ends agree, and wherever they do with a little more of a bound."""
    is_certain, result = exact.settle(high, low, bound, exponent, rounding, np.dtype(dtype))
    middle, reach = Fraction(high) + Fraction(low), Fraction(bound)
    ends = [bits_of(rounded(middle + side * reach, exponent, dtype, rounding)) for side in (-1, 1)]
    if is_certain:
        assert ends[0] == ends[1] == bits_of(result), f"{high.hex()} {low.hex()} {bound.hex()} {exponent}"
    else:
        more = (
            reach
            + (abs(Fraction(low)) + reach + abs(Fraction(high)) * Fraction(2) ** -52) * Fraction(2) ** -51
        )
        ends = [bits_of(rounded(middle + side * more, exponent, dtype, rounding)) for side in (-1, 1)]
        assert ends[0] != ends[1], f"{high.hex()} {low.hex()} {bound.hex()} {exponent} is decided"
    return bool(is_certain)


@both_types
@all_roundings
def test_near_decisions(dtype: type, rounding: str) -> None:
    """A bound a little below, at and above the distance to where the result changes."""
    precision, highest, least, lowest = FORMATS[dtype]
    outcomes = set()
    for exponent in (0, lowest + 1, least, highest, highest - 1):
        for kept in (1.0, 1.5, 2.0 - 2.0 ** (1 - precision)):
            change = kept + (2.0**-precision if rounding == "nearest" else 0.0)  # float64 rounds it to `kept`
            extra = 2.0**-precision if rounding == "nearest" and change == kept else 0.0
            for distance in (2.0**-60, 2.0**-90, 2.0**-106, 2.0**-200):
                for side in (1, -1):
                    for factor in (0.5, 1 - 2.0**-53, 1.0, 1 + 2.0**-52, 2.0):
                        low = extra + side * distance
                        for sign in (1, -1):
                            outcomes.add(
                                check_settled(
                                    sign * change, sign * low, factor * distance, exponent, dtype, rounding
                                )
                            )
    assert outcomes == {False, True}


@both_types
@all_roundings
def test_an_exact_sum_is_always_certain(dtype: type, rounding: str) -> None:
    for high, low in [
        (0.0, 0.0),
        (1.0, 2.0**-53),
        (1.0, -(2.0**-54)),
        (1.0, 2.0**-900),
        (-1.0, 1.0),
        (2.0**-900, 0.0),
    ]:
        for exponent in (0, 1023, -200, -1074, -2000):
            assert check_settled(high, low, 0.0, exponent, dtype, rounding)


@both_types
@all_roundings
def test_an_unknown_sign_is_never_certain(dtype: type, rounding: str) -> None:
    """Where 0 lies within: the result is +0 or -0, or the smallest numbers, by the sign that is not known."""
    for high, low, bound in [
        (0.0, 0.0, 2.0**-970),
        (2.0**-300, -(2.0**-300), 2.0**-500),
        (2.0**-300, 0.0, 2.0**-299),
    ]:
        for exponent in (0, -3000):
            assert not check_settled(high, low, bound, exponent, dtype, rounding)


magnitudes = st.floats(2.0**-500, 2.0**500)


@given(
    magnitudes,
    st.floats(-1, 1),
    st.integers(0, 120),
    st.integers(-1600, 1600),
    st.sampled_from(list(FORMATS)),
    st.sampled_from(ROUNDINGS),
)
def test_any_sum(high: float, ratio: float, places: int, exponent: int, dtype: type, rounding: str) -> None:
    bound = float(np.ldexp(high, -places))
    if bound < 2.0**-960 or 0 < abs(ratio * high) < 2.0**-900:
        return  # below what a dot product gives
    for sign in (1, -1):
        check_settled(sign * high, ratio * high, bound, exponent, dtype, rounding)
        check_settled(sign * high, ratio * high * 2.0**-53, bound, exponent, dtype, rounding)
