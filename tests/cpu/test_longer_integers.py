"""accuracy="correct" with longer integers, by a sample of the entries: the bits of the references, and few entries left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4.testing import assert_same_bits, correct_matmul
from support import complex_matmul
from support.dtypes import both_types

M, K, N = 136, 264, 130  # the least extents that are looked at, and no multiples of tiles


def noisy_identity(rng: np.random.Generator, m: int, k: int, dtype: Any) -> np.ndarray:
    return np.eye(m, k) + 2.0**-27 * rng.standard_normal((m, k))


def eigenvectors(rng: np.random.Generator, m: int, k: int, dtype: Any) -> np.ndarray:
    vectors = np.linalg.qr(rng.standard_normal((max(m, k), max(m, k))))[0][:m, :k]
    return vectors * 2.0 ** -np.linspace(0, 40 if dtype == np.float64 else 20, k)


def wide(rng: np.random.Generator, m: int, k: int, dtype: Any) -> np.ndarray:
    return np.exp((8 if dtype == np.float64 else 3) * rng.standard_normal((m, k))) * rng.choice(
        [-1, 1], (m, k)
    )


KINDS = {"noisy identity": noisy_identity, "eigenvectors": eigenvectors, "wide": wide}


def operands(kind: str, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([7, *kind.encode()])
    return KINDS[kind](rng, M, K, dtype).astype(dtype), KINDS[kind](rng, N, K, dtype).astype(dtype).T


@both_types
@pytest.mark.parametrize("kind", KINDS)
def test_real(kind: str, dtype: Any) -> None:
    a, b = operands(kind, dtype)
    for rounding in ("nearest", "down"):
        expected = correct_matmul(a, b, rounding)
        for scheme, backend in (("II", "int8"), ("II", "fp4"), ("II", "fp64"), ("I", "int8")):
            c, report = ozfp4.matmul(
                a, b, accuracy="correct", rounding=rounding, scheme=scheme, backend=backend, report=True
            )
            assert_same_bits(c, expected, (scheme, backend, rounding))
            # Elsewhere what a product costs on this processor decides.
            if kind == "noisy identity" and dtype == np.float64 and (scheme, backend) == ("II", "fp64"):
                assert report.capacities[1] > 76
                assert report.certified.repaired + report.certified.repaired_exactly < M * N / 8


def test_parts_that_leave_nothing_are_refused_and_summed() -> None:
    """Entries of every size, and lines with NaN and infinity, among those that longer integers repair."""
    a, b = operands("noisy identity", np.float64)
    a[3] = 2.0 ** -np.arange(K) * np.arange(K)
    a[5, 7], a[6, 8], b[9, 4] = np.nan, np.inf, -np.inf
    a[11], b[:, 12] = 0, -0.0
    assert_same_bits(ozfp4.matmul(a, b, accuracy="correct"), correct_matmul(a, b, "nearest"))


def test_complex() -> None:
    rng = np.random.default_rng(3)
    a, b = (noisy_identity(rng, *shape, np.float64) * (1 + 2.0**-30 * 1j) for shape in ((M, K), (K, N)))
    expected = complex_matmul(a, b, lambda x, y: correct_matmul(x, y, "nearest"))
    assert_same_bits(ozfp4.matmul(a, b, accuracy="correct"), expected)


def test_updates() -> None:
    a, b = operands("noisy identity", np.float64)
    c = -np.asarray(a @ b)
    expected = np.empty((M, N))
    for i, j in np.ndindex(16, 16):
        expected[i, j] = ozfp4.gemm(
            1.0, a[i : i + 1], b[:, j : j + 1], 1.0, c[i : i + 1, j : j + 1], accuracy="correct"
        )[0, 0]
    assert_same_bits(ozfp4.gemm(1.0, a, b, 1.0, c, accuracy="correct")[:16, :16], expected[:16, :16])


def test_little_memory_goes_without() -> None:
    a, b = operands("noisy identity", np.float64)
    expected = correct_matmul(a, b, "nearest")
    for limit in (2 * 10**5, 10**6):
        assert_same_bits(
            ozfp4.matmul(a, b, accuracy="correct", backend="fp64", workspace_limit=limit), expected, limit
        )


def test_cancelling_to_the_last_bit() -> None:
    """A matrix times its inverse: nearly all of a product's bits are gone."""
    rng = np.random.default_rng(5)
    a = rng.standard_normal((160, 160))
    b = np.linalg.inv(a)
    assert_same_bits(ozfp4.matmul(b, a, accuracy="correct"), correct_matmul(b, a, "nearest"))


def test_products_beyond_the_range_of_fp64() -> None:
    """Lines of 2,000 binades: terms are summed relative to the largest product of their entry, not of their lines."""
    rng = np.random.default_rng(9)
    places = np.arange(150)
    scale = 2.0 ** (-13.0 * np.abs(places[:, None] - places))
    a, b = (scale * rng.standard_normal((150, 150)) for _ in range(2))
    a[rng.random(a.shape) < 0.3] = 0
    for rounding in ("nearest", "up", "zero"):
        c, report = ozfp4.matmul(a, b, accuracy="correct", rounding=rounding, report=True)
        assert_same_bits(c, correct_matmul(a, b, rounding), rounding)
    assert report.certified.repaired_exactly > 1000


@pytest.mark.parametrize("low", [-900, -1060])
def test_small_products_beside_large_entries(low: int) -> None:
    """The largest entries of lines meet zeros: a normal number is left, 2^1700 below the product of both."""
    rng = np.random.default_rng(11)
    a, b = np.ldexp(rng.standard_normal((140, 150)), low), np.ldexp(rng.standard_normal((150, 140)), 800)
    a[:, 0], b[0] = 2.0**900, 0
    a[:, 1], b[1] = 0, 2.0**1000
    for rounding in ("nearest", "down"):
        c, report = ozfp4.matmul(a, b, accuracy="correct", rounding=rounding, report=True)
        assert_same_bits(c, correct_matmul(a, b, rounding), rounding)
        assert report.certified.repaired_exactly == c.size


@pytest.mark.parametrize("sign", [1, -1], ids=["no sum is negative", "signs differ"])
@pytest.mark.parametrize(
    "rounding", ["nearest", "down", *(pytest.param(x, marks=pytest.mark.slow) for x in ("up", "zero"))]
)
def test_sums_that_decay_below_the_least_number(sign: int, rounding: str) -> None:
    """Where no product is negative pairs know the sign of a sum that rounds to 0, which others leave to longer sums."""
    distance = np.abs(np.arange(160)[:, None] - np.arange(160)[None, :]).astype(float)
    with np.errstate(under="ignore"):
        b = np.exp(-8 * distance)
    a = b * np.where(np.arange(160) % 3 == 0, sign, 1.0)
    c, report = ozfp4.matmul(a, b, accuracy="correct", rounding=rounding, report=True)
    assert_same_bits(c, correct_matmul(a, b, rounding=rounding), rounding)
    needs_more = sign == -1 or rounding in ("down", "up")
    assert (report.certified.repaired_exactly > 0) == needs_more
