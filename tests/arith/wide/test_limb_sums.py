"""csrc/cuda/direct/limb_sums.hpp: dot products of integers cut into limbs, to the ends of their range."""

from __future__ import annotations

import random

import numpy as np
import pytest

from ozfp4._testing import arith

WORD = 2**32


def words(values: list[int]) -> np.ndarray:
    return np.array([[(v >> (32 * i)) % WORD for i in range(3)] for v in values], np.uint32).reshape(-1, 3)


def check(limbs: int, x: list[int], y: list[int]) -> None:
    total = arith.limbed_dot(limbs, words(x), words(y))
    found = sum(int(word) << (32 * i) for i, word in enumerate(total))
    exact = sum(a * b for a, b in zip(x, y, strict=True))
    assert found == exact % WORD**6, (limbs, x[:3], y[:3])
    assert -(WORD**6) < 2 * exact < WORD**6


@pytest.mark.parametrize(("limbs", "bits", "products"), arith.limbed_ranges)
def test_dot_products(limbs: int, bits: int, products: int) -> None:
    rng = random.Random(limbs)
    largest, width = 2**bits, 27 if limbs == 2 else 21
    ends = [largest, -largest, largest - 1, 1 - largest, 0, 1, -1, 2**width - 1, -(2**width), 2**width]
    for a in ends:
        for b in ends:
            check(limbs, [a], [b])
    for count in (0, 1, 7, 100, min(products, 3000)):
        check(limbs, *([rng.randint(-largest, largest) for _ in range(count)] for _ in range(2)))


@pytest.mark.parametrize(("limbs", "bits", "products"), arith.limbed_ranges)
def test_the_longest_sums(limbs: int, bits: int, products: int) -> None:
    """Limbs as large as they can be, of one sign in every product."""
    width = 27 if limbs == 2 else 21
    full = 2**bits - 1  # all limbs below the uppermost are 2^width - 1
    for a, b in ((full, full), (-(2**bits), full), (-(2**bits), -(2**bits)), (full >> width, full)):
        total = arith.limbed_dot(
            limbs, np.repeat(words([a]), products, 0), np.repeat(words([b]), products, 0)
        )
        assert sum(int(word) << (32 * i) for i, word in enumerate(total)) == products * a * b % WORD**6
