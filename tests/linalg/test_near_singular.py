"""Thousands of systems with nearly dependent rows or columns: no wrong solution is reported as solved."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest
import scipy.linalg

from ozfp4 import linalg
from ozfp4.linalg import _systems
from ozfp4.testing import assert_same_bits

# Systems for each kind, dtype and library; the nightly ones are more than a thousand of each kind.
counts = pytest.mark.parametrize(
    "count", [12, pytest.param(60, marks=pytest.mark.slow), pytest.param(250, marks=pytest.mark.nightly)]
)


def alike(a, rng, i, j, k, u):
    a[i] = a[j] * (1 + 2 * u * rng.integers(-2, 3, len(a))).astype(a.dtype)


def there_and_back(a, rng, i, j, k, u):
    factor = a.dtype.type(rng.choice([0.1, 3, 7, 10]))
    a[i] = a[j] * factor / factor * a.dtype.type(rng.choice([1, -1, 2]))


def sums(a, rng, i, j, k, u):
    a[i] = a[j] + a[k]


def differences(a, rng, i, j, k, u):
    a[i] = a[j] - a[k] * a.dtype.type(rng.choice([0.1, 1, 3]))


def columns(a, rng, i, j, k, u):
    a[:, i] = a[:, j] + a[:, k] * a.dtype.type(rng.choice([-1, 0, 1]))


def two_pairs(a, rng, i, j, k, u):
    a[i] = a[j] + a[k]
    alike(a, rng, j, k, i, u)


KINDS = [alike, there_and_back, sums, differences, columns, two_pairs]
kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def draw(rng, dtype, shape):
    """Integers, short decimals, or any numbers."""
    way = rng.integers(3)
    if np.dtype(dtype).kind == "c":
        part = np.dtype(dtype).type(0).real.dtype
        return draw(rng, part, shape) + dtype(1j) * draw(rng, part, shape)
    if way == 0:
        return rng.integers(-9, 10, shape).astype(dtype)
    return (np.round(rng.uniform(-10, 10, shape), 2) if way == 1 else rng.standard_normal(shape)).astype(
        dtype
    )


def systems(kind, dtype, count, more_rows=0):
    """A and B: of half of them B is about A by some integers, so that singular systems have solutions."""
    rng = np.random.default_rng(KINDS.index(kind))
    u = float(np.finfo(dtype).eps) / 2
    for _ in range(count):
        n = int(rng.integers(3, 11))
        a = draw(rng, dtype, (n, n))
        kind(a, rng, *rng.choice(n, 3, replace=False), u)
        if more_rows:
            a = np.vstack([a, rng.integers(-3, 4, (more_rows, n)).astype(dtype) @ a])
        has_solution = rng.random() < 0.5
        b = a @ rng.integers(-5, 6, (n, 2)).astype(dtype) if has_solution else draw(rng, dtype, (len(a), 2))
        if b.any(0).all():  # else a solution is 0, and errors are measured by its size
            yield a, b.astype(dtype)


def solved(function, *operands):
    """The result without a warning, or None where there was one, or an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", scipy.linalg.LinAlgWarning)
        try:
            return function(*operands, refine=True)
        except scipy.linalg.LinAlgWarning:
            return None
        except (np.linalg.LinAlgError, *torch_errors()):
            return None


def torch_errors():
    torch = sys.modules.get("torch")
    return () if torch is None else (torch.linalg.LinAlgError,)


@kinds
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@counts
def test_what_is_not_warned_of_is_right(kind, dtype, count, library, rational):
    regular = right = 0
    for a, b in systems(kind, dtype, count // 3 if np.dtype(dtype).kind == "c" else count):
        is_singular = rational.system(a, b)[0].det() == 0
        x = solved(linalg.solve, library(a), library(b))
        regular += not is_singular
        if x is not None:
            assert not is_singular, (a.tolist(), b.tolist(), x)
            rational.check(x, rational.solve(a, b))
            right += 1
    assert right >= 0.99 * regular


@kinds
@counts
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_inverses(kind, dtype, count, rational):
    for a, _ in systems(kind, dtype, count // 2):
        x = solved(linalg.inv, a)
        if x is not None:
            rational.check(x, rational.matrix(a).inv())


@kinds
@counts
def test_least_squares(kind, count, rational):
    for a, b in systems(kind, np.float64, count // 2, more_rows=3):
        found = solved(linalg.lstsq, a, b)
        if found is not None:
            assert rational.matrix(a).rank() == a.shape[1], (a.tolist(), b.tolist())
            rational.check(found.solution, rational.lstsq(a, b)[0])


SYSTEMS = [
    ([[5, -8, -3], [-6, -8, -3], [5, -7.999999999999998, -2.9999999999999996]], [1, 1, 1]),
    (
        [[6.2, 9.91, -8.22], [9.47, 9.63, 7.36], [15.670000000000002, 19.54, -0.8600000000000003]],
        [3.6, 5, 8.6],
    ),
]


@pytest.mark.parametrize(("a", "b"), SYSTEMS)
def test_rows_that_cancel_but_for_last_bits_are_solved(a, b, library, rational):
    """The inverse by the first factors is exactly of rank 1."""
    a, b = np.array(a, float), np.array(b, float)[:, None]
    x, report = linalg.solve(library(a), library(b), refine=True, report=True)
    assert report.converged
    rational.check(x, rational.solve(a, b))
    rational.check(linalg.inv(library(a), refine=True), rational.matrix(a).inv())


def test_singular_systems_with_and_without_solutions_are_warned_of(library):
    """Elimination leaves a last pivot of rounding errors."""
    a = np.array([[0.1, 0.3, 0.2], [0.7, 0.1, 0.9], [0.0, 0.0, 0.0]])
    a[2] = a[0] * 4 + a[1] * 8
    a = np.round(a * 2**20) / 2**20 * 3
    a[2] = a[0] * 4 + a[1] * 8
    for b in (a @ [1.0, 1, 1], np.array([1.0, 1, 1])):
        assert solved(linalg.solve, library(a), library(b)) is None


def test_of_a_stack_one_is_enough(library):
    a = np.stack([np.eye(3), np.array(SYSTEMS[0][0])])
    a[1, 2] = a[1, 0] / 3 + a[1, 1] / 3
    a[1] = np.round(a[1] * 3 * 2**30)
    a[1, 2] = (a[1, 0] + a[1, 1]) / 4
    assert solved(linalg.solve, library(a), library(np.ones(3))) is None


def test_a_solution_does_not_depend_on_the_evidence(rational):
    """The first solution has random right sides next to the caller's."""
    a = np.random.default_rng(3).standard_normal((40, 40))
    b = np.random.default_rng(4).standard_normal((40, 3))
    assert_same_bits(linalg.solve(a, b, refine=True)[:, :1], linalg.solve(a, b[:, :1], refine=True))


def test_no_better_factors_come_of_an_inverse_that_is_not_finite():
    """Factors of NaN have whatever pivots their library gives, and no row may be looked up by these."""
    a = np.random.default_rng(7).standard_normal((3, 5, 5))
    inverse = np.linalg.inv(a)
    inverse[1, 2, 2] = np.nan
    found = _systems.by_inverse(a, inverse, "LU", "standard")
    assert sorted(np.concatenate([rows for _, rows, _ in found])) == [0, 2]
    assert _systems.by_inverse(a[:1], inverse[1:2], "LU", "standard") == []
