"""accuracy="standard" on a GPU, against the CPU path, with common kinds of matrices. Patterns of zeros: test_accuracy.py.

One product has entries certified by lines, certified by magnitudes, and made as chains. Skipped where torch, a GPU or its
kernels are missing.
"""

from __future__ import annotations

import numpy as np
import pytest
from first_gpu import check, on_device

import ozfp4
from ozfp4.testing import assert_same_bits, forced

STANDARD = [{"accuracy": "standard"}]
SHAPES = [(1, 1, 1), (3, 5, 4), (70, 64, 67), (130, 300, 90), (129, 1000, 65)]


def decay(rows, columns, length=1.0):
    """exp(-|i - j| / length): far from the diagonal subnormal, then 0."""
    distance = np.abs(np.arange(rows)[:, None] * columns / rows - np.arange(columns)[None, :])
    with np.errstate(under="ignore"):
        return np.exp(-distance / length)


def _covariance(rng, m, k, n):
    points = [np.sort(rng.random((count, 1)), 0) for count in (m, k, n)]
    with np.errstate(under="ignore"):
        return tuple(
            np.exp(-((x - y.T) ** 2) / 0.005) for x, y in ((points[0], points[1]), (points[1], points[2]))
        )


def _softmax(rng, m, k, n):
    weights = np.exp(3 * rng.standard_normal((m, k)))
    return weights / weights.sum(1, keepdims=True), rng.standard_normal((k, n))


def _specials(rng, m, k, n):
    a, b = _softmax(rng, m, k, n)
    a, b = a * decay(m, k, 7.0), b * decay(k, n, 5.0)
    a[m // 2, k // 3], b[k // 2, n - 1], b[0, 0] = np.nan, np.inf, -np.inf
    a[m // 3] = 0.0
    return a, b


def _graded(rng, m, k, n, sigma):
    return tuple(
        np.exp(sigma * rng.standard_normal(shape)) * rng.choice([-1.0, 1.0], shape)
        for shape in ((m, k), (k, n))
    )


REAL = {
    "normal": lambda rng, m, k, n: (rng.standard_normal((m, k)), rng.standard_normal((k, n))),
    "covariance x normal": lambda rng, m, k, n: (_covariance(rng, m, k, n)[0], rng.standard_normal((k, n))),
    "covariance x covariance": _covariance,
    "decay squared": lambda rng, m, k, n: (decay(m, k), decay(k, n)),
    "identity + noise": lambda rng, m, k, n: tuple(
        np.eye(*shape) + 1e-8 * rng.standard_normal(shape) for shape in ((m, k), (k, n))
    ),
    "softmax": _softmax,
    "lognormal(3)": lambda rng, m, k, n: _graded(rng, m, k, n, 3.0),
    "lognormal(8)": lambda rng, m, k, n: _graded(rng, m, k, n, 8.0),
    "subnormal": lambda rng, m, k, n: tuple(x * 2.0**-530 for x in _graded(rng, m, k, n, 8.0)),
    "overflowing": lambda rng, m, k, n: tuple(x * 2.0**505 for x in _graded(rng, m, k, n, 8.0)),
    "ends": lambda rng, m, k, n: tuple(
        np.ldexp(rng.standard_normal(shape), rng.integers(-1074, 1021, shape)) for shape in ((m, k), (k, n))
    ),
    "specials": _specials,
}


def real(kind, m, k, n, seed=0, dtype=np.float64):
    rng = np.random.default_rng([seed, m, k, n])
    with np.errstate(over="ignore", under="ignore"):
        return tuple(np.asarray(x, dtype) for x in REAL[kind](rng, m, k, n))


def chains(report):
    return report.certified.chains


def single(kind, pair):
    """In float32, its exponents too."""
    with np.errstate(over="ignore"):
        if kind in ("overflowing", "subnormal", "ends"):
            pair = [np.sign(x) * np.abs(x) ** (1 / 9) for x in pair]
        return tuple(x.astype(np.float32) for x in pair)


@pytest.mark.parametrize("kind", list(REAL))
def test_real_matrices(kind):
    for shape in SHAPES:
        check(*real(kind, *shape), (kind, shape), modes=STANDARD)
    a, b = single(kind, real(kind, 70, 130, 67))
    for x, y in ((a, b), (a, b.astype(np.float64)), (a.astype(np.float64), b)):
        check(x, y, (kind, x.dtype, y.dtype), modes=STANDARD)


@pytest.mark.parametrize("backend", ["int8", "fp4"])
@pytest.mark.parametrize("kind", ["softmax", "decay squared", "lognormal(8)", "specials"])
def test_kernels_and_splits(kind, backend):
    a, b = real(kind, 140, 700, 150)
    expected = ozfp4.matmul(a, b)
    x, y = on_device(a), on_device(b)
    splits = [{"splits": 1}, {"splits": 3}] if backend == "int8" else []
    for options in (*splits, {"overlap": False}, {"direct": False}):
        with forced(**options):
            c = ozfp4.matmul(x, y, backend=backend)
        assert_same_bits(c.cpu(), expected, (kind, backend, options))
    for scheme in ("I", "II"):
        c = ozfp4.matmul(x, y, backend=backend, scheme=scheme)
        assert_same_bits(c.cpu(), expected, (kind, backend, scheme))
    # A plan of more bits gives the same.
    plan = ozfp4.plan(140, 150, 700, backend=backend, accuracy="correct")
    assert_same_bits(ozfp4.matmul(x, y, plan=plan, accuracy="standard").cpu(), expected, (kind, plan.bits))


@pytest.mark.parametrize("k", [2, 15, 16, 17, 63, 65, 20_000, 33_100, 70_000, 131_200])
def test_lengths(k):
    """Lines up to where sums of magnitudes leave 32 bits, and to more pieces of K than are distinguished."""
    for kind in ("normal", "softmax", "lognormal(8)", "overflowing"):
        a, b = real(kind, 19, k, 70)
        check(a, b, (kind, k), modes=STANDARD)
    a, b = np.full((3, k), 1.9), np.full((k, 5), 1.9)  # the largest magnitudes that there are
    a[0, -1] = b[-1, 0] = 2.0**-70
    check(a, b, ("large", k), modes=STANDARD)


@pytest.mark.parametrize("kind", [kind for kind in REAL if kind not in ("ends", "subnormal")])
def test_large(kind):
    m, k, n = 1100, 1300, 1200
    a, b = real(kind, m, k, n)
    c = ozfp4.matmul(on_device(a), on_device(b)).cpu().numpy()
    transposed = ozfp4.matmul(on_device(a.T).T, on_device(b.T).T).cpu().numpy()
    assert_same_bits(transposed, c, kind)
    rng = np.random.default_rng(5)
    rows, columns = rng.choice(m, 60, replace=False), rng.choice(n, 90, replace=False)
    assert_same_bits(c[np.ix_(rows, columns)], ozfp4.matmul(a[rows], b[:, columns]), kind)


def test_a_line_among_others():
    """Few chains, in few tiles; and all of one tile."""
    rng = np.random.default_rng(6)
    a, b = rng.standard_normal((400, 500)), rng.standard_normal((500, 390))
    deep = real("lognormal(8)", 130, 500, 70)
    a[[5, 177, 399]], b[:, [0, 64, 389]] = deep[0][:3], deep[1][:, :3]
    check(a, b, "few", modes=STANDARD)
    a[128:256], b[:, 64:128] = deep[0][:128], deep[1][:, :64]
    check(a, b, "a tile", modes=STANDARD)
