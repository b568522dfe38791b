"""csrc/arith/limbs: scaled integers as two words by FP64 additions, and their dot products by products of bytes."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest

import ozfp4
from ozfp4._testing import arith


def check(x: list[float], shift: list[int]) -> None:
    found = arith.split_integer(np.array(x), np.array(shift))
    for value, places, integer in zip(x, shift, found, strict=True):
        assert int(integer) == round(Fraction(value) * Fraction(2) ** places), (value, places)


def test_integers_are_rounded_once() -> None:
    """Ties to even, of integers, halves, and where the lower word is 2^31 exactly; up to 62 bits."""
    rng = random.Random(1)
    near = [2.0**e + d for e in (30, 31, 32, 33, 50) for d in (-1.5, -1, -0.5, -0.25, 0, 0.25, 0.5, 1, 1.5)]
    halves = [(2 * k + 1) * 2.0**31 + d for k in (0, 1, 2, 3, 1000, 1001) for d in (-0.5, 0, 0.5)]
    ties = [k + 0.5 for k in (0, 1, 2, 3, 2**31 - 1, 2**31, 2**32 - 1, 2**51 - 1)]
    some = [rng.uniform(0.5, 1) * 2.0 ** rng.randint(-3, 62) for _ in range(20000)]
    most = [math.ldexp(1 - 2.0**-53, 62), 2.0**62, 0.0, 0.25, 0.75]
    x = [sign * value for value in near + halves + ties + some + most for sign in (1, -1)]
    check(x, [0] * len(x))


def test_any_exponent() -> None:
    """Subnormal numbers, the largest ones, and what a line's other entries lose."""
    rng = random.Random(2)
    x, shift = [], []
    for _ in range(20000):
        bits, exponent = rng.randint(2, 62), rng.randint(-1074, 1023)
        below = rng.choice((0, 0, 1, 5, 30, 60, 200))
        value = math.ldexp(rng.choice((1.0, 1.5, rng.uniform(1, 2))), max(exponent - below, -1074))
        x.append(rng.choice((-1, 1)) * value)
        shift.append(bits - 1 - exponent)
    check(x, shift)


BITS = {7: 54, 8: 62}  # of integers of so many limbs


def check_dot(limbs: int, inner: int, x: list[int], y: list[int]) -> None:
    found = arith.dot_of_byte_limbs(limbs, inner, np.array(x), np.array(y))
    total = sum(a * b for a, b in zip(x, y, strict=True)) << (8 * (8 - limbs))
    assert -(2**127) <= total < 2**127
    assert int.from_bytes(found.tobytes(), "little") == total % 2**128


@pytest.mark.parametrize("inner", [64, 128, 256])
@pytest.mark.parametrize("limbs", [7, 8])
def test_dot_products_of_bytes(limbs: int, inner: int) -> None:
    """From the sums of products of digits as a GPU makes them: random integers, the largest ones, and digits of -128."""
    rng = random.Random(limbs * inner)
    most = min(BITS[limbs], (126 - inner.bit_length() + 1 - 8 * (8 - limbs)) // 2)
    least = -sum(128 << 8 * i for i in range(limbs - 1))
    kinds = [0, 1, -1, 2**most, -(2**most), 2**most - 1, least, least + (1 << most - 1), -least]
    for _ in range(200):
        bits = rng.randint(1, most)
        x, y = ([rng.randint(-(2**bits), 2**bits) for _ in range(rng.randint(1, inner))] for _ in range(2))
        check_dot(limbs, inner, x[: len(y)], y[: len(x)])
    for first in kinds:
        for second in kinds:
            check_dot(limbs, inner, [first] * inner, [second] * inner)
    # Sums that cancel, of integers with all of the limbs' bits.
    longest = [2 ** BITS[limbs], -(2 ** BITS[limbs]), least - (1 << BITS[limbs] - 1)]
    for first in longest:
        for second in longest:
            check_dot(limbs, inner, [first] * inner, [second, -second] * (inner // 2))


@pytest.mark.parametrize("bits", [53, 76])
def test_residues_of_sums(bits: int) -> None:
    """All sums of 64 products of residues, by the moduli of a plan, without dot products of bytes."""
    for m in ozfp4.plan(64, 64, 64, backend="int8", bits=bits, accuracy="scaled").moduli[:16]:
        assert arith.wrong_residues_of_sums(m, 64 * (m - 1) ** 2) == 0, m
