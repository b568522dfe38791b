"""Least squares and least norms against those in rational numbers."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from ozfp4 import linalg

RNG = np.random.default_rng(23)


def tall(name: str) -> np.ndarray:
    """20 to 50 rows and fewer columns."""
    if name == "random":
        return RNG.standard_normal((45, 19))
    if name == "vandermonde":
        return np.vander(np.linspace(0, 1, 21), 9)
    if name == "lauchli":  # Läuchli (1961): its normal equations are singular in FP64
        return np.vstack([np.ones((1, 12)), np.eye(12) * 2.0**-30])
    if name == "hilbert":
        return scipy.linalg.hilbert(20)[:, :8]
    left, right = (np.linalg.qr(RNG.standard_normal((n, n)))[0] for n in (40, 15))
    return (left[:, :15] * np.geomspace(1, 2.0 ** -int(name), 15)) @ right


NAMES = ["random", "vandermonde", "lauchli", "hilbert", "10", "30", "45"]


@pytest.mark.parametrize("is_wide", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_refined_solutions_are_rounded_real_ones(name, is_wide, library, rational, small_blocks):
    """Least squares, and of wide matrices least norms."""
    a = np.ascontiguousarray(tall(name).T) if is_wide else tall(name)
    b = RNG.standard_normal((len(a), 2))  # the residual of a tall matrix is as large as b
    exact, sums = rational.lstsq(a, b)
    x, residuals = linalg.lstsq(library(a), library(b), refine=True)
    rational.check(x, exact)
    if not is_wide:
        np.testing.assert_allclose(np.asarray(residuals), sums, rtol=1e-13)


def test_a_system_that_has_a_solution(library, small_blocks):
    a = RNG.integers(-99, 100, (30, 13)).astype(float)
    x = RNG.integers(-99, 100, (13, 2)).astype(float)
    found = linalg.lstsq(library(a), library(a @ x), refine=True)
    np.testing.assert_array_equal(np.asarray(found.solution), x)
    assert np.asarray(found.residuals).max() < 1e-50


@pytest.mark.parametrize("shape", [(31, 20), (20, 31), (9, 9), (8, 1), (1, 8)])
@pytest.mark.parametrize("columns", [None, 0, 1, 3])
def test_as_scipys(shape, columns, library, small_blocks):
    a = RNG.standard_normal(shape)
    b = RNG.standard_normal(shape[0] if columns is None else (shape[0], columns))
    found = linalg.lstsq(library(a), library(b))
    assert tuple(found.solution.shape) == (shape[1], *b.shape[1:])
    assert tuple(found.residuals.shape) == b.shape[1:]
    if columns == 0:
        return
    x, sums, *_ = scipy.linalg.lstsq(a, b)
    np.testing.assert_allclose(np.asarray(found.solution), x, rtol=1e-9, atol=1e-12)
    if shape[0] > shape[1]:
        np.testing.assert_allclose(np.asarray(found.residuals), sums, rtol=1e-9)
    else:
        assert np.abs(np.asarray(found.residuals)).max() < 1e-24


def test_a_zero_on_the_diagonal_of_r_is_refused(library):
    a = np.eye(6, 4)
    a[:, 2] = 0
    with pytest.raises(Exception, match="a: entry 2 of the diagonal of R, counted from 0, rounds") as caught:
        linalg.lstsq(library(a), library(np.ones(6)))
    assert caught.type.__name__.endswith("LinAlgError")


def test_what_does_not_converge_says_so(library):
    a = np.vander(np.linspace(0, 1, 60), 40)
    with pytest.warns(scipy.linalg.LinAlgWarning, match="refinement did not converge") as caught:
        linalg.lstsq(library(a), library(np.ones(60)), refine=True)
    assert caught[0].filename == __file__


def test_no_rows_or_no_columns(library):
    assert tuple(
        linalg.lstsq(library(np.zeros((4, 0))), library(np.ones(4)), refine=True).solution.shape
    ) == (0,)
    found = linalg.lstsq(library(np.zeros((0, 3))), library(np.zeros((0, 2))), refine=True)
    assert np.asarray(found.solution).tolist() == [[0, 0]] * 3
    assert np.asarray(found.residuals).tolist() == [0, 0]
