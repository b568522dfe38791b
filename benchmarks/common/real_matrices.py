"""Pairs of float64 matrices that people multiply, with the name of each: ``for name, a, b in pairs(n): ...`` (NumPy).

Covariances, eigenvectors, triangular and banded factors, sparse and block matrices, features in unlike units, decaying
interactions. Seeded: the same matrices on every machine, up to NumPy's own linear algebra.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

Pair = tuple[str, np.ndarray, np.ndarray]


def pairs(n: int, seed: int = 3) -> Iterator[Pair]:
    """Operands of n x n x n products. Range: n >= 16, a multiple of 8."""
    rng = np.random.default_rng(seed)
    yield from _kernels(rng, n)
    yield from _structured(rng, n)
    features = _normal(rng, n) * 10.0 ** rng.uniform(-8, 8, n)
    yield "X^T X, features in unlike units", features.T, features
    weights = np.exp(3 * _normal(rng, n))
    yield "softmax rows x normal", weights / weights.sum(1, keepdims=True), _normal(rng, n)
    with np.errstate(under="ignore"):
        decay = np.exp(-_distance(n))
    yield "decay exp(-|i-j|) squared", decay, decay
    matrix = _normal(rng, n)
    yield "inverse x matrix", np.linalg.inv(matrix), matrix
    yield "permutation x normal", np.eye(n)[rng.permutation(n)], _normal(rng, n)
    yield "lognormal(3)", np.exp(3 * _normal(rng, n)), np.exp(3 * _normal(rng, n))
    yield "lognormal(8), signed", _lognormal(rng, n), _lognormal(rng, n)
    angles = np.cos(np.pi / n * (np.arange(n)[:, None] + 0.5) * np.arange(n)[None, :])
    yield "cosine transform x its transpose", angles, angles.T
    yield "integers up to 100", *(rng.integers(-100, 101, (n, n)).astype(float) for _ in range(2))


def _normal(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.standard_normal((n, n))


def _lognormal(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.exp(8 * _normal(rng, n)) * rng.choice([-1.0, 1.0], (n, n))


def _distance(n: int) -> np.ndarray:
    return np.abs(np.arange(n)[:, None] - np.arange(n)[None, :]).astype(float)


def _kernels(rng: np.random.Generator, n: int) -> Iterator[Pair]:
    points = rng.random((n, 1))
    with np.errstate(under="ignore"):
        kernel = np.exp(-((points - points.T) ** 2) / (2 * 0.05**2))
    yield "covariance x normal", kernel, _normal(rng, n)
    yield "covariance x covariance", kernel, kernel
    values, vectors = np.linalg.eigh(kernel + 1e-6 * np.eye(n))
    yield "eigenvectors: (Q W) Q^T", vectors * values, vectors.T
    q = np.linalg.qr(_normal(rng, n))[0]
    yield "Q x Q^T", q, q.T


def _structured(rng: np.random.Generator, n: int) -> Iterator[Pair]:
    upper = np.triu(_normal(rng, n))
    yield "upper x upper", upper, np.triu(_normal(rng, n))
    yield "lower x upper", upper.T, upper
    band = np.where(_distance(n) < 64, _normal(rng, n), 0.0)
    yield "banded x banded", band, band.T
    sparse = np.where(rng.random((n, n)) < 0.01, _normal(rng, n), 0.0)
    yield "sparse x sparse", sparse, sparse.T
    yield "identity + 1e-8 noise", *(np.eye(n) + 1e-8 * _normal(rng, n) for _ in range(2))
    block = np.zeros((n, n))
    for i in range(0, n, n // 8):
        block[i : i + n // 8, i : i + n // 8] = rng.standard_normal((n // 8, n // 8))
    yield "block diagonal", block, block.T
