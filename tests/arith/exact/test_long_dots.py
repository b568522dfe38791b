"""csrc/arith/exact/double_dot.hpp and triple_dot.hpp: high + low is within the bound of the exact sum, whatever the operands."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ozfp4._testing import exact

Generator = np.random.Generator
Operands = tuple[np.ndarray, np.ndarray]


def check(a: np.ndarray, b: np.ndarray, product: str, parts: int) -> tuple[Fraction, Fraction]:
    """Error and bound of two numbers, of which the second is not the smaller one; neither is it of three."""
    wanted = sum((Fraction(float(x)) * Fraction(float(y)) for x, y in zip(a, b, strict=True)), Fraction(0))
    found = []
    for dot in (exact.triple_dot, exact.double_dot):
        high, low, bound, _, exponent = dot(a, b, product, parts)
        scale = Fraction(2) ** exponent
        error = abs((Fraction(high) + Fraction(low)) * scale - wanted)
        assert error <= Fraction(bound) * scale, f"error {float(error / scale)}, bound {bound}"
        found.append((error / scale, Fraction(bound)))
    return found[-1]


def normal(rng: Generator, k: int) -> Operands:
    return rng.standard_normal(k), rng.standard_normal(k)


def of_one_sign(rng: Generator, k: int) -> Operands:
    return rng.random(k), rng.random(k)


def cancelling(rng: Generator, k: int) -> Operands:
    """Every product with its negation, but the first."""
    a, b = rng.standard_normal(k), rng.standard_normal(k)
    order = rng.permutation(2 * k - 1)
    return np.concatenate([a, -a[1:]])[order], np.concatenate([b, b[1:]])[order]


def growing(rng: Generator, k: int) -> Operands:
    """Ever larger terms of either sign: each addition loses bits."""
    return np.ldexp(rng.standard_normal(k), np.arange(k) % 190), np.ldexp(
        rng.standard_normal(k), np.arange(k) % 190
    )


def deep(rng: Generator, k: int) -> Operands:
    """Over the whole range, subnormal numbers included: nothing is safe."""
    spread = rng.integers(-1074, 1023, (2, k))
    return np.ldexp(1 + rng.random(k), spread[0]), np.ldexp(-1 - rng.random(k), spread[1])


def huge(rng: Generator, k: int) -> Operands:
    return np.ldexp(rng.standard_normal(k), 1000), np.ldexp(rng.standard_normal(k), 1010)


def tiny(rng: Generator, k: int) -> Operands:
    return np.ldexp(rng.standard_normal(k), -1050), np.ldexp(rng.standard_normal(k), -1000)


def of_both_ends(rng: Generator, k: int) -> Operands:
    return np.ldexp(rng.standard_normal(k), 1000), np.ldexp(rng.standard_normal(k), -1060)


KINDS = [normal, of_one_sign, cancelling, growing, deep, huge, tiny, of_both_ends]


@pytest.mark.parametrize("product", ["fused", "split"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_error_is_within_the_bound(kind: Callable[[Generator, int], Operands], product: str) -> None:
    rng = np.random.default_rng(5)
    for k in (0, 1, 2, 3, 10, 100, 300):
        for parts in (1, 2, 16):
            check(*kind(rng, k or 1), product, parts) if k else check(
                np.zeros(0), np.zeros(0), product, parts
            )


@pytest.mark.parametrize("kind", [normal, of_one_sign, growing])
def test_the_bound_is_a_good_one(kind: Callable[[Generator, int], Operands]) -> None:
    """Not more than K times what a sum in twice the precision could do."""
    a, b = kind(np.random.default_rng(6), 400)
    _, bound = check(a, b, "fused", 1)
    magnitude = sum(Fraction(abs(x)) * Fraction(abs(y)) for x, y in zip(a.tolist(), b.tolist(), strict=True))
    assert 0 < bound <= 400 * Fraction(2) ** -102 * magnitude


def test_three_numbers_keep_what_two_lose() -> None:
    """The relative error of what is left of sums that cancel to 2^-60 of their terms and less."""
    rng = np.random.default_rng(10)
    for parts in (1, 16):
        x, y = normal(rng, 200)
        order = rng.permutation(401)
        a, b = np.r_[x, -x, 1.0][order], np.r_[y, y, 2.0**-60 / 3][order]
        of_two, of_three = (dot(a, b, "fused", parts) for dot in (exact.double_dot, exact.triple_dot))
        value = abs(of_three[0] + of_three[1])
        assert of_two[2] > 2.0**-54 * value
        assert of_three[2] < 2.0**-70 * value


@pytest.mark.parametrize("product", ["fused", "split"])
def test_nothing_is_lost_where_all_terms_fit(product: str) -> None:
    rng = np.random.default_rng(7)
    integers = rng.integers(-(2**20), 2**20, (2, 200)).astype(np.float64)
    for shift_a, shift_b in [(0, 0), (900, 0), (-1000, 20), (-1060, -1060), (990, 1000)]:
        a, b = np.ldexp(integers[0], shift_a), np.ldexp(integers[1], shift_b)
        _, _, bound, is_safe, _ = exact.double_dot(a, b, product, 4)
        assert is_safe
        assert bound == 0
        check(a, b, product, 4)


def test_products_of_float32_need_no_error() -> None:
    rng = np.random.default_rng(8)
    for shift in (-140, 0, 120):
        a, b = (np.ldexp(rng.standard_normal(200), shift).astype(np.float32) for _ in range(2))
        fused, short = (exact.double_dot(a, b, product, 4) for product in ("fused", "short"))
        assert fused == short
        check(a, b, "short", 4)


def test_halves_find_the_error_that_a_fused_product_finds() -> None:
    rng = np.random.default_rng(9)
    significands = 1 + rng.integers(0, 2**52, (2, 2000)) * 2.0**-52
    signs = rng.choice([-1.0, 1.0], (2, 2000))
    for exponents in ((-400, 400), (-53, 53), (399, 400)):
        a, b = np.ldexp(significands * signs, rng.integers(*exponents, (2, 2000), endpoint=True))
        for i in range(2000):
            x, y = a[i : i + 1], b[i : i + 1]
            assert exact.double_dot(x, y, "split", 1) == exact.double_dot(x, y, "fused", 1)


@pytest.mark.parametrize("line", [0, 1])
def test_safe_is_what_cannot_underflow(line: int) -> None:
    """The border of is_dot_safe, from either side, for each line."""
    ones = np.ones(2)
    for lowest in (-560, -561):
        x = np.array([2.0**400, 2.0**lowest])
        y = ones * 2.0**-400  # neither line is moved
        lines = (x, y) if line == 0 else (y, x)
        assert exact.double_dot(*lines, "fused", 1)[3] == (lowest >= -560)


# Lines of which only two small entries meet: their product, its error or one of them vanishes when the lines are moved.
VANISHING = [
    ([2.0**400, 2.0**-540, 0.0], [0.0, 2.0**-540, 2.0**400]),
    ([2.0**400, -(2.0**-500) * (1 + 2.0**-52), 0.0], [0.0, 2.0**-500 * (1 + 2.0**-52), 2.0**400]),
    ([2.0**1000, 2.0**-500, 0.0], [0.0, -(2.0**-400), 2.0**1000]),
    ([2.0**1000, 5e-324, 0.0], [0.0, 2.0**-400, 2.0**400]),
    ([2.0**1000, 2.0**-1000 * (1 + 2.0**-52), 0.0], [0.0, 1.0, 0.0]),
]


@pytest.mark.parametrize("product", ["fused", "split"])
@pytest.mark.parametrize("lines", VANISHING)
def test_what_vanishes_is_within_the_bound(lines: tuple[list[float], list[float]], product: str) -> None:
    for a, b in (lines, lines[::-1]):
        error, _ = check(np.array(a), np.array(b), product, 2)
        assert error > 0


numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(
    st.lists(st.tuples(numbers, numbers), max_size=12), st.integers(1, 5), st.sampled_from(["fused", "split"])
)
def test_any_operands(pairs: list[tuple[float, float]], parts: int, product: str) -> None:
    a, b = (np.array([pair[i] for pair in pairs]) for i in (0, 1))
    check(a, b, product, parts)
