"""Products of linear algebra: updates of blocks, residuals of solutions. Also sums of two numbers for each entry, and powers of
two that keep matrices away from the ends of their dtype's range.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._api.gemm import gemm
from .._api.matmul import matmul
from .._report import Report
from ._native import Host, column_sizes, copy, dtype_of, eye, join, numbers, pick, put

# Columns of a panel, which NumPy, SciPy or torch factorises; all else is exact products. A test may take another.
SIZE = 128


def blocks(n: int) -> list[tuple[int, int]]:
    """Begin and end of each block of 0..n, in order; n >= 0."""
    return [(begin, min(begin + SIZE, n)) for begin in range(0, n, SIZE)]


def multiply(a: Any, b: Any, accuracy: str) -> Any:
    """A B. A single matrix leaves its stack for it: that takes less time, and gives the same bits."""
    if len(a) == 1:
        return matmul(a[0], b[0], accuracy=accuracy)[None]
    return matmul(a, b, accuracy=accuracy)


def update(c: Any, a: Any, b: Any, accuracy: str) -> Any:
    """C - A B as new matrices, rounded once. An inner dimension of 0 gives C itself."""
    if a.shape[-1] == 0:
        return c
    if len(a) == 1:
        return gemm(-1.0, a[0], b[0], 1.0, c[0], accuracy=accuracy)[None]
    return gemm(-1.0, a, b, 1.0, c, accuracy=accuracy)


def residual(b: Sequence[Any], a: Any, x: Sequence[Any], report: bool = False) -> tuple[Any, Report | None]:
    """Sum of the B less A times the sum of the X, every entry rounded once from the real number.

    The first B is C of one update; the others, by unit matrices, and an A for each X stand side by side in it.
    """
    unit = eye(b[0].shape[-1], b[0].shape[-1], b[0])
    left = join([*b[1:], *([a] * len(x))], 2)
    right = join([*(-unit for _ in b[1:]), *x], 1)
    if report:
        made: tuple[Any, Report] = gemm(-1.0, left, right, 1.0, b[0], accuracy="correct", report=True)
        return made
    return update(b[0], left, right, "correct"), None


def add(high: Any, low: Any, d: Any) -> tuple[Any, Any]:
    """high + low + d as a pair; its high part is its rounded value.

    Valid for |low| <= u |high| and sums that do not overflow; the error is at most a few u^2 (|high| + |d|). d may be large.
    """
    total = high + d
    back = total - high
    rest = (high - (total - back)) + (d - back) + low  # of high + d without an error (Knuth)
    result = total + rest
    return result, rest - (result - total)


def exponents(a: Any) -> Host:
    """For each matrix, e with its largest magnitude in 2^(e-1)..2^e; 0 for zeros, the end of the range where not finite."""
    largest = column_sizes(a.reshape(len(a), a.shape[1] * a.shape[2], 1))[:, 0]
    return np.where(np.isfinite(largest), np.frexp(largest)[1], _most(a) + 1)


def scaled(x: Any, e: Host) -> Any:
    """2^e X, for each matrix; where e is 0, X as it is."""
    rows = np.flatnonzero(e)
    if rows.size:
        x = copy(x)
        put(x, rows, pick(x, rows) * numbers(2.0 ** e[rows], x)[:, None, None])
    return x


def room(a: Any) -> int:
    """Bits at an end of the range of A's dtype that sums and factors may take: 128 of float64, 16 of float32."""
    return _most(a) // 8


def fits(a: Any) -> Host:
    """Whether entries are finite and, complex ones, 3 bits below the end of the range: BLAS's reciprocals of others are 0."""
    spare = 3 if dtype_of(a).kind == "c" else 0
    return exponents(a) <= _most(a) - spare


def lifts(a: Any) -> Host:
    """e such that 2^e A is well above the subnormal numbers, for each matrix; 0 for one that is."""
    return np.where(exponents(a) < room(a) - _most(a), _most(a) // 2, 0)


def _most(a: Any) -> int:
    """Finite magnitudes are below 2^this."""
    return int(np.finfo(dtype_of(a)).maxexp)
