"""csrc/cuda/thin/balanced_limbs.hpp: integers cut into limbs by FP64 additions, and sums of their products."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from ozfp4._testing import arith

WORD, LIMB = 2**32, 2**27
RANGES = pytest.mark.parametrize(("limbs", "bits", "products"), arith.balanced_ranges)


def check_limbs(limbs: int, x: list[float], scale: float) -> None:
    for value, found in zip(x, arith.balanced_limbs(limbs, np.array(x), scale), strict=True):
        exact = round(Fraction(value) * Fraction(scale))  # ties to even
        assert sum(int(limb) * LIMB**i for i, limb in enumerate(found)) == exact, (value, scale)
        assert all(abs(int(limb)) <= LIMB // 2 for limb in found[:-1])
        assert abs(int(found[-1])) <= (2**26 if limbs == 2 else 2**28)


def value_of(words: np.ndarray) -> int:
    return sum(int(word) << (32 * i) for i, word in enumerate(words))


@RANGES
def test_limbs_are_the_rounded_integer(limbs: int, bits: int, products: int) -> None:
    rng = random.Random(limbs)
    ends = [2.0**e for e in range(-3, bits + 1)]
    near = [np.nextafter(x, y) for x in ends[:-1] for y in (0, 2 * x)]
    ties = [
        k + 0.5 for k in (0, 1, 2, 2**26, 2**26 + 1, 2**27 - 1, 2**27, 3 * 2**26 - 1, 2**50 + 1, 2**51 - 1)
    ]
    halves = [float((2 * k + 1) * 2**26 + d) for k in (0, 1, 2, 2**20) for d in (-1, 0, 1)]
    some = [rng.uniform(0.5, 1) * 2.0 ** rng.randint(-5, bits) for _ in range(3000)]
    whole = [float(rng.getrandbits(53) >> rng.randint(0, 52)) for _ in range(1000)]
    values = [x for x in (*ends, *near, *ties, *halves, *some, *whole, 0.0) if x <= 2.0**bits]
    for shift in (0, 1, -1, 40, -40):
        check_limbs(limbs, [s * np.ldexp(x, shift) for x in values for s in (1, -1)], 2.0**-shift)


@RANGES
def test_limbs_at_the_ends_of_the_range(limbs: int, bits: int, products: int) -> None:
    """Scales of the largest and the least numbers; products that are subnormal round to 0."""
    largest = 2.0**1023 * (2 - 2.0**-52)
    tiny = [5e-324, 2.0**-1060, 2.0**-1022, 2.0**-1022 - 5e-324]
    check_limbs(limbs, [largest, -largest, 2.0**1023, 2.0**970, *tiny], 2.0 ** (bits - 1024))
    check_limbs(limbs, [*tiny, -5e-324], 2.0**1000)


@RANGES
def test_dot_products(limbs: int, bits: int, products: int) -> None:
    rng = random.Random(7)
    for count in (0, 1, 2, products):
        x, y = (
            np.array([rng.uniform(-1, 1) * 2.0 ** rng.randint(bits - 60, bits) for _ in range(count)])
            for _ in range(2)
        )
        exact = sum(round(Fraction(a)) * round(Fraction(b)) for a, b in zip(x, y, strict=True))
        assert (
            value_of(arith.balanced_dot(limbs, *(arith.balanced_limbs(limbs, z, 1.0) for z in (x, y))))
            == exact % WORD**6
        )


@RANGES
def test_the_longest_sums(limbs: int, bits: int, products: int) -> None:
    """Limbs as large as they can be, of one sign in every product."""
    top = 2**26 if limbs == 2 else 2**28
    full = np.array([*[2**26] * (limbs - 1), top], np.int32)
    for a, b in ((full, full), (-full, full), (-full, -full)):
        x, y = (np.repeat(z[np.newaxis], products, 0) for z in (a, b))
        exact = products * int(
            np.prod([sum(int(v) * LIMB**i for i, v in enumerate(z)) for z in (a, b)], dtype=object)
        )
        assert value_of(arith.balanced_dot(limbs, x, y)) == exact % WORD**6
