"""Operands with patterns of zeros: most entries of their products are exact zeros, as row and column have no common nonzero
index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Pattern = Callable[[np.random.Generator, int, int], npt.NDArray[np.bool_]]


def _along(lines: int, k: int) -> tuple[Array, Array]:
    """Row and column numbers, those of the rows stretched to reach over all of K."""
    return np.arange(lines)[:, np.newaxis] * k // max(lines, 1), np.arange(k)[np.newaxis, :]


def _banded(rng: np.random.Generator, lines: int, k: int) -> npt.NDArray[np.bool_]:
    i, j = _along(lines, k)
    return np.asarray(abs(i - j) <= 2 + k // 40)


def _lower(rng: np.random.Generator, lines: int, k: int) -> npt.NDArray[np.bool_]:
    i, j = _along(lines, k)
    return np.asarray(j <= i)


def _upper(rng: np.random.Generator, lines: int, k: int) -> npt.NDArray[np.bool_]:
    i, j = _along(lines, k)
    return np.asarray(j >= i)


def _blocks(rng: np.random.Generator, lines: int, k: int) -> npt.NDArray[np.bool_]:
    i, j = _along(lines, k)
    return np.asarray(i // 9 == j // 9)


def _few(rng: np.random.Generator, lines: int, k: int) -> npt.NDArray[np.bool_]:
    return np.asarray(rng.random((lines, k)) < 0.01)


def _one_hot(rng: np.random.Generator, lines: int, k: int) -> npt.NDArray[np.bool_]:
    return np.asarray(rng.integers(0, max(k, 1), (lines, 1)) == np.arange(k))


def _halves(rng: np.random.Generator, lines: int, k: int) -> npt.NDArray[np.bool_]:
    """Each line in one half of K, but for a line in 50."""
    side = rng.integers(0, 2, (lines, 1))
    return np.asarray((np.arange(k) >= k // 2) == side) | (rng.random((lines, 1)) < 0.02)


# Patterns of the rows of A and of the columns of B.
STRUCTURED: dict[str, tuple[Pattern, Pattern]] = {
    "banded": (_banded, _banded),
    "L L^T": (_lower, _lower),
    "L U": (_lower, _lower),
    "U L": (_upper, _upper),
    "L L": (_lower, _upper),
    "block-diagonal": (_blocks, _blocks),
    "1 % dense": (_few, _few),
    "one-hot": (_one_hot, _one_hot),
    "halves": (_halves, _halves),
}


def structured_operands(
    kind: str,
    m: int,
    k: int,
    n: int,
    *,
    seed: int = 0,
    dtype: npt.DTypeLike = np.float64,
    permuted: bool = False,
) -> tuple[Array, Array]:
    """A pair of finite matrices of a pattern: normal entries over 24 binades, so that no line is exact by itself.

    Parameters
    ----------
    kind : str
        A key of ``STRUCTURED``.
    m, k, n : int
        Any extents.
    seed : int
    dtype : float64 or float32
    permuted : bool
        Rows, columns and the inner dimension in a random order.

    Returns
    -------
    a, b : C-contiguous arrays of `dtype`
        A row and a column of zeros are among them, and -0.
    """
    rng = np.random.default_rng([seed, m, k, n, *kind.encode()])
    sides = []
    for pattern, lines in zip(STRUCTURED[kind], (m, n), strict=True):
        x = np.ldexp(rng.standard_normal((lines, k)), rng.integers(-12, 13, (lines, k)))
        x = np.where(pattern(rng, lines, k), x, np.where(rng.random((lines, k)) < 0.5, -0.0, 0.0))
        if lines > 3:
            x[rng.integers(lines)] = 0.0
        sides.append(np.ldexp(x, rng.integers(-40, 41, (lines, 1))))
    if kind == "L L^T" and m == n:
        sides[1] = sides[0]
    if permuted:
        order = rng.permutation(k)
        sides = [x[rng.permutation(len(x))][:, order] for x in sides]
    a, b = (x.astype(dtype) for x in sides)
    return np.ascontiguousarray(a), np.ascontiguousarray(b.T)
