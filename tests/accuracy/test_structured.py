"""Products of structurally sparse operands: entries without a nonzero product are exact zeros, not repaired."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4._report import Certified
from ozfp4.testing import Certificate, assert_same_bits, correct_matmul, standard_matmul
from ozfp4.testing._certified import scaled_product
from ozfp4.testing._oracle import PRECISIONS
from support import MODES, STRUCTURED, noise, structured_operands
from support.certificates import correct_certificates, disjoint
from support.dtypes import both_types

kinds = pytest.mark.parametrize("kind", list(STRUCTURED))
SHAPES = ((3, 5, 4), (30, 70, 66), (5, 1100, 7))


def references(a: np.ndarray, b: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Product and certificates in each of the certified modes."""
    yield standard_matmul(a, b)
    dtype = np.promote_types(a.dtype, b.dtype)
    product = scaled_product(a, b, "correct", PRECISIONS[dtype])
    for _, rounding in MODES[2:]:
        yield correct_matmul(a, b, rounding), correct_certificates(a, b, product, dtype, rounding)


def counts(certified: Certified) -> tuple[int | None, ...]:
    left = certified.chains + certified.repaired + certified.repaired_exactly
    return certified.exact, certified.depth, certified.magnitude, certified.result, left


def check(a: np.ndarray, b: np.ndarray, context: Any = "") -> None:
    """Results, counts, and the bounds of exact zeros, in every mode."""
    zeros = disjoint(a, b) & np.isfinite(a).all(axis=1)[:, np.newaxis] & np.isfinite(b).all(axis=0)
    for (accuracy, rounding), (expected, certificates) in zip(MODES[1:], references(a, b), strict=True):
        c, bound, report = ozfp4.matmul(
            a, b, accuracy=accuracy, rounding=rounding, out=noise(expected.shape, expected.dtype),
            return_bound=True, report=True,
        )  # fmt: skip
        here = (context, accuracy, rounding)
        assert_same_bits(c, expected, here)
        wanted = [x for x in Certificate if x not in (Certificate.NONE, Certificate.SPECIAL)] + [
            Certificate.NONE
        ]
        assert counts(report.certified) == tuple((certificates == x).sum() for x in wanted), here
        assert (c[zeros] == 0).all(), here
        assert (np.signbit(c[zeros]) == (rounding == "down")).all(), here
        least = 2.0**-1074 if expected.dtype == np.float64 else 2.0**-149
        if accuracy == "correct":
            assert (bound[zeros] == max(least / (1 + (rounding == "nearest")), 2.0**-1074)).all(), here


@pytest.mark.slow
@both_types
@kinds
@pytest.mark.parametrize("permuted", [False, True], ids=["in order", "permuted"])
def test_patterns(kind: str, permuted: bool, dtype: type) -> None:
    for seed, shape in enumerate(SHAPES):
        check(*structured_operands(kind, *shape, seed=seed, dtype=dtype, permuted=permuted), (kind, shape))


@kinds
def test_some_lines_are_special(kind: str) -> None:
    a, b = structured_operands(kind, 30, 70, 66)
    a[3, 5], a[17, 60], b[69, 2] = np.nan, np.inf, -np.inf
    check(a, b, kind)


@pytest.mark.parametrize("kind", ["banded", "L L", "halves"])
def test_lines_that_are_not_contiguous(kind: str) -> None:
    a, b = structured_operands(kind, 40, 90, 70)
    check(np.asfortranarray(a), np.asfortranarray(b), kind)
    check(a[::2, ::-3], b[::-3, 1::3], kind)


def test_lines_that_meet_in_the_last_entry_alone() -> None:
    """So far along that all words of their masks but the last are disjoint, and every length of the last word."""
    rng = np.random.default_rng(0)
    for k in (1, 2, 63, 64, 65, 511, 512, 513, 700):
        a, b = rng.standard_normal((4, k)) * 2.0 ** rng.integers(-30, 30, (4, k)), rng.standard_normal((k, 3))
        a[:, 0::2], b[1::2] = 0.0, 0.0
        a[:2, -1], b[-1, :2] = 2.0**-1074, 2.0**-40
        check(a, b, k)


def test_subnormal_entries_are_not_zeros() -> None:
    a = np.array([[2.0**-1074, 1.0, 0.0], [0.0, 1.0, 3.0**-30]])
    b = np.array([[2.0**-1074, 1.0], [0.0, 0.0], [0.0, 2.0**-1070 * 3]])
    check(a, b)


def test_disjoint_entries_are_not_repaired() -> None:
    """A banded product repairs few entries."""
    i = np.arange(300)
    rng = np.random.default_rng(1)
    a, b = (np.where(abs(i[:, None] - i) <= 4, rng.standard_normal((300, 300)), 0.0) for _ in range(2))
    zeros = int(disjoint(a, b).sum())
    assert zeros > 84_000
    certified = ozfp4.matmul(a, b, accuracy="correct", rounding="down", report=True)[1].certified
    assert certified.exact >= zeros
    assert certified.repaired + certified.repaired_exactly < 2_000
    certified = ozfp4.matmul(a, b, report=True)[1].certified
    assert certified.exact + certified.chains > zeros
    assert certified.magnitude > 2_000
