"""Determinants against rational ones."""

from __future__ import annotations

import numpy as np
import pytest

from ozfp4 import linalg

RNG = np.random.default_rng(37)


def test_determinants_of_integers(library, rational, small_blocks):
    a = RNG.integers(-9, 10, (3, 2, 21, 21)).astype(float)
    found, (sign, logarithm) = linalg.det(library(a)), linalg.slogdet(library(a))
    assert tuple(found.shape) == tuple(sign.shape) == tuple(logarithm.shape) == (3, 2)
    for index in np.ndindex(3, 2):
        exact = int(rational.matrix(a[index]).det().p)
        assert float(found[index]) == pytest.approx(exact, rel=1e-11)
        assert float(sign[index]) == np.sign(exact)
        assert float(logarithm[index]) == pytest.approx(np.log(float(abs(exact))), rel=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.complex128])
def test_as_numpys(dtype, library, small_blocks):
    a = RNG.standard_normal((19, 19)) + 1j * RNG.standard_normal((19, 19))
    a = (a if np.dtype(dtype).kind == "c" else a.real).astype(dtype)
    close = {"rtol": 200 * np.finfo(dtype).eps}
    sign, logarithm = map(np.asarray, linalg.slogdet(library(a)))
    np.testing.assert_allclose(sign, np.linalg.slogdet(a)[0], **close)
    np.testing.assert_allclose(logarithm, np.linalg.slogdet(a)[1], **close)
    found = np.asarray(linalg.det(library(a)))
    np.testing.assert_allclose(found, np.linalg.det(a), **close)
    assert (found.dtype, sign.dtype, logarithm.dtype) == (dtype, dtype, np.abs(a).dtype)


def test_singular_empty_and_out_of_range(library):
    zeros = library(np.zeros((2, 3, 3)))
    assert linalg.det(zeros).tolist() == [0, 0]
    assert linalg.slogdet(zeros).sign.tolist() == [0, 0]
    assert linalg.slogdet(zeros).logabsdet.tolist() == [-np.inf] * 2
    assert float(linalg.det(library(np.zeros((0, 0))))) == 1
    assert tuple(linalg.det(library(np.zeros((0, 3, 3)))).shape) == (0,)
    huge = library(np.eye(9) * 1e300)
    assert float(linalg.det(huge)) == np.inf
    assert float(linalg.slogdet(huge).logabsdet) == pytest.approx(9 * 300 * np.log(10))


@pytest.mark.parametrize("unit", [1, 1j])
def test_only_the_whole_is_out_of_range(unit, library):
    """Products of factors that are out of range, by others that bring them back; zeros among them."""
    for last, expected in ((1e-200, 1), (0.0, 0)):
        a = np.diag([1e200, 1e200, 1e-200, last]) * unit
        assert complex(linalg.det(library(a))) == pytest.approx(expected, rel=1e-15)
    single = np.diag(np.array([1e30, 1e30, 1e-30, 1e-30], np.float32)) * np.float32(1)
    assert float(linalg.det(library(single))) == pytest.approx(1, rel=1e-6)
    assert float(linalg.det(library(np.diag([0.5, 2.0] * 700 + [1e-310])))) == 1e-310
    assert float(linalg.det(library(np.diag([-1e300, 1e300, 1e-300])))) == pytest.approx(-1e300)
    assert not np.signbit(float(linalg.det(library(np.diag([-1.0, 0.0, 2.0])))))


def test_factors_that_overflow(library):
    a = np.kron(np.diag([1e308, 1e-150, 1e-150]), [[1, 1], [-1, 1]])
    assert float(linalg.det(library(a))) == pytest.approx(8e16, rel=1e-14)
    assert float(linalg.slogdet(library(a)).logabsdet) == pytest.approx(np.log(8e16), rel=1e-12)
