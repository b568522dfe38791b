"""Sums between two folds: planes of FP64 have 256 products of the largest residues in one, exactly."""

from __future__ import annotations

import numpy as np
import pytest

import ozfp4

LENGTHS = (255, 256, 257, 511, 512, 513, 1024, 1025, 1537)  # around pieces of 256 and of 512
PLAN = ozfp4.plan(4, 4, max(LENGTHS), backend="fp64", accuracy="scaled")
MODULI = sorted({term.modulus for term in PLAN.terms if term.modulus is not None})


def with_residue(residue: np.ndarray, m: int) -> np.ndarray:
    """Integers of 53 bits, which scaling leaves as they are, with these residues."""
    base = 3 << 51
    return (base - base % m + residue).astype(np.float64)


def assert_exact(a: np.ndarray, b: np.ndarray) -> None:
    x, y = a.astype(np.int64).astype(object), b.astype(np.int64).astype(object)
    expected = (x @ y).astype(np.float64)  # Python's integers round to nearest even
    for accuracy in ("scaled", "standard", "correct"):
        found = ozfp4.matmul(a, b, backend="fp64", accuracy=accuracy)
        assert np.array_equal(found, expected), accuracy


@pytest.mark.parametrize("k", LENGTHS)
def test_residues_at_their_largest(k: int) -> None:
    """Of these FP64 sums 256 products exactly and not 512."""
    for m in MODULI:
        largest = with_residue(np.full((3, k), (m - 1) // 2), m)
        assert_exact(largest, largest.T.copy())
        smallest = with_residue(np.full((2, k), (m + 1) // 2), m)  # -(m - 1) / 2
        assert_exact(largest, smallest.T.copy())


@pytest.mark.parametrize("k", LENGTHS)
def test_residues_of_one_sign(k: int) -> None:
    """Even ones of one sign add up to 2^53 from some 770 products with themselves on: 512 are exact, 1024 are not."""
    rng = np.random.default_rng(k)
    for m in MODULI:
        a = with_residue(rng.integers(0, (m + 1) // 2, (4, k)), m)
        assert_exact(a, a.T.copy())
