"""The two products that everything is made of, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

import ozfp4
from ozfp4.linalg._products import residual, update
from ozfp4.testing import assert_same_bits, correct_matmul

RNG = np.random.default_rng(31)


def operands(m, k, n):
    """A sum of products that cancels C but for its last bits, exponents far apart."""
    a = RNG.standard_normal((m, k)) * 2.0 ** RNG.integers(-40, 40, (m, 1))
    b = RNG.standard_normal((k, n)) * 2.0 ** RNG.integers(-40, 40, (1, n))
    return a, b, a @ b * (1 + 2.0**-50 * RNG.standard_normal((m, n)))


@pytest.mark.parametrize("shape", [(5, 7, 3), (20, 33, 20), (1, 1, 1), (3, 0, 2), (0, 3, 2), (3, 4, 0)])
def test_an_update_is_rounded_once(shape, library):
    a, b, c = operands(*shape)
    expected = correct_matmul(np.hstack([c, a]), np.vstack([np.eye(shape[2]), -b]))
    before = a.tobytes(), b.tobytes(), c.tobytes()
    found = update(*(library(x[None]) for x in (c, a, b)), "correct")
    assert_same_bits(np.asarray(found)[0], expected)
    assert (a.tobytes(), b.tobytes(), c.tobytes()) == before


def test_of_complex_matrices(library):
    (a, b, c), (x, y, z) = operands(9, 11, 4), operands(9, 11, 4)
    a, b, c = a + 1j * x, b + 1j * y, c + 1j * z
    once = ozfp4.matmul(np.hstack([c, a]), np.vstack([np.eye(4), -b]), accuracy="correct")
    found = update(*(library(x[None]) for x in (c, a, b)), "correct")
    assert_same_bits(np.asarray(found)[0], once)
    found, _ = residual([library(c[None])], library(a[None]), [library(b[None])])
    assert_same_bits(np.asarray(found)[0], once)


@pytest.mark.parametrize("shape", [(5, 7, 3), (20, 33, 20), (1, 1, 1), (3, 0, 2), (0, 3, 2), (3, 4, 0)])
def test_a_residual_is_rounded_once(shape, library):
    a, b, c = operands(*shape)
    low = b * 2.0**-60
    found, about = residual(
        [library(c[None])], library(a[None]), [library(b[None]), library(low[None])], report=True
    )
    unit = np.eye(shape[2])
    assert_same_bits(np.asarray(found)[0], correct_matmul(np.hstack([c, a, a]), np.vstack([unit, -b, -low])))
    assert about.accuracy == "correct"
