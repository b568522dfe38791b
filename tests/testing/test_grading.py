"""The operands of the grading tests have the form that their source gives."""

from __future__ import annotations

import numpy as np
import pytest

from support import grading


@pytest.mark.parametrize(("n", "block"), [(8, 4), (64, 16)])
def test_repeated_scales(n: int, block: int) -> None:
    top = grading.widest_exponent(n)
    a, b = grading.repeated_scales(n, block)
    exponents_a, exponents_b = np.frexp(a)[1] - 1, np.frexp(b)[1] - 1
    assert (a > 0).all()
    assert (b > 0).all()
    assert (exponents_a[-1] == top).all()
    assert (exponents_b[:, -1] == top).all()
    inner = exponents_a[0]
    assert (exponents_a[:-1] == inner).all()
    assert (exponents_b[:, :-1] == -inner[:, np.newaxis]).all()
    assert np.array_equal(inner, np.resize(inner[:block], n))
    assert {inner.max(), inner.min()} == {top, -top}
