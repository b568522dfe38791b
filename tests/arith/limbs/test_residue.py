"""csrc/cpu/encode/residue.hpp: residues in floating point, exact to the documented ends of every range."""

from __future__ import annotations

from math import gcd

import numpy as np
import pytest

import ozfp4
from ozfp4._testing import arith
from ozfp4.testing import assert_same_bits

# Corner values of the pieces of 13 bits (27 for large moduli) and of their carries.
CORNERS = sorted(
    {
        sign * (high * 2**13 + low)
        for sign in (1, -1)
        for high in (0, 1, 2**13 - 1, 2**13, 2**26 - 1, 2**26, 2**39 - 1, 2**39, 2**40 - 1)
        for low in (-(2**12), -(2**12) + 1, -1, 0, 1, 2**12 - 1, 2**12, 2**13 - 1)
        if abs(high * 2**13 + low) <= 2**53
    }
    | {sign * (2**e + d) for sign in (1, -1) for e in range(1, 54) for d in (-1, 0, 1) if 2**e + d <= 2**53}
)


def operands(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    wide = rng.integers(-(2**53), 2**53, 3000, endpoint=True)
    return np.concatenate([CORNERS, wide, wide >> rng.integers(0, 53, 3000)])


def test_small_moduli() -> None:
    for m in range(2, 257):
        v = np.concatenate([operands(m), np.arange(-3 * m, 3 * m + 1)])
        assert_same_bits(arith.small_residue(v, m), v % m, m)


def test_small_moduli_where_the_quotient_is_hardest_to_round() -> None:
    """Integers with a reduced sum half a modulus from a multiple, give or take one."""
    multiples = np.random.default_rng(3).integers(-(2**44), 2**44, 4000)
    for m in range(2, 257):
        v = multiples * m + m // 2 + np.arange(-2, 3)[:, np.newaxis]
        assert_same_bits(arith.small_residue(v, m), v % m, m)


LARGE = [
    *ozfp4.plan(1, 1, 2**20, backend="fp64", accuracy="scaled").moduli,
    3,
    5,
    2**23 - 1,
    2**22 + 1,
    2**22 - 1,
    257,
    65537,
]


@pytest.mark.parametrize("m", LARGE)
def test_large_moduli(m: int) -> None:
    v = np.concatenate(
        [
            operands(m),
            np.arange(-3 * min(m, 1000), 3 * min(m, 1000)),
            np.random.default_rng(m).integers(-(2**29), 2**29, 2000) * m + m // 2 + np.arange(2000) % 3,
        ]
    )
    assert_same_bits(arith.residue_of_pieces(v, m), (v + m // 2) % m - m // 2)


def around(points: list[int], width: int, limit: int) -> np.ndarray:
    x = np.unique(np.concatenate([p + np.arange(-width, width + 1) for p in points]))
    return x[np.abs(x) <= limit]


def test_reduce32_to_its_documented_ends() -> None:
    for m in range(2, 257):
        limit = min(2**24 - m, 2**22 * m)
        rng = np.random.default_rng(m)
        middles = (rng.integers(-limit // m, limit // m, 300) * m + m // 2).tolist()
        x = around([limit, -limit, 2**22, -(2**22), 2**23, -(2**23), 0, *middles], 2, limit)
        x = np.concatenate([x, rng.integers(-limit, limit, 3000)])
        check_reduced(x, arith.reduce32(x.astype(np.float32), np.float32(m)), m, 2**22)


MODULI64 = [2, 3, 4, 255, 256, 65537, *range(2**22 - 1, 2**22 + 2), *range(2**23 - 2, 2**23), 11863283, 2**24]


@pytest.mark.parametrize("m", MODULI64)
def test_reduce64_to_its_documented_ends(m: int) -> None:
    limit = min(2**53 - m, 2**51 * m)
    rng = np.random.default_rng(m)
    middles = (rng.integers(-(limit // m), limit // m, 300) * m + m // 2).tolist()
    x = around([limit, -limit, 2**51, -(2**51), 2**52, -(2**52), 0, *middles], 2, limit)
    x = np.concatenate([x, rng.integers(-limit, limit, 3000)])
    check_reduced(x, arith.reduce64(x.astype(np.float64), np.float64(m)), m, 2**51)


def check_reduced(x: np.ndarray, reduced: np.ndarray, m: int, near: int) -> None:
    r = reduced.astype(np.int64)
    assert_same_bits(r.astype(reduced.dtype), reduced + 0, f"not an integer: {m}")
    assert_same_bits(r % m, x % m, f"not congruent: {m}")
    assert 2 * np.abs(r).max() <= m + 4
    assert 2 * np.abs(r[np.abs(x) < near]).max() <= m


def test_fp64_moduli_are_odd_and_coprime() -> None:
    moduli = ozfp4.plan(1, 1, 2**20, backend="fp64", accuracy="scaled").moduli
    assert all(m % 2 == 1 and m <= 11863283 for m in moduli)
    assert all(gcd(p, q) == 1 for i, p in enumerate(moduli) for q in moduli[:i])


def test_no_plan_uses_moduli_for_which_reduce_has_a_shorter_range() -> None:
    for backend in ("fp4", "int8", "fp64"):
        for bits in range(2, 54):
            assert min(ozfp4.plan(1, 1, 1, backend=backend, bits=bits, accuracy="scaled").moduli) >= 4
