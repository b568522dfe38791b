"""Linear algebra on a GPU: solutions as the CPU's, factors that multiply to the matrix. Skipped without a GPU or its kernels."""

from __future__ import annotations

import numpy as np
import pytest
from first_gpu import DEVICE, on_device, torch
from scipy.linalg import LinAlgWarning

import ozfp4
from ozfp4 import linalg

U = 2.0**-53
DTYPES = [np.float64, np.complex128]


def noise(rng, dtype, *shape):
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape)).astype(dtype) if np.dtype(dtype).kind == "c" else x


def with_condition(rng, dtype, n, condition):
    left, right = (np.linalg.qr(noise(rng, dtype, n, n))[0] for _ in range(2))
    return (left * np.geomspace(1, 1 / condition, n)) @ right


def host(x):
    assert x.device == DEVICE
    return x.cpu().resolve_conj().numpy()


def remainder(a, left, right):
    """A - L R, rounded once, on the CPU."""
    unit = np.eye(a.shape[1], dtype=a.dtype)
    return ozfp4.matmul(np.hstack([a, left]), np.vstack([unit, -right]), accuracy="correct")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("power", [5, 30, 50])
def test_refined_solutions_are_the_cpus(dtype, power):
    rng = np.random.default_rng(power)
    a, b = with_condition(rng, dtype, 300, 2.0**power), noise(rng, dtype, 300, 3)
    expected = linalg.solve(a, b, refine=True)
    x, report = linalg.solve(on_device(a), on_device(b), refine=True, report=True)
    assert report.converged, report
    assert "cuda" in report.product.device
    # Both are the real solution but for a rounding, and 2^-59 of the column's largest.
    assert (np.abs(host(x) - expected) <= 2.5 * U * np.abs(expected).max(0)).all()
    inverse = linalg.inv(on_device(a[:150, :150]), refine=True)
    wanted = linalg.inv(a[:150, :150], refine=True)
    assert (np.abs(host(inverse) - wanted) <= 2.5 * U * np.abs(wanted).max(0)).all()


def test_a_matrix_beyond_its_precision_and_one_that_is_singular():
    a = 1.0 / (np.add.outer(np.arange(20), np.arange(20)) + 1)
    expected = linalg.solve(a, np.sin(np.arange(20.0)), refine=True)
    x = linalg.solve(on_device(a), on_device(np.sin(np.arange(20.0))), refine=True)
    assert np.abs(host(x) - expected).max() <= 2.5 * U * np.abs(expected).max()
    with pytest.raises(torch.linalg.LinAlgError, match="the pivot 1, counted from 0"):
        linalg.solve(
            torch.ones(2, 2, dtype=torch.float64, device=DEVICE),
            torch.ones(2, dtype=torch.float64, device=DEVICE),
        )
    a = np.random.default_rng(5).standard_normal((12, 12))
    a[:, 3] = 0
    with pytest.raises(torch.linalg.LinAlgError, match="the pivot 3, counted from 0"):
        linalg.solve(on_device(a), on_device(np.ones(12)), refine=True)
    with pytest.raises(torch.linalg.LinAlgError, match="leading minor of order 200 is not positive"):
        linalg.cholesky(
            torch.eye(300, dtype=torch.float64, device=DEVICE).index_fill(
                0, torch.tensor([199], device=DEVICE), -1
            )
        )


def test_rows_that_cancel_but_for_last_bits():
    """Solved, where the matrix is regular; a matrix that is singular is warned of, whether or not there is a solution."""
    a = np.array([[5, -8, -3], [-6, -8, -3], [5, -7.999999999999998, -2.9999999999999996]])
    x, report = linalg.solve(on_device(a), on_device(np.ones(3)), refine=True, report=True)
    assert report.converged, report
    assert np.abs(host(x) - [0, 0.25, -1]).max() <= 2.0**-57
    a = np.array([[3, 9, 7], [21, 3, 27], [0, 0, 0]]) / 10
    a[:2] = np.round(a[:2] * 2**20) / 2**20
    a[2] = 4 * a[0] + 8 * a[1]
    tall = np.vstack([a, a[:1] + a[1:2]])
    for b in (a @ [1.0, 1, 1], np.array([1.0, 1, 1])):
        check_not_silent(linalg.solve, a, b)
        check_not_silent(linalg.lstsq, tall, np.append(b, 2.0))


def check_not_silent(function, a, b):
    """It is warned of, or refused for a pivot that is zero: the library's panel decides."""
    with pytest.raises((LinAlgWarning, torch.linalg.LinAlgError)):  # warnings are errors here
        function(on_device(a), on_device(b), refine=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(300, 300), (400, 170), (170, 400)])
def test_factors(dtype, shape):
    rng = np.random.default_rng(3)
    a = noise(rng, dtype, *shape)
    size = 8 * max(shape) * U * np.abs(a).max()
    lu, piv = linalg.lu_factor(on_device(a))
    assert piv.device == DEVICE
    k = min(shape)
    packed, order = host(lu), np.arange(shape[0])
    for i, j in enumerate(piv.cpu().numpy() - 1):
        order[[i, j]] = order[[j, i]]
    left, right = np.tril(packed[:, :k], -1) + np.eye(shape[0], k), np.triu(packed[:k])
    assert np.abs(remainder(a[order], left.astype(dtype), right)).max() <= size * np.abs(right).max()
    q, r = map(host, linalg.qr(on_device(a)))
    assert np.abs(remainder(a, q, r)).max() <= size * np.sqrt(max(shape))
    assert np.abs(q.conj().T @ q - np.eye(k)).max() <= 8 * max(shape) * U
    b = noise(rng, dtype, shape[0], 2)
    found, expected = linalg.lstsq(on_device(a), on_device(b), refine=True), linalg.lstsq(a, b, refine=True)
    assert (
        np.abs(host(found.solution) - expected.solution) <= 2.5 * U * np.abs(expected.solution).max(0)
    ).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_positive_definite_and_triangular(dtype):
    rng = np.random.default_rng(4)
    a = noise(rng, dtype, 2, 290, 290)
    a = a @ a.conj().swapaxes(-1, -2) + np.eye(290)
    factor = linalg.cholesky(on_device(a))
    for each, one in zip(host(factor), a, strict=True):
        assert np.abs(remainder(one, each, each.conj().T)).max() <= 600 * U * np.abs(one).max()
    upper = linalg.cholesky(on_device(a), lower=False)
    np.testing.assert_allclose(host(upper), host(factor).conj().swapaxes(-1, -2), rtol=1e-9, atol=1e-9)
    b = noise(rng, dtype, 290, 5)
    for trans in ("N", "T", "C"):
        x = linalg.solve_triangular(factor, on_device(b), lower=True, trans=trans)
        expected = linalg.solve_triangular(host(factor), b, lower=True, trans=trans)
        np.testing.assert_allclose(host(x), expected, rtol=1e-9, atol=1e-9)
        pair = linalg.lu_factor(on_device(a[0]))
        turned = {"N": a[0], "T": a[0].T, "C": a[0].conj().T}[trans]
        x = linalg.lu_solve(pair, on_device(b), trans=trans)
        np.testing.assert_allclose(host(x), np.linalg.solve(turned, b), rtol=1e-8, atol=1e-10)
