"""The accuracy experiment meets the paper's figures; its reference is exact."""

from __future__ import annotations

import numpy as np
import pytest

from common import cases, methods
from ozfp4.testing import integer_matmul
from support import spread
from support.errors import as_integers, real_product


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
