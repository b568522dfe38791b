"""Complex matrices, against SciPy's factors and rational solutions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from ozfp4 import linalg

# Each part is rounded once, and refinement looks at the magnitude.
LEFT = 1 / 16
RNG = np.random.default_rng(29)


def noise(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)


def with_condition(n: int, condition: float) -> np.ndarray:
    left, right = (np.linalg.qr(noise(n, n))[0] for _ in range(2))
    return (left * np.geomspace(1, 1 / condition, n)) @ right


def value(x) -> np.ndarray:
    return np.asarray(x.resolve_conj() if hasattr(x, "resolve_conj") else x)


@pytest.mark.parametrize("power", [1, 20, 45, 50])
def test_refined_solutions(power, library, rational, small_blocks):
    a, b = with_condition(25, 2.0**power), noise(25, 2)
    exact = rational.solve(a, b)
    x, report = linalg.solve(library(a), library(b), refine=True, report=True)
    assert report.converged
    rational.check(x, exact, LEFT)
    assert np.linalg.cond(a, 1) / 10 <= report.condition <= 4 * np.linalg.cond(a, 1)
    turned = library(a).conj().T  # a view; torch's conjugates lazily
    x = linalg.solve(turned, library(b), refine=True)
    rational.check(x, rational.solve(a.conj().T, b), LEFT)


@pytest.mark.parametrize("name", ["hilbert 20", "pascal 22"])
def test_beyond_the_precision(name, matrices, library, rational):
    a = matrices[name]
    turns = np.array([1, 1j, -1, -1j])[np.arange(len(a)) % 4]
    a, b = turns[:, None] * a * turns, np.random.default_rng(19).standard_normal((len(a), 2)) * (1 + 2j)
    x, report = linalg.solve(library(a), library(b), refine=True, report=True)
    assert report.converged, report
    rational.check(x, rational.solve(a, b), LEFT)


def test_mixed_with_real_and_single(library, rational, small_blocks):
    a, b = RNG.standard_normal((19, 19)), noise(19, 2)
    x = linalg.solve(library(a), library(b), refine=True)
    rational.check(x, rational.solve(a + 0j, b), LEFT)
    single = a.astype(np.float32), b.astype(np.complex64)
    x = linalg.solve(*map(library, single), refine=True)
    assert str(x.dtype).endswith("complex64")
    rational.check(x, rational.solve(single[0] + 0j, single[1]), LEFT)
    assert str(linalg.solve(library(a), library(single[1])).dtype).endswith("complex128")


def test_lu_and_triangles(library, small_blocks):
    a, b = noise(29, 29), noise(29, 3)
    first = 0 if library is np.asarray else 1
    lu, piv = linalg.lu_factor(library(a))
    theirs = scipy.linalg.lu_factor(a)
    np.testing.assert_array_equal(value(piv) - first, theirs[1])
    np.testing.assert_allclose(value(lu), theirs[0], rtol=1e-10, atol=1e-11)
    t = np.tril(a) + 5 * np.eye(29)
    for trans in (0, 1, 2):
        x = linalg.lu_solve((lu, piv), library(b), trans=trans)
        np.testing.assert_allclose(value(x), scipy.linalg.lu_solve(theirs, b, trans=trans), atol=1e-11)
        x = linalg.solve_triangular(library(t), library(b), lower=True, trans=trans)
        expected = scipy.linalg.solve_triangular(t, b, lower=True, trans=trans)
        np.testing.assert_allclose(value(x), expected, atol=1e-13)


@pytest.mark.parametrize("lower", [True, False])
def test_cholesky(lower, library, rational, small_blocks):
    a = noise(27, 27)
    a = a @ a.conj().T
    a = np.tril(a, -1) + np.tril(a, -1).conj().T + np.diag(a.diagonal().real)
    factor = value(linalg.cholesky(library(a), lower=lower))
    np.testing.assert_allclose(factor, scipy.linalg.cholesky(a, lower=lower), atol=1e-11)
    b = noise(27, 2)
    x = linalg.solve(library(a), library(b), assume_a="pos", refine=True)
    rational.check(x, rational.solve(a, b), LEFT)


@pytest.mark.parametrize("shape", [(20, 20), (33, 18), (18, 33)])
def test_qr_and_least_squares(shape, library, rational, small_blocks):
    a, b = noise(*shape), noise(shape[0], 2)
    q, r = map(value, linalg.qr(library(a)))
    np.testing.assert_allclose(q @ r, a, atol=1e-13)
    np.testing.assert_allclose(q.conj().T @ q, np.eye(min(shape)), atol=1e-13)
    np.testing.assert_allclose(np.abs(r), np.abs(scipy.linalg.qr(a, mode="economic")[1]), atol=1e-12)
    x, residuals = linalg.lstsq(library(a), library(b), refine=True)
    exact, sums = rational.lstsq(a, b)
    rational.check(x, exact, LEFT)
    assert value(residuals).dtype == np.float64
    np.testing.assert_allclose(value(residuals), sums, rtol=1e-13, atol=1e-25)


def test_inverses_and_stacks(library, rational):
    a = noise(2, 7, 7)
    x = linalg.inv(library(a), refine=True)
    for i in range(2):
        exact = rational.solve(a[i], np.eye(7))
        rational.check(x[i], exact, LEFT)
