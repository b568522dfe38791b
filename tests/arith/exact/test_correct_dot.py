"""Correctly rounded sums of products (csrc/cpu/repair/correct_dot.hpp), against sums of Python's integers, bit for bit."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ozfp4._testing import exact
from ozfp4.testing import bits_of, round_to_float
from support import ROUNDINGS
from support.dtypes import FORMATS

Array = np.ndarray
Generator = np.random.Generator

UNIT = -2148  # weight of the lowest bit of a product
TYPES = [np.float64, np.float32]
OPERANDS = list(product(TYPES, TYPES))
all_results = pytest.mark.parametrize("dtype", TYPES, ids=["to64", "to32"])
all_operands = pytest.mark.parametrize("types", OPERANDS, ids=["64-64", "64-32", "32-64", "32-32"])


def fixed(x: float) -> int:
    """x 2^1074"""
    numerator, denominator = x.as_integer_ratio()
    return numerator * (2**1074 // denominator)


def exact_sum(a: Array, b: Array) -> int:
    """In units of 2^-2148."""
    return sum(fixed(x) * fixed(y) for x, y in zip(a.tolist(), b.tolist(), strict=True))


def check(a: Array, b: Array, dtype: type) -> set[str]:
    """All roundings; returns what decided them."""
    total = exact_sum(a, b)
    paths = set()
    for rounding in ROUNDINGS:
        actual, path = exact.correct_dot(a, b, rounding, np.dtype(dtype))
        expected = dtype(round_to_float(total, UNIT, dtype, rounding))
        assert bits_of(actual) == bits_of(expected), f"{rounding}, {path}: {actual!r}, expected {expected!r}"
        paths.add(path)
    return paths


def complete(a: Array, b: Array, target: int, rng: Generator) -> tuple[Array, Array]:
    """Further terms, so that the exact sum is target 2^-2148; shuffled. Precondition: what the types can make."""
    precision, highest_a, _, lowest_a = FORMATS[a.dtype.type]
    _, highest_b, _, lowest_b = FORMATS[b.dtype.type]
    rest = target - exact_sum(a, b)
    sign, rest = (1 if rest > 0 else -1), abs(rest)
    more_a, more_b = [], []
    while rest:
        place = (rest & -rest).bit_length() - 1
        chunk = rest >> place & (2**precision - 1)
        rest -= chunk << place
        weight = place + UNIT
        least = max(lowest_b, weight - (highest_a - chunk.bit_length() + 1))
        most = min(highest_b, weight - lowest_a)
        assert least <= most
        second = max(least, min(most, weight // 2))
        first = weight - second
        more_a.append(float(np.ldexp(float(sign * chunk), first)))
        more_b.append(2.0**second)
    order = rng.permutation(a.size + len(more_a))
    whole_a = np.concatenate([a, np.array(more_a, a.dtype)])[order]
    whole_b = np.concatenate([b, np.array(more_b, b.dtype)])[order]
    assert exact_sum(whole_a, whole_b) == target
    return whole_a, whole_b


def lowest_bit(types: tuple[type, type]) -> int:
    """The least product of two numbers, in units of 2^-2148."""
    return 1 << (FORMATS[types[0]][3] + FORMATS[types[1]][3] - UNIT)


def random_line(rng: Generator, k: int, dtype: type, exponent: int, spread: int = 3) -> Array:
    return np.ldexp(rng.uniform(-2, 2, k), exponent + rng.integers(-spread, spread + 1, k)).astype(dtype)


# ---- Near decisions -------------------------------------------------------------------------------------------------


@all_results
@all_operands
def test_ties_and_what_lies_a_least_product_beside_them(types: tuple[type, type], dtype: type) -> None:
    """Normal, subnormal and around the smallest normal number: a tie, a representable number and half the least number."""
    rng = np.random.default_rng(1)
    precision, _, least, lowest = FORMATS[dtype]
    reach = FORMATS[types[0]][3] + FORMATS[types[1]][3]
    beside = lowest_bit(types)
    paths = set()
    for leading in (0, 20, -30, least + 1, least, least - 1, least - 7, lowest + 1, lowest, lowest - 1):
        last = max(leading - precision + 1, lowest)  # weight of the result's last place
        if last - 1 < reach + 2 or (not -230 < leading < 230 and types == (np.float32, np.float32)):
            continue
        top = 1 << max(leading - last, 0)
        for kept in {top, top + 1, 2 * top - 1} if leading >= lowest else {0}:
            for halves in (2 * kept, 2 * kept + 1):
                whole = halves << (last - 1 - UNIT)
                for target in (whole, whole - beside, whole + beside):
                    for sign in (1, -1):
                        half = leading // 2
                        a = random_line(rng, 5, types[0], min(max(half, -100), 100))
                        b = random_line(rng, 5, types[1], min(max(leading - half, -100), 100))
                        paths |= check(*complete(a, b, sign * target, rng), dtype)
    assert paths == {"pairs", "exact"}


# Products of two float32 numbers do not reach the end of float64.
REACHING = [(t, d) for t, d in product(OPERANDS, TYPES) if (t, d) != ((np.float32, np.float32), np.float64)]


@pytest.mark.parametrize(("types", "dtype"), REACHING)
def test_overflow_in_each_direction(types: tuple[type, type], dtype: type) -> None:
    """Around the largest number, the threshold of rounding to nearest, the next power of two, and sums far above it."""
    rng = np.random.default_rng(2)
    precision, highest, _, _ = FORMATS[dtype]
    beside = lowest_bit(types)
    largest = (2**precision - 1) << (highest - precision + 1 - UNIT)
    threshold = (2 ** (precision + 1) - 1) << (highest - precision - UNIT)
    infinite = 1 << (highest + 1 - UNIT)
    for whole in (largest, threshold, infinite, 3 * infinite):
        for target in (whole, whole - beside, whole + beside):
            for sign in (1, -1):
                a = random_line(rng, 4, types[0], min(FORMATS[types[0]][1] - 8, highest // 2))
                b = random_line(rng, 4, types[1], min(FORMATS[types[1]][1] - 8, highest // 2 - 2))
                check(*complete(a, b, sign * target, rng), dtype)


def test_ties_at_many_distances() -> None:
    """From what pairs of numbers decide to what only the exact sum does."""
    rng = np.random.default_rng(3)
    paths = []
    for distance in range(2, 1900, 13):
        tie = (2**53 + 1) << (-53 - UNIT)
        target = tie + (1 if distance % 2 else -1) * (1 << (-53 - distance - UNIT))
        found = check(
            *complete(random_line(rng, 30, np.float64, 0), random_line(rng, 30, np.float64, 0), target, rng),
            np.float64,
        )
        paths.append("exact" in found)
    assert not any(paths[:3])
    assert all(paths[10:])


# ---- Cancellation and spreads ---------------------------------------------------------------------------------------


@all_results
@all_operands
def test_all_but_one_bit_cancels(types: tuple[type, type], dtype: type) -> None:
    rng = np.random.default_rng(4)
    reach = min(FORMATS[types[0]][1], FORMATS[types[1]][1]) - 20
    for place in (
        *range(lowest_bit(types).bit_length() - 1, 2148 + reach, 61),
        lowest_bit(types).bit_length() - 1,
    ):
        for sign in (1, -1):
            a, b = random_line(rng, 9, types[0], 0, reach), random_line(rng, 9, types[1], 0, reach)
            check(*complete(a, b, sign << place, rng), dtype)


@all_results
@all_operands
def test_all_cancels(types: tuple[type, type], dtype: type) -> None:
    """+0, and -0 when rounding down."""
    rng = np.random.default_rng(5)
    for k in (0, 1, 2, 40):
        for spread in (0, 3, 100):
            a, b = random_line(rng, k, types[0], 0, spread), random_line(rng, k, types[1], 0, spread)
            a, b = complete(a, b, 0, rng)
            check(a, b, dtype)
            check(a * 0, b, dtype)
            check(a, -0.0 * b, dtype)


@all_results
@all_operands
def test_any_spread(types: tuple[type, type], dtype: type) -> None:
    rng = np.random.default_rng(6)
    for k in (1, 2, 5, 40, 300):
        for _ in range(6):
            a, b = ((2 * rng.integers(0, 2, k) - 1) * rng.uniform(1, 2, k) for _ in range(2))
            scales = [rng.integers(FORMATS[t][3], FORMATS[t][1] + 1, k) for t in types]
            check(np.ldexp(a, scales[0]).astype(types[0]), np.ldexp(b, scales[1]).astype(types[1]), dtype)


@all_results
def test_lines_that_only_fit_when_moved(dtype: type) -> None:
    """Products beyond either end of the range, with sums within."""
    rng = np.random.default_rng(7)
    for first, second in [
        (1000, 1000),
        (1000, -1000),
        (-1000, 1000),
        (-1060, 900),
        (-700, -700),
        (-1065, -1065),
        (600, 500),
    ]:
        a, b = random_line(rng, 60, np.float64, first), random_line(rng, 60, np.float64, second)
        check(a, b, dtype)
        check(b, a, dtype)
        cancelled_a, cancelled_b = np.concatenate([a, -a[3:]]), np.concatenate([b, b[3:]])
        check(cancelled_a, cancelled_b, dtype)
        if first + second > 1100:
            check(*complete(a, b, 12345 << 2000, rng), dtype)


@all_results
def test_products_that_vanish_beside_the_lines_largest_entries(dtype: type) -> None:
    odd = 1 + 2.0**-52
    for x, y in [
        (2.0**-540, 2.0**-540),
        (2.0**-500 * odd, -(2.0**-500) * odd),
        (5e-324, 2.0**-400),
        (5e-324, -5e-324),
    ]:
        for top in (2.0**400, 2.0**1000):
            check(np.array([top, x, 0.0]), np.array([0.0, y, top]), dtype)
            check(np.array([top, x, 1.0]), np.array([0.0, y, 1.0]), dtype)


# ---- Lengths, strides, all small cases ------------------------------------------------------------------------------


@all_operands
def test_lengths(types: tuple[type, type]) -> None:
    rng = np.random.default_rng(8)
    lengths = (0, 1, 2, 3, 7, 15, 16, 17, 31, 33, 100, 511, 512, 513, 1024, 1039, 3000)
    for k in lengths:
        a, b = random_line(rng, k, types[0], 0), random_line(rng, k, types[1], 0)
        for dtype in TYPES:
            paths = check(a, b, dtype)
            if types != (np.float32, np.float32):
                assert paths == {"pairs"}
        if k:
            check(*complete(a, b, (2**25 + 1) << (-20 - UNIT), rng), np.float32)


@all_operands
def test_strides(types: tuple[type, type]) -> None:
    """Backwards, with gaps, one number for all, and not aligned."""
    rng = np.random.default_rng(9)
    for k in (5, 700):
        a, b = random_line(rng, 3 * k, types[0], 0), random_line(rng, 3 * k, types[1], 0)
        raw = np.zeros(a.nbytes + 1, np.uint8)
        raw[1:] = a.view(np.uint8)
        odd = raw[1:].view(a.dtype)
        views = [
            a[:k],
            a[2 * k - 1 : k - 1 : -1],
            a[::3],
            a[::-3],
            np.broadcast_to(a[:1], k),
            odd[:k],
            odd[1::3],
        ]
        for x, y in [(views[i], b[:k]) for i in range(len(views))] + [
            (views[0], b[::-3]),
            (views[2], np.broadcast_to(b[1:2], k)),
        ]:
            check(x, y, np.float64)


@all_results
@all_operands
def test_all_sums_of_two_products_of_few_numbers(types: tuple[type, type], dtype: type) -> None:
    def few(kind: type) -> list[float]:
        precision, highest, _, lowest = FORMATS[kind]
        return [0.0, 1 + 2.0 ** (1 - precision), -(2 - 2.0 ** (1 - precision)), 2.0**lowest, -(2.0**highest)]

    for a in product(few(types[0]), repeat=2):
        for b in product(few(types[1]), repeat=2):
            check(np.array(a, types[0]), np.array(b, types[1]), dtype)


numbers = st.floats(allow_nan=False, allow_infinity=False)
near = st.floats(-4, 4)


@given(
    st.lists(st.tuples(numbers | near, numbers | near), max_size=20), st.booleans(), st.sampled_from(TYPES)
)
def test_any_operands(pairs: list[tuple[float, float]], is_doubled: bool, dtype: type) -> None:
    a, b = (np.array([pair[i] for pair in pairs]) for i in (0, 1))
    if is_doubled:  # so that the sum cancels
        a, b = np.concatenate([a, -a[1:]]), np.concatenate([b, b[1:]])
    check(a, b, dtype)
