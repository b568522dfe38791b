"""Factors against the matrix in rational arithmetic, and against SciPy's own for what they mean."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import ozfp4
from ozfp4 import linalg

U = 2.0**-53
RNG = np.random.default_rng(5)
NAMES = ("random", "condition 2^40", "hilbert 12", "kahan", "wilkinson 30", "graded", "rows graded")
SHAPES = [(1, 1), (8, 8), (9, 9), (33, 33), (40, 17), (17, 40), (24, 25), (1, 9), (9, 1)]


def within(rational, a, left, right, bound):
    """|A - L R| <= bound u |L| |R|, entry by entry and exactly."""
    a, left, right = map(rational.matrix, (a, left, right))
    error = np.abs(rational.values(a - left * right))
    left, right = (rational.matrix(np.abs(rational.values(x).astype(float))) for x in (left, right))
    allowed = rational.values(left * right)
    return bool((error <= allowed * rational.values(rational.matrix([[bound * U]]))[0, 0]).all())


def parts(lu, piv, first=0):
    lu, piv = np.asarray(lu), np.asarray(piv)
    order = np.arange(lu.shape[0])
    for i, j in enumerate(piv - first):
        order[[i, j]] = order[[j, i]]
    k = min(lu.shape)
    return order, np.tril(lu[:, :k], -1) + np.eye(lu.shape[0], k), np.triu(lu[:k])


@pytest.mark.parametrize("name", NAMES)
def test_lu_is_that_of_a_matrix_a_panels_rounding_away(name, matrices, library, rational, small_blocks):
    a = matrices[name]
    lu, piv = linalg.lu_factor(library(a), accuracy="correct")
    order, lower, upper = parts(lu, piv, 0 if library is np.asarray else 1)
    assert np.abs(lower).max() <= 1
    # Within a panel every product and every addition may round, an update twice: the bound does not grow with n.
    assert within(rational, a[order], lower, upper, small_blocks + 3)


@pytest.mark.parametrize("shape", SHAPES)
def test_lu_means_what_scipys_and_torchs_do(shape, small_blocks):
    a = RNG.standard_normal(shape)
    before = a.tobytes()
    lu, piv = linalg.lu_factor(a)
    expected, pivots = scipy.linalg.lu_factor(a)
    assert a.tobytes() == before
    assert piv.dtype == np.int32
    np.testing.assert_array_equal(piv, pivots)
    np.testing.assert_allclose(lu, expected, rtol=1e-10, atol=1e-12)
    torch = pytest.importorskip("torch")
    packed, exchanged = linalg.lu_factor(torch.from_numpy(a))
    theirs = torch.linalg.lu_factor(torch.from_numpy(a))
    assert exchanged.dtype == theirs.pivots.dtype
    assert torch.equal(exchanged, theirs.pivots)
    torch.testing.assert_close(packed, theirs.LU, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("trans", [0, 1, 2, "N", "T", "C"])
@pytest.mark.parametrize("columns", [None, 0, 1, 5])
def test_factors_of_others_are_solved_with(trans, columns, library, small_blocks):
    a = RNG.standard_normal((29, 29))
    b = RNG.standard_normal(29 if columns is None else (29, columns))
    lu, piv = scipy.linalg.lu_factor(a)
    if library is not np.asarray:
        piv = piv + np.int32(1)
    x = linalg.lu_solve((library(lu), library(piv)), library(b), trans=trans)
    assert tuple(x.shape) == b.shape
    at = a if trans in (0, "N") else a.T
    np.testing.assert_allclose(np.asarray(x), np.linalg.solve(at, b), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", ["random", "condition 2^20", "hilbert 8", "pascal 22"])
@pytest.mark.parametrize("lower", [True, False])
def test_cholesky_is_that_of_a_matrix_a_panels_rounding_away(
    name, lower, matrices, library, rational, small_blocks
):
    a = matrices[name]
    a = a if name[0] in "hp" else a @ a.T
    if name == "pascal 22":
        a = a[:18, :18]
    a = np.tril(a) + np.tril(a, -1).T
    noise = RNG.standard_normal(a.shape)
    noisy = np.tril(a) + np.triu(noise, 1) if lower else np.triu(a) + np.tril(noise, -1)
    factor = np.asarray(
        linalg.cholesky(library(noisy), lower=lower, accuracy="correct")
    )  # reads one triangle
    assert (factor == (np.tril(factor) if lower else np.triu(factor))).all()
    left = factor if lower else factor.T
    assert within(rational, a, left, left.T, small_blocks + 3)


@pytest.mark.parametrize("order", [1, 5, 8, 9, 21])
def test_cholesky_names_the_first_minor(order, library, small_blocks):
    a = np.eye(24)
    a[order - 1, order - 1] = -1
    with pytest.raises(Exception, match=rf"a: the leading minor of order {order} is not positive") as caught:
        linalg.cholesky(library(a))
    assert caught.type.__name__.endswith("LinAlgError")
    with pytest.raises(Exception, match=rf"a\[1, 0\]: the leading minor of order {order} is"):
        linalg.cholesky(library(np.stack([np.eye(24), a]).reshape(2, 1, 24, 24)))


@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
@pytest.mark.parametrize("shape", SHAPES)
def test_qr_is_orthonormal_and_triangular(mode, shape, library, small_blocks):
    a = RNG.standard_normal(shape)
    m, n = shape
    found = linalg.qr(library(a), mode=mode)
    if mode == "r":
        expected = scipy.linalg.qr(a, mode="r")[0][: min(m, n)]
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-9, atol=1e-12)
        return
    q, r = map(np.asarray, found)
    columns = min(m, n) if mode == "reduced" else m
    assert q.shape == (m, columns)
    assert r.shape == (columns, n)
    assert (r == np.triu(r)).all()
    size = 4 * max(m, n) * U
    assert np.abs(ozfp4.matmul(q.T, q, accuracy="correct") - np.eye(columns)).max() <= size
    residual = ozfp4.matmul(np.hstack([a, q]), np.vstack([np.eye(n), -r]), accuracy="correct")
    assert np.linalg.norm(residual) <= size * np.linalg.norm(a)


@pytest.mark.parametrize("name", NAMES)
def test_qr_of_the_literatures_matrices(name, matrices, library, small_blocks):
    a = matrices[name]
    n = a.shape[0]
    q, r = map(np.asarray, linalg.qr(library(a)))
    assert np.abs(ozfp4.matmul(q.T, q, accuracy="correct") - np.eye(n)).max() <= 4 * n * U
    residual = ozfp4.matmul(np.hstack([a, q]), np.vstack([np.eye(n), -r]), accuracy="correct")
    assert (np.linalg.norm(residual, axis=0) <= 4 * n * U * np.linalg.norm(a, axis=0)).all()


def test_qr_of_columns_that_need_no_reflection(library, small_blocks):
    a = np.triu(np.ones((20, 20)))  # tau = 0
    q, r = map(np.asarray, linalg.qr(library(a)))
    np.testing.assert_array_equal(np.abs(q), np.eye(20))
    np.testing.assert_array_equal(np.abs(r), a)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("trans", [0, 1, 2])
@pytest.mark.parametrize("unit", [True, False])
def test_triangular_systems(lower, trans, unit, library, small_blocks):
    a = RNG.standard_normal((27, 27)) / 4 + 3 * np.eye(27)
    b = RNG.standard_normal((27, 3))
    x = linalg.solve_triangular(library(a), library(b), lower=lower, trans=trans, unit_diagonal=unit)
    expected = scipy.linalg.solve_triangular(a, b, lower=lower, trans=trans, unit_diagonal=unit)
    np.testing.assert_allclose(np.asarray(x), expected, rtol=1e-11, atol=1e-13)


def test_a_triangular_solution_solves_a_system_a_panels_rounding_away(
    matrices, library, rational, small_blocks
):
    t, b = matrices["kahan"], RNG.standard_normal((48, 2))
    x = np.asarray(linalg.solve_triangular(library(t), library(b), accuracy="correct"))
    assert within(rational, b, t, x, small_blocks + 3)


@pytest.mark.parametrize("lead", [(), (0,), (2, 0)])
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (3, 3)])
def test_empty(lead, shape, library):
    if shape == (3, 3) and not lead:
        pytest.skip("not empty")
    a = library(np.zeros((*lead, *shape)))
    m, n = shape
    k = min(shape)
    lu, piv = linalg.lu_factor(a)
    assert (tuple(lu.shape), tuple(piv.shape)) == ((*lead, m, n), (*lead, k))
    for mode, rank in (("reduced", k), ("complete", m)):
        q, r = linalg.qr(a, mode=mode)
        assert (tuple(q.shape), tuple(r.shape)) == ((*lead, m, rank), (*lead, rank, n))
    assert tuple(linalg.qr(a, mode="r").shape) == (*lead, k, n)
    if m == n:
        assert tuple(linalg.cholesky(a).shape) == (*lead, n, n)
        assert tuple(linalg.inv(a).shape) == (*lead, n, n)
        b = library(np.zeros((*lead, n, 2)))
        assert tuple(linalg.lu_solve((lu, piv), b).shape) == (*lead, n, 2)
        assert tuple(linalg.solve_triangular(a, b).shape) == (*lead, n, 2)
        for refine in (False, True):
            assert tuple(linalg.solve(a, b, refine=refine).shape) == (*lead, n, 2)


def test_blocks_of_the_size_that_is_used():
    a = RNG.standard_normal((270, 270))
    lu, piv = linalg.lu_factor(a)
    order, lower, upper = parts(lu, piv)
    residual = ozfp4.matmul(
        np.hstack([a[order], lower]), np.vstack([np.eye(270), -upper]), accuracy="correct"
    )
    assert (np.abs(residual) <= 12 * U * (np.abs(lower) @ np.abs(upper))).all()
