"""The accuracy modes against their references, on all kinds of operands, hard ones too, and on all lines of a few bits."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import ozfp4
from ozfp4.testing import Certificate, assert_same_bits, standard_matmul
from support import HARD, KINDS, MODES, hard_operands, operands, reference
from support.dtypes import both_types

SHAPES = ((9, 1, 7), (6, 3, 5), (20, 50, 6), (3, 700, 4))


def make(kind: str, m: int, k: int, n: int, seed: int, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    return (hard_operands if kind in HARD else operands)(kind, m, k, n, seed=seed, dtype=dtype)


@both_types
@pytest.mark.parametrize("kind", [*HARD, *KINDS])
def test_standard(kind: str, dtype: type) -> None:
    for seed, (m, k, n) in enumerate(SHAPES):
        a, b = make(kind, m, k, n, seed, dtype)
        expected, certificates = standard_matmul(a, b)
        c, report = ozfp4.matmul(a, b, accuracy="standard", report=True)
        assert_same_bits(c, expected, (kind, k))
        found, count = report.certified, {x: int((certificates == x).sum()) for x in Certificate}
        assert (found.exact, found.depth, found.magnitude, found.chains) == (
            count[Certificate.EXACT],
            count[Certificate.DEPTH],
            count[Certificate.MAGNITUDE],
            count[Certificate.NONE],
        )


def small_lines(dtype: type) -> np.ndarray:
    """All lines of three entries of one or two bits and one sign: their sums are ties, cancel, or have terms far apart."""
    p = np.finfo(dtype).nmant + 1
    numbers = [
        0.0,
        *(
            sign * f * 2.0**e
            for sign in (1, -1)
            for f, e in ((1, 0), (1.5, 0), (1, -p), (1.5, -p), (1, -2 * p))
        ),
    ]
    lines = np.array(list(product(numbers, repeat=3)), dtype)
    return lines[lines[:, 0] >= 0]


@both_types
@pytest.mark.parametrize(("accuracy", "rounding"), MODES[1:])
def test_all_products_of_small_lines(accuracy: str, rounding: str, dtype: type) -> None:
    """Every fifth against every seventh: prime to the 11 numbers, so that each of them is everywhere."""
    lines = small_lines(dtype)
    rows, columns = lines[::5], lines[::7].T
    c = ozfp4.matmul(rows, columns, accuracy=accuracy, rounding=rounding)
    assert_same_bits(c, reference(rows, columns, accuracy, rounding))


@pytest.mark.slow
@both_types
def test_long_lines(dtype: type) -> None:
    """K = 100,000."""
    for kind in ("near-ties", "cancelled", "graded", "sparse"):
        a, b = hard_operands(kind, 1, 100_000, 2, dtype=dtype)
        for accuracy, rounding in (("standard", "nearest"), ("correct", "nearest"), ("correct", "up")):
            c = ozfp4.matmul(a, b, accuracy=accuracy, rounding=rounding)
            assert_same_bits(c, reference(a, b, accuracy, rounding), kind)
