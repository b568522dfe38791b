"""examples/matrix_exponential.py: two words give the real exponential, rounded once, where float64 loses digits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from double_words import rounded_once
from matrix_exponential import expm, halvings, taylor

WARD = np.array([[-131.0, 19.0, 18.0], [-390.0, 56.0, 54.0], [-387.0, 57.0, 52.0]])  # Ward (1977)
LIMIT = np.array([[-49.0, 24.0], [-64.0, 31.0]])  # Moler and Van Loan (1978)


def grcar(n: int) -> np.ndarray:
    return sum((np.eye(n, k=k) for k in (1, 2, 3)), np.eye(n)) - np.eye(n, k=-1)


def triangular(n: int) -> np.ndarray:
    upper = np.triu(np.random.default_rng(0).integers(-32, 33, (n, n)), 1)
    return (upper - np.diag(np.arange(1, n + 1))).astype(np.float64)


CASES = {"Ward": WARD, "Moler": LIMIT, "Grcar": -4 * grcar(20), "triangular": triangular(12)}


@pytest.mark.parametrize("name", CASES)
def test_two_words_are_the_real_exponential_rounded_once(name: str, reals: Any) -> None:
    a = CASES[name]
    before = a.copy()
    assert (expm(a) == reals.rounded(reals.matrix(a).exp())).all()
    assert (a == before).all()


def test_the_polynomial_has_106_bits(reals: Any) -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, (4, 4))
    x /= 2 * x.sum(axis=0)
    high, low = taylor((x,), 2, rounded_once)
    wrong = reals.matrix(x).exp() - reals.matrix(high) - reals.matrix(low)
    assert max(abs(float(v)) for v in wrong.entries()) < 2.0**-104


def test_edges() -> None:
    assert expm(np.zeros((0, 0))).shape == (0, 0)
    assert (expm(np.zeros((3, 3))) == np.eye(3)).all()
    assert expm(np.array([[1.0]])) == np.e
    assert [halvings(np.array([[v]])) for v in (0.0, 0.5, 0.51, 1.0, 2.0**20)] == [0, 0, 1, 1, 21]
