"""The reference of the real product, rounded once, against fractions, mpmath and all small operands."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ozfp4.testing import assert_same_bits, correct_matmul, round_to_float, scaled_integers
from ozfp4.testing._oracle import exact_exponents, real_sums, special_value
from support import KINDS, ROUNDINGS, STACKS, operands, stack_operands
from support.dtypes import both_types
from support.errors import real_product

FINITE = [kind for kind in KINDS if kind not in ("specials", "infinities")]


def neighbours(x: Fraction, dtype: type) -> tuple[float, float]:
    """The largest float not above x and the smallest not below it, infinities included, by comparing."""
    below, above = dtype(-math.inf), dtype(math.inf)
    largest = float(np.finfo(dtype).max)
    try:
        start = dtype(max(min(float(x), largest), -largest))
    except OverflowError:
        start = dtype(largest if x > 0 else -largest)
    if Fraction(float(start)) <= x:
        below = start
        while np.isfinite(step := np.nextafter(below, dtype(math.inf))) and Fraction(float(step)) <= x:
            below = step
        above = below if Fraction(float(below)) == x else np.nextafter(below, dtype(math.inf))
    else:
        above = start
        while np.isfinite(step := np.nextafter(above, dtype(-math.inf))) and Fraction(float(step)) >= x:
            above = step
        below = above if Fraction(float(above)) == x else np.nextafter(above, dtype(-math.inf))
    return float(below), float(above)


def directed(x: Fraction, dtype: type, rounding: str) -> float:
    """x rounded down, up or to zero, from the two floats around it."""
    below, above = neighbours(x, dtype)
    if x == 0:
        return -0.0 if rounding == "down" else 0.0
    value = below if rounding == "down" or (rounding == "zero" and x > 0) else above
    return math.copysign(value, 1 if x > 0 else -1)


@pytest.mark.filterwarnings("ignore:overflow encountered in:RuntimeWarning")
@pytest.mark.parametrize("rounding", ["down", "up", "zero"])
@given(integer=st.integers(-(2**120), 2**120), exponent=st.integers(-1250, 1050))
def test_directed_rounding(rounding: str, integer: int, exponent: int) -> None:
    for dtype in (np.float64, np.float32):
        x = Fraction(integer) * Fraction(2) ** exponent
        value = round_to_float(integer, exponent, dtype, rounding)
        expected = directed(x, dtype, rounding)
        assert (value, math.copysign(1, value)) == (expected, math.copysign(1, expected))


def test_directed_rounding_at_the_ends() -> None:
    top, tiny = float(np.finfo(np.float64).max), 2.0**-1074
    beyond = {"nearest": math.inf, "down": top, "up": math.inf, "zero": top}
    little = {"nearest": 0.0, "down": 0.0, "up": tiny, "zero": 0.0}
    for rounding in ROUNDINGS:
        mirrored = {"down": "up", "up": "down"}.get(rounding, rounding)
        assert round_to_float(1, 1024, rounding=rounding) == beyond[rounding]
        assert round_to_float(-1, 1024, rounding=mirrored) == -beyond[rounding]
        assert round_to_float(1, -1080, rounding=rounding) == little[rounding]
        assert round_to_float(-1, -1080, rounding=mirrored) == -little[rounding]
        for sign in (1, -1):  # what is not zero keeps its sign
            assert math.copysign(1, round_to_float(sign, -1080, rounding=rounding)) == sign
        zero = round_to_float(0, 0, rounding=rounding)
        assert math.copysign(1, zero) == (-1 if rounding == "down" else 1)
        assert round_to_float(2**53 - 1, 971, rounding=rounding) == top
    # One bit beyond the largest number already overflows upwards, half an ulp to the nearest.
    just = (2**55 - 3, 969)
    assert [round_to_float(*just, rounding=r) for r in ROUNDINGS] == [top, top, math.inf, top]
    with pytest.raises(
        ValueError, match=r"rounding: 'even' is unknown; allowed are 'nearest', 'down', 'up', 'zero'"
    ):
        round_to_float(1, 0, rounding="even")


def fractions_of(a: np.ndarray, b: np.ndarray) -> list[list[Fraction]]:
    rows, columns = a.astype(np.float64).tolist(), b.T.astype(np.float64).tolist()
    return [
        [sum((Fraction(p) * Fraction(q) for p, q in zip(x, y, strict=True)), Fraction(0)) for y in columns]
        for x in rows
    ]


@both_types
@pytest.mark.parametrize("kind", FINITE)
def test_it_is_the_real_product_rounded(kind: str, dtype: type) -> None:
    a, b = operands(kind, 5, 7, 4, dtype=dtype)
    exact = fractions_of(a, b)
    for rounding in ROUNDINGS:
        expected = np.empty((5, 4), dtype)
        for i, j in np.ndindex(5, 4):
            p, q = exact[i][j].as_integer_ratio()  # q is a power of two
            expected[i, j] = round_to_float(p, 1 - q.bit_length(), dtype, rounding)
        assert_same_bits(correct_matmul(a, b, rounding), expected, (kind, rounding))


@pytest.mark.filterwarnings("ignore:overflow encountered in:RuntimeWarning")
@pytest.mark.parametrize(
    "kind", ["normal", "phi32", "whole-range", "tiny-results", "final-ties", "cancelling"]
)
def test_it_agrees_with_mpmath(kind: str) -> None:
    """mpmath adds and rounds independently; it has no subnormal numbers and no overflow."""
    a, b = operands(kind, 4, 9, 4, seed=3)
    directions = {"nearest": "n", "down": "f", "up": "c", "zero": "d"}
    for rounding, direction in directions.items():
        c = correct_matmul(a, b, rounding)
        for i, j in np.ndindex(4, 4):
            with mpmath.workprec(5000):
                exact = mpmath.fsum(
                    mpmath.mpf(p) * mpmath.mpf(q)
                    for p, q in zip(a[i].tolist(), b[:, j].tolist(), strict=True)
                )
            if 2.0**-1022 < abs(c[i, j]) < 2.0**1023:
                rounded = mpmath.fsub(exact, 0, prec=53, rounding=direction)
                assert mpmath.mpf(float(c[i, j])) == rounded


SMALL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    1.5,
    -1.5,
    1 + 2.0**-52,
    2.0**-53,
    -(2.0**-53),
    2.0**-54,
    3 * 2.0**-54,
    -(2.0**-105),
]


@both_types
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_all_sums_of_three_small_operands(rounding: str, dtype: type) -> None:
    """Every sum of three of a few numbers: ties, halves of ties, cancellation to nothing and to a last bit."""
    scale = 2.0 ** (53 - np.finfo(dtype).nmant - 1)
    numbers = [x if abs(x) >= 1 or x == 0 else x * scale for x in SMALL]
    numbers = [float(dtype(x)) for x in numbers]
    rows = np.array(list(product(numbers, repeat=3)), dtype)
    c = correct_matmul(rows, np.ones((3, 1), dtype), rounding)
    for row, value in zip(rows.tolist(), c[:, 0], strict=True):
        p, q = sum(map(Fraction, row)).as_integer_ratio()
        expected = round_to_float(p, 1 - q.bit_length(), dtype, rounding)
        assert (float(value), math.copysign(1, value)) == (expected, math.copysign(1, expected))


def test_sums_are_those_of_fractions_by_both_engines() -> None:
    pytest.importorskip("flint")
    rng = np.random.default_rng(5)
    for phi in (0, 40, 150, 700):
        a, b = (
            np.ldexp(rng.standard_normal(shape), rng.integers(-phi // 2, phi // 2 + 1, shape))
            for shape in ((3, 50), (50, 4))
        )
        exact = real_product(a, b)
        unit = Fraction(2) ** exact.exponent
        products, sizes = fractions_of(a, b), fractions_of(abs(a), abs(b))
        for engine in ("flint", "object"):
            sums = real_sums(a, b, engine)
            for i, j in np.ndindex(3, 4):
                assert sums.integers[i, j] * Fraction(2) ** sums.exponent(i, j) == products[i][j]
                assert exact.product[i, j] * unit == products[i][j]
                assert exact.magnitude[i, j] * unit == sizes[i][j]
        assert_same_bits(correct_matmul(a, b, engine="object"), correct_matmul(a, b, engine="flint"), phi)


@both_types
def test_lines_are_integers_exactly(dtype: type) -> None:
    a, _ = operands("whole-range", 6, 11, 1, dtype=dtype)
    a[2] = 0
    exponents = exact_exponents(a)
    integers = scaled_integers(a, exponents)
    for i, j in np.ndindex(*a.shape):
        assert Fraction(int(integers[i, j])) * Fraction(2) ** -int(exponents[i]) == Fraction(float(a[i, j]))


@both_types
@pytest.mark.parametrize("kind", ["specials", "infinities"])
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_special_values_are_ieee(kind: str, dtype: type) -> None:
    a, b = operands(kind, 12, 8, 12, dtype=dtype)
    finite = np.logical_and.outer(np.isfinite(a).all(axis=1), np.isfinite(b).all(axis=0))
    ieee = np.matmul(a, b)
    for rounding in ROUNDINGS:
        c = correct_matmul(a, b, rounding)
        assert_same_bits(c[~finite], ieee[~finite], rounding)
        assert_same_bits(
            c[finite],
            correct_matmul(np.where(np.isfinite(a), a, 0), np.where(np.isfinite(b), b, 0), rounding)[finite],
        )
    assert special_value(np.array([math.inf, 1.0]), np.array([-2.0, 3.0])) == -math.inf


@both_types
def test_shapes(dtype: type) -> None:
    for shapes in STACKS:
        a, b = stack_operands(shapes, dtype=dtype)
        expected = np.matmul(a, b)
        c = correct_matmul(a, b)
        assert (c.shape, c.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(c, expected, rtol=1e-3, atol=float(np.abs(expected).max(initial=0)) * 1e-5)
    assert correct_matmul(np.zeros(3, np.float32), np.zeros(3)).dtype == np.float64
    with pytest.raises(ValueError, match="inner dimensions differ"):
        correct_matmul(np.zeros((2, 3)), np.zeros((2, 3)))
    with pytest.raises(TypeError, match="dtypes"):
        correct_matmul(np.zeros((2, 3), np.int64), np.zeros((3, 2)))
