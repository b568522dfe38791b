"""Attacks on the certificates of "standard": inputs built, and searched for, to bring the error close to what is promised.

A certified entry may differ from the real product by (n - 1) u (|A| |B|)_ij before its last rounding, n the fewer nonzero entries
of row and column. The worst lines have mean depths at the threshold, large entries across from small ones, and every
rounding to one side. They reach an eighth of it by depth, four ninths by magnitudes; no search found more.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from ozfp4.testing import Certificate, error_bound
from ozfp4.testing._certified import certificates, scaled_product
from ozfp4.testing._oracle import real_sums
from support.dtypes import both_types

pytestmark = pytest.mark.slow


def precision_of(dtype: type) -> int:
    return 53 if dtype == np.float64 else 24


def quotients(a: np.ndarray, b: np.ndarray, precision: int) -> list[tuple[Certificate, Fraction]]:
    """Certificate and error / ((n - 1) u |A||B|) of every entry that is not exact; the error is never above E."""
    scaled, rows, columns = scaled_product(a, b, "standard", precision)
    found = certificates(a, b, rows, columns, precision)
    exact, size = real_sums(a, b), real_sums(abs(a), abs(b))
    result = []
    for i, j in np.ndindex(*found.shape):
        unit = Fraction(2) ** scaled.exponent(i, j)
        power = Fraction(2) ** exact.exponent(i, j)
        error = abs(scaled.integers[i, j] * unit - int(exact.integers[i, j]) * power)
        assert error <= error_bound(rows[i], columns[j]) * unit
        n = min(rows[i].facts.nonzeros, columns[j].facts.nonzeros)
        allowed = max(n - 1, 0) * Fraction(2) ** -precision * int(size.integers[i, j]) * power
        if found[i, j] == Certificate.EXACT:
            assert error == 0
        elif found[i, j] != Certificate.NONE:
            assert allowed > 0
            result.append((Certificate(int(found[i, j])), error / allowed))
    return result


def crossed(
    k: int, deep: int, dtype: type, extra: int = 4, deepest: int = 60, top: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers `top`, below 2, across from numbers 2^-deep + half of what c = p + extra keeps, which a tie rounds down, both ways.

    The first entries are 2^-deepest, so that the lines are not exact.
    """
    x, y = np.full((1, k), top), np.full((k, 1), top)
    x[0, ::2] = y[1::2, 0] = 2.0**-deep + 2.0 ** -(precision_of(dtype) + extra)
    x[0, 0] = y[0, 0] = 2.0**-deepest
    return x.astype(dtype), y.astype(dtype)


@both_types
def test_lines_at_the_threshold_come_close(dtype: type) -> None:
    """Over K and the depth of half of the entries, the largest quotient of each certificate."""
    worst = {Certificate.DEPTH: Fraction(0), Certificate.MAGNITUDE: Fraction(0)}
    for k in (2, 8, 10, 32, 64, 256):
        for deep in range(1, 14):
            for extra, top in ((3, 1.0), (4, 1.0), (4, 255 / 128), (4, 2 - 2.0**-20)):
                made = crossed(k, deep, dtype, extra, top=top)
                for certificate, quotient in quotients(*made, precision_of(dtype)):
                    if certificate in worst:
                        worst[certificate] = max(worst[certificate], quotient)
    assert all(quotient <= 1 for quotient in worst.values())
    assert worst[Certificate.DEPTH] > 0.12, worst
    assert worst[Certificate.MAGNITUDE] > 0.44, worst


def mutate(rng: np.random.Generator, line: np.ndarray, dtype: type) -> np.ndarray:
    """Some entries moved by a few binades, given other last bits, or replaced."""
    p = precision_of(dtype)
    x = line.astype(np.float64)
    chosen = rng.random(x.shape) < rng.choice([0.05, 0.2, 0.6])
    moved = np.ldexp(x, rng.integers(-3, 4, x.shape))
    last = x + np.ldexp(rng.integers(-8, 9, x.shape), np.frexp(x)[1] - p)
    other = np.ldexp(1.0 + rng.random(x.shape), rng.integers(-30, 1, x.shape))
    x = np.where(chosen, np.choose(rng.integers(0, 3, x.shape), [moved, last, other]), x)
    return np.clip(x, 2.0**-60, 2.0**20).astype(dtype)


def climb(k: int, steps: int, dtype: type, seed: int) -> dict[Certificate, Fraction]:
    """The largest quotients that a search by mutation finds, by certificate."""
    rng = np.random.default_rng([seed, k])
    a, b = crossed(k, int(rng.integers(1, 8)), dtype)
    best, worst = Fraction(0), {Certificate.DEPTH: Fraction(0), Certificate.MAGNITUDE: Fraction(0)}
    for _ in range(steps):
        x, y = (mutate(rng, z, dtype) if rng.random() < 0.7 else z for z in (a, b))
        for certificate, quotient in quotients(x, y, precision_of(dtype)):
            if certificate in worst:
                worst[certificate] = max(worst[certificate], quotient)
                if quotient >= best:
                    a, b, best = x, y, quotient
    return worst


@pytest.mark.nightly
@both_types
@pytest.mark.parametrize("k", [3, 8, 64])
def test_a_long_search_breaks_nothing(k: int, dtype: type) -> None:
    for seed in range(2):
        for worst in climb(k, 1000, dtype, seed).values():
            assert worst <= 1


@pytest.mark.parametrize("precision", [2, 3, 4])
def test_all_small_lines(precision: int) -> None:
    """Every pair of lines of two entries of one or two bits, over a range that no capacity holds."""
    numbers = [0.0, *(sign * f * 2.0**e for sign in (1, -1) for f in (1.0, 1.5) for e in (0, -1, -26, -40))]
    lines = np.array(list(product(numbers, repeat=2)))
    lines = lines[lines[:, 0] >= 0]  # the other sign is the same
    seen = set()
    for certificate, quotient in quotients(lines, lines.T, precision):
        seen.add(certificate)
        assert quotient <= 1
    assert seen == {Certificate.MAGNITUDE}
