"""Evidence from a few solutions: that a matrix is not singular, that its factors invert it, and its condition number.

Small corrections are no evidence: factors of a singular matrix make them, too. With R about A^-1 and R A rounded once in every
entry, |1 - R A| < 1 in some norm proves that A is regular (of full rank if tall), and that a correction by R leaves no more than
that part of an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ._native import (
    Host,
    Rows,
    column_sizes,
    dtype_of,
    eye,
    is_finite,
    join,
    numbers,
    roundoff,
    to_host,
)
from ._products import exponents, multiply

# About A^-1 times the sum of a few X, or A^-H X, of some matrices of a stack.
Solve = Callable[[Sequence[Any], Rows], Any]

# Right sides of `quick`, and the bound of what they show; of a singular matrix all of them are below it once in 10^12 cases.
_PROBES = 8
_SMALL = 2.0**-6

# The estimate of a condition number (Hager 1984, Higham 1988): steps, and bits that right sides are below the largest entry of
# A, so that those of 2 and sums of columns are in range.
_MOST_STEPS = 5
_BELOW = 8


def quick(a: Any, solve: Solve, b: Any) -> tuple[Host, Any]:
    """About the part of an error that `solve` leaves where that is plainly small, else infinity, and what it makes of B. The cost
    is that of a few right sides more.

    `solve` gives about the X of A X = Y, or of least |Y - A X|. Its factors are those of A + E, with E of a few u |A| unless they
    grew. If A is singular, random right sides give X of about 1 / u, and where the factors grew, an X far from x for Y = A x.
    """
    m, n = a.shape[1:]
    columns, rows = _weights(a)
    columns, rows = columns[:, :, None], rows[:, :, None]
    known = numbers(_probes(n) / columns, a)
    right = [numbers(_probes(m) * rows, a), multiply(a, known, "correct"), b]
    found = solve([join(right, 2)], np.arange(len(a)))
    sizes = to_host(abs(found[:, :, :_PROBES])) * columns
    rest = to_host(abs(found[:, :, _PROBES : 2 * _PROBES] - known)) * columns
    left = np.maximum(
        np.sqrt(n) * rest.max((1, 2), initial=0.0), n * roundoff(a) * sizes.max((1, 2), initial=0.0)
    )
    return np.where(left <= _SMALL, left, np.inf), found[:, :, 2 * _PROBES :]  # infinity of NaN, too


def part_left(a: Any, inverse: Any, error_of_a: float = 0.0) -> Host:
    """The part of an error that R, the `inverse`, leaves for every matrix within `error_of_a` |A| of A, entry by entry; infinite
    where that is not known."""
    n = a.shape[2]
    product = multiply(inverse, a, "correct")
    weights = _weights(a)[0]
    own = numbers(weights, a).real
    rest = abs(eye(n, n, a) - product) * own[:, :, None] / own[:, None]
    part = to_host(rest.sum(2)).astype(np.float64)
    if error_of_a:
        inner = multiply(abs(a), 1 / own[:, :, None], "standard")
        sizes = multiply(abs(inverse), inner, "standard")
        part = part + error_of_a * weights * to_host(sizes)[:, :, 0]
    largest = part.max(1, initial=0.0)
    return np.where(is_finite(inverse) & is_finite(product) & (largest < np.inf), largest, np.inf)


def _weights(a: Any) -> tuple[Host, Host]:
    """Powers of two about the size of each column, and the sizes of the rows of A by them."""
    columns = column_sizes(a)
    columns = np.ldexp(1.0, np.frexp(columns)[1] - 1) * (columns != 0) + (columns == 0)
    return columns, column_sizes((a / numbers(columns, a)[:, None]).swapaxes(1, 2))


def random_numbers(rows: int, columns: int) -> Host:
    """The same at every call, of either sign and 1/2 to 1 in size: what was made by design is not orthogonal to them."""
    rng = np.random.default_rng(rows)
    return rng.choice([-1.0, 1.0], (rows, columns)) * rng.uniform(0.5, 1, (rows, columns))


@lru_cache(maxsize=16)
def _probes(rows: int) -> Host:
    return random_numbers(rows, _PROBES)


def condition_numbers(a: Any, solve: Solve, solve_adjoint: Solve) -> Host:
    """Lower bounds of ||A|| ||A^-1|| in the 1-norm, rarely below a third of it; A is n x n, n >= 1.

    Both norms are of A by a power of two, so that neither is out of range where their product is not.
    """
    scale = 2.0 ** (exponents(a) - _BELOW)
    columns = to_host(abs(a / numbers(scale, a)[:, None, None]).sum(1))
    return np.asarray(columns.max(1) * _inverse_norms(a, scale, solve, solve_adjoint))


def _inverse_norms(a: Any, scale: Host, solve: Solve, solve_adjoint: Solve) -> Host:
    """Norms of A^-1, times `scale`."""
    count, n = a.shape[:2]

    def host(way: Solve, x: Host, rows: Rows) -> Host:
        right = numbers((x * scale[rows, None])[:, :, None], a)
        found = to_host(way([right], rows))[:, :, 0]
        return found.astype(np.result_type(dtype_of(a), np.float64))

    # Where all else hides the norm: alternating signs.
    open_ = np.arange(count)
    alternating = (-1.0) ** np.arange(n) * (1 + np.arange(n) / max(n - 1, 1))
    best: Host = 2 * _totals(host(solve, np.tile(alternating, (count, 1)), open_)) / (3 * n)
    x = np.full((count, n), 1 / n)
    for _ in range(_MOST_STEPS):
        y = host(solve, x, open_)
        best[open_] = np.maximum(best[open_], _totals(y))
        size = np.abs(y)
        z = host(solve_adjoint, np.where(size == 0, 1, y / np.where(size == 0, 1, size)), open_)
        gain = np.abs(z)
        goes_on = np.isfinite(best[open_]) & ~(gain.max(1) <= np.abs((z.conj() * x).sum(1)))
        open_ = open_[goes_on]
        if not open_.size:
            break
        x = np.zeros((len(open_), n))
        x[np.arange(len(open_)), gain.argmax(1)[goes_on]] = 1
    return best


def _totals(y: Host) -> Host:
    """The sums of the magnitudes, infinite as well where infinities have become NaN on their way."""
    totals: Host = np.abs(y).sum(1)
    totals[~np.isfinite(totals)] = np.inf
    return totals
