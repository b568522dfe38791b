"""Operands that grade a matrix product, after "How to grade the accuracy of an implementation of the BLAS".

James Demmel, Xiaoye Li, Julien Langou, Weslley Pereira, Mark Gates, Cindy Rubio González, BLIS Retreat 2024. The operands
tell apart what an implementation does inside from its results alone: conventional sums of n products, Strassen-like
recursion, floating point, fixed point. Written from the description of the tests; the docstring of each names its subject.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

UNIT_ROUNDOFF = 2.0**-53


def widest_exponent(n: int) -> int:
    """Largest exponent for which n products of entries in [1, 2) 2^±e stay clear of overflow and underflow."""
    return 512 - math.ceil(math.log2(max(n, 1))) - 2


def uniform(n: int, seed: int = 0) -> tuple[Array, Array]:
    """Entries uniform in [0, 1): the operands of the error-growth criterion."""
    rng = np.random.default_rng([seed, n])
    return rng.random((n, n)), rng.random((n, n))


@dataclass(frozen=True)
class Zeros:
    """Operands of test 1b and the entries of their product that are exactly zero."""

    a: Array
    b: Array
    rows: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int64]


def complementary_zeros(n: int, seed: int = 0) -> Zeros:
    """Test 1b: n/2 rows and columns without common nonzero indices.

    Sums of products give exact zeros there; Strassen-like algorithms, which add entries before they multiply, do not.
    """
    rng = np.random.default_rng([seed, n])
    a, b = rng.standard_normal((n, n)), rng.standard_normal((n, n))
    count = max(1, n // 2)
    rows, columns = (np.sort(rng.permutation(n)[:count]) for _ in range(2))
    for i, j in zip(rows, columns, strict=True):
        order = rng.permutation(n)
        split = int(rng.integers(1, n)) if n > 1 else 0
        a[i, order[:split]] = 0.0
        b[order[split:], j] = 0.0
    return Zeros(a, b, rows, columns)


def graded(n: int, exponent: int, seed: int = 0) -> tuple[Array, Array]:
    """Test 2b: rows x D and columns D⁻¹ x', D of powers of two from 2^exponent down to 2^-exponent.

    Row i of A is x D shifted circularly by i, column j of B likewise D⁻¹ x'. On the diagonal the powers cancel and all
    products have one size: floating point gets these entries right whatever D is. Fixed point with one exponent for a
    row keeps fewer and fewer bits of them as D widens.
    """
    rng = np.random.default_rng([seed, n, exponent])
    x = 1.0 + rng.random(n)
    powers = np.rint(np.linspace(exponent, -exponent, n)).astype(np.int64) if n > 1 else np.zeros(1, np.int64)
    y, z = np.ldexp(x, powers), np.ldexp(x, -powers)
    turned = (np.arange(n)[:, np.newaxis] + np.arange(n)) % n
    return y[turned], z[turned]


def repeated_scales(n: int, block: int, seed: int = 0) -> tuple[Array, Array]:
    """Test 3b: tells fixed from floating point inside Strassen-like algorithms that stop at blocks of `block`.

    Columns of A and rows of B are scaled by powers of two and their inverses in a random order that repeats with `block`.
    The last row of A and the last column of B have the largest scale, so that a fixed-point conversion of whole blocks
    flushes the others to zero.
    """
    rng = np.random.default_rng([seed, n, block])
    top = widest_exponent(n)
    scales = rng.permutation(np.rint(np.linspace(top, -top, block)).astype(np.int64))
    powers = np.resize(scales, n)
    a = np.ldexp(1.0 + rng.random((n, n)), powers)
    b = np.ldexp(1.0 + rng.random((n, n)), -powers[:, np.newaxis])
    a[-1] = np.ldexp(1.0 + rng.random(n), top)
    b[:, -1] = np.ldexp(1.0 + rng.random(n), top)
    return a, b
