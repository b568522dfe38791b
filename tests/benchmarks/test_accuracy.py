"""The accuracy experiment meets the paper's figures; its reference is exact."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from common import cases, methods
from ozfp4.testing import integer_matmul
from support import spread
from support.errors import as_integers, effective_bits, real_product, relative_errors


@pytest.mark.parametrize(
    ("phi", "k"), [(0, 1), (0, 100), (3, 8192), (32, 100), (120, 100), (480, 50), (0, 0)]
)
def test_the_reference_by_digits_is_that_of_integers(phi: int, k: int) -> None:
    rng = np.random.default_rng(phi)
    a, b = spread(rng, (5, k), phi), spread(rng, (k, 4), phi)
    a[rng.random(a.shape) < 0.2] = 0.0
    exact = real_product(a, b)
    (x, ex), (y, ey) = as_integers(a), as_integers(b)
    assert exact.exponent <= ex + ey
    up = ex + ey - exact.exponent
    assert (exact.product == integer_matmul(x, y) << up).all()
    assert (exact.magnitude == integer_matmul(abs(x), abs(y)) << up).all()


def test_relative_errors_are_those_of_fractions() -> None:
    rng = np.random.default_rng(1)
    a, b = spread(rng, (6, 40), 30), spread(rng, (40, 7), 30)
    exact = real_product(a, b)
    c = a @ b
    unit = Fraction(2) ** exact.exponent
    expected = [
        [float(abs(Fraction(float(c[i, j])) - exact.product[i, j] * unit) / (exact.magnitude[i, j] * unit)) for j in range(7)]
        for i in range(6)
    ]  # fmt: skip
    assert relative_errors(c, exact).tolist() == expected
    c[0, 0], c[1, 1] = np.nan, np.inf
    assert relative_errors(c, exact)[[0, 1], [0, 1]].tolist() == [math.inf, math.inf]


def test_bits_are_those_of_the_largest_relative_error() -> None:
    exact = real_product(
        np.array([[3.0, -1.0], [4.0, 0.0]]), np.array([[1.0, 2.0], [1.0, 2.0]])
    )  # [2, 4], [4, 8]
    assert effective_bits(np.array([[2.0, 4.0], [4.0, 8.0]]), exact) == math.inf
    # Against |A||B| = [4, 8], [4, 8]: errors of 2^-10 and 2^-12.
    assert effective_bits(np.array([[2.0, 4.0 + 2.0**-7], [4.0 - 2.0**-10, 8.0]]), exact) == 10
    assert effective_bits(np.array([[math.nan, 4.0], [4.0, 8.0]]), exact) == -math.inf


def test_the_papers_figures() -> None:
    """Fewer entries than the paper's, so that the worst of them may be a little better, never worse."""
    at_hand = methods.at_hand()
    for phi, bits in cases.PAPER.items():
        case = cases.make_case(phi, 8192, 20)
        rows = [
            cases.measure(case, at_hand[name]) for name in ("I-fp4-least", "II-fp4-paper", "II-fp64-least")
        ]
        assert len({row["sha"] for row in rows}) == 1  # schemes I and II coincide
        assert bits - 0.1 <= rows[0]["bits"] <= bits + 0.6
        assert cases.measure(case, at_hand["numpy"])["bits"] < rows[0]["bits"]
        assert cases.disagreements(rows, set(at_hand)) == []


def test_a_wrong_bit_is_a_disagreement() -> None:
    rows = [{"phi": 0, "method": name, "sha": sha} for name, sha in (("a", "1"), ("b", "2"), ("numpy", "3"))]
    assert cases.disagreements(rows, {"a", "b"}) == ["phi 0: a 1, b 2"]
    assert cases.disagreements(rows, {"a"}) == []
