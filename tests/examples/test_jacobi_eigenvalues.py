"""examples/jacobi_eigenvalues.py: eigenvalues have digits of their own, where LAPACK's have those of the largest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg
from jacobi_eigenvalues import eigenvalues, jacobi

U = 2.0**-53


def pascal(n: int) -> np.ndarray:
    """Integers below 2^53 for n up to 28; with each eigenvalue its inverse is one too."""
    return scipy.linalg.pascal(n, exact=True).astype(np.float64)


def spline(n: int) -> np.ndarray:
    """6 times the covariance of an integrated Wiener process at 1 .. n: integers."""
    t = np.arange(1.0, n + 1)
    low, high = np.minimum(t[:, None], t), np.maximum(t[:, None], t)
    return low**2 * (3 * high - low)


CASES = {"Pascal 12": pascal(12), "Pascal 20": pascal(20), "spline 24": spline(24), "spline 48": spline(48)}


def errors(found: np.ndarray, real: list[Any]) -> list[float]:
    return [abs(float((x - float(v)) / x)) for v, x in zip(found, real, strict=True)]


@pytest.mark.parametrize("name", CASES)
def test_all_eigenvalues_are_right_to_the_last_digits(name: str, reals: Any) -> None:
    a = CASES[name]
    before = a.copy()
    real = reals.eigenvalues(a)
    assert max(errors(eigenvalues(a), real)) < 64 * U
    assert (a == before).all()
    # LAPACK's are off by the condition number, the better part of it.
    assert max(errors(np.linalg.eigvalsh(a), real)) > 2.0**12 * U


def test_eigenvalues_of_pascals_matrix_are_inverses_of_each_other() -> None:
    found = eigenvalues(pascal(20))
    assert abs(found * found[::-1] - 1).max() < 128 * U
    assert found[-1] / found[0] > 1e21


def test_rotations_keep_the_small_eigenvalues_of_a_graded_matrix(reals: Any) -> None:
    scale = 2.0 ** -np.arange(0, 120, 10)
    core = np.eye(12) + np.full((12, 12), 0.125)
    graded = scale[:, None] * core * scale
    assert max(errors(jacobi(graded), reals.eigenvalues(graded))) < 64 * U


def test_edges() -> None:
    assert eigenvalues(np.zeros((0, 0))).shape == (0,)
    assert (eigenvalues(np.array([[3.0]])) == [3.0]).all()
    assert (eigenvalues(np.diag([2.0, 1.0, 2.0])) == [1.0, 2.0, 2.0]).all()
    with pytest.raises(np.linalg.LinAlgError, match=r"s\[0, 0\] = .*-?1"):
        jacobi(np.array([[-1.0, 0.0], [0.0, 1.0]]))
