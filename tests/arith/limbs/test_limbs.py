"""csrc/arith/limbs/limbs.hpp: base-13 limbs in S and balanced digits."""

from __future__ import annotations

import numpy as np
import pytest

from ozfp4._testing import arith
from ozfp4.testing import assert_same_bits

GREEDY = {-8, -6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 8}  # S without ±12 (Lemma 2)


def gap_free_range(p: int) -> int:
    """The largest integer of p limbs (Lemma 1)."""
    return (13**p - 1) // 3


def integers_to(limit: int, count: int, seed: int) -> np.ndarray:
    """Random integers of every size up to ±limit, and the ends."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-limit, limit, count, endpoint=True) >> rng.integers(0, limit.bit_length(), count)
    return np.concatenate([x, [limit, -limit, limit - 1, 1 - limit, 0]])


@pytest.mark.parametrize(
    "v",
    [np.arange(-300_000, 300_001), integers_to(2**53, 100_000, 1), integers_to(2**62, 100_000, 2)],
    ids=["dense", "53 bits", "62 bits"],
)
def test_one_limb_and_the_rest(v: np.ndarray) -> None:
    limb, quotient = arith.limb13(v), arith.quotient13(v)
    assert set(np.unique(limb).tolist()) == GREEDY
    assert_same_bits(13 * quotient + limb, v)
    assert (np.abs(quotient) <= np.abs(v) // 13 + 1).all()


@pytest.mark.parametrize("p", range(1, 17))
def test_p_limbs_represent_everything_up_to_lemma_1(p: int) -> None:
    limit = gap_free_range(p)
    v = np.arange(-limit, limit + 1) if p <= 5 else integers_to(limit, 20_000, p)
    rest, total = v, np.zeros_like(v)
    for i in range(p):
        total += 13**i * arith.limb13(rest).astype(np.int64)
        rest = arith.quotient13(rest)
    assert_same_bits(rest, np.zeros_like(v), "more limbs are needed")
    assert_same_bits(total, v)


def test_p_limbs_of_s_do_not_reach_beyond_lemma_1() -> None:
    s = np.array(sorted(GREEDY | {12, -12}))
    two = {int(x) for x in np.add.outer(s, 13 * s).ravel()}
    limit = gap_free_range(2)
    assert limit == 56
    assert set(range(-limit, limit + 1)) <= two
    assert limit + 1 not in two


@pytest.mark.parametrize("width", range(1, 32))
def test_balanced_digits(width: int) -> None:
    half = 2 ** (width - 1)
    corners = [0, 1, -1, half, half - 1, half + 1, -half, -half - 1, -half + 1, 2 * half, -2 * half]
    v = np.concatenate([integers_to(2**62, 3000, width), corners, np.arange(-500, 500)])
    digit = arith.balanced_digit(v, width).astype(np.int64)
    assert_same_bits(digit, (v + half) % (2 * half) - half)
