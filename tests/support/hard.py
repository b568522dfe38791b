"""Operands with products that are hard to round, built by solving for them; seeded, as in `generators`.

A *hard kind* fills an m × k by k × n pair. The real product of every row with the first column is a number where rounding
changes, or a tiny remainder off it. Other columns are the first one times powers of two.

>>> a, b = hard_operands("near-ties", 7, 30, 5, seed=1)
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from ozfp4.testing._oracle import real_sums

from .generators import Array, Format

Target = Callable[[np.random.Generator, Format], Fraction]

# Products that the last entries of a row can correct, in pieces of `precision` bits each.
SLOTS = 8


def _power(exponent: int) -> Fraction:
    return Fraction(2) ** exponent


def _sign(rng: np.random.Generator) -> int:
    return 1 if rng.random() < 0.5 else -1


def _pieces(x: Fraction, bits: int) -> list[Fraction]:
    """x as a sum of numbers of so many bits, largest first, each the nearest; the denominator of x is a power of two."""
    found = []
    while x:
        magnitude, down = abs(x).numerator, x.denominator.bit_length() - 1
        drop = max(magnitude.bit_length() - bits, 0)
        rounded = (magnitude + (1 << drop >> 1)) >> drop << drop
        found.append(Fraction(rounded if x > 0 else -rounded, 1 << down))
        x -= found[-1]
    return found


def solve(row: Array, column: Array, target: Fraction, precision: int, slots: int) -> Array:
    """`row` with its last `slots` entries chosen so that its product with `column` is `target`, exactly.

    The column holds powers of two there. ValueError if the remainder has more pieces than there are slots.
    """
    free = len(row) - slots
    sums = real_sums(row[np.newaxis, :free], column[:free, np.newaxis])
    so_far = int(sums.integers[0, 0]) * _power(sums.exponent(0, 0))
    pieces = _pieces(target - so_far, precision)
    if len(pieces) > slots:
        raise ValueError(f"{len(pieces)} pieces do not fit {slots} slots")
    solved: Array = row.copy()
    solved[free:] = 0.0
    for place, piece in enumerate(pieces):
        solved[free + place] = float(piece / Fraction(float(column[free + place])))
    return solved


def _remainder(rng: np.random.Generator, unit: Fraction) -> Fraction:
    """Nothing, or a power of two far below `unit` of either sign."""
    return Fraction(int(rng.integers(-1, 2))) * unit * _power(-int(rng.integers(3, 100)))


def _float(rng: np.random.Generator, f: Format, exponent: int) -> tuple[Fraction, Fraction]:
    """A random float of that exponent, or the power of two itself, and its last place."""
    last = _power(max(exponent - f.precision + 1, f.lowest))
    count = int(_power(exponent) / last)
    digits = count + (int(rng.integers(0, count)) if rng.random() < 0.8 else 0)
    return digits * last, last


def _near_tie(rng: np.random.Generator, f: Format) -> Fraction:
    number, last = _float(rng, f, int(rng.integers(-3, 8)))
    return _sign(rng) * (number + last / 2 + _remainder(rng, last))


def _near_float(rng: np.random.Generator, f: Format) -> Fraction:
    """Where directed rounding changes its mind."""
    number, last = _float(rng, f, int(rng.integers(-3, 8)))
    return _sign(rng) * (number + _remainder(rng, last))


def _subnormal(rng: np.random.Generator, f: Format) -> Fraction:
    """Ties and floats among the subnormal numbers, zero and the smallest normal number included."""
    last = _power(f.lowest)
    digits = int(rng.integers(0, 2 ** int(rng.integers(0, f.precision + 1))))
    half = Fraction(int(rng.integers(0, 2)), 2)
    # The remainder must itself be a product of two floats: 2^(2 lowest) is the smallest.
    return _sign(rng) * ((digits + half) * last + _remainder(rng, last))


def _overflow(rng: np.random.Generator, f: Format) -> Fraction:
    """The largest number, half an ulp above it, the power of two above, and numbers near these."""
    last = _power(f.max_exponent - f.precision + 1)
    number = _power(f.max_exponent + 1) - Fraction(int(rng.integers(0, 4)), 2) * last
    return _sign(rng) * (number + _remainder(rng, last))


def _cancelled(rng: np.random.Generator, f: Format) -> Fraction:
    """The remainder of a sum of numbers of ordinary size: zero, or nearly."""
    digits = int(rng.integers(0, 2**f.precision))
    return (
        _sign(rng)
        * (digits + Fraction(1, 2))
        * _power(-int(rng.integers(80, 120 if f.precision < 53 else 900)))
    )


def _around(rng: np.random.Generator, count: int, f: Format, exponents: tuple[int, int]) -> Array:
    x: Array = (
        np.ldexp(rng.standard_normal(count), rng.integers(*exponents, count))
        .astype(f.dtype)
        .astype(np.float64)
    )
    return x


def _hard(
    target: Target, centre: Callable[[Format], tuple[int, int]], shift: int = 3
) -> Callable[..., tuple[Array, Array]]:
    """Rows and a column of ordinary products around 2^(sum of the centres), the last entries of the row solved for."""

    def kind(rng: np.random.Generator, m: int, k: int, n: int, f: Format) -> tuple[Array, Array]:
        slots = min(SLOTS, k)
        at_a, at_b = centre(f)
        column = _around(rng, k, f, (at_b - 2, at_b + 3))
        column[k - slots :] = np.ldexp(1.0, at_b - rng.integers(0, 3, slots))
        rows = np.zeros((m, k))
        for i in range(m):
            wanted = target(rng, f)
            free = _around(rng, k, f, (at_a - 2, at_a + 3))
            try:
                rows[i] = solve(free, column, wanted, f.precision, slots)
            except ValueError:  # too few slots: the target alone, as far as it goes
                pieces = _pieces(wanted, f.precision)[:slots]
                rows[i] = solve(np.zeros(k), column, sum(pieces, Fraction(0)), f.precision, slots)
        powers = rng.integers(-shift, shift + 1, n)
        powers[:1] = 0
        order = rng.permutation(k)
        return rows[:, order], np.ldexp(column[order, np.newaxis], powers)

    return kind


def _middle(f: Format) -> tuple[int, int]:
    return 0, 0


def _bottom(f: Format) -> tuple[int, int]:
    """Half of the smallest exponent each: their products lie around the smallest subnormal number."""
    return f.lowest // 2 + 4, f.lowest - f.lowest // 2 + 4


def _top(f: Format) -> tuple[int, int]:
    return f.max_exponent // 2 - 2, f.max_exponent - f.max_exponent // 2 - 2


def _single_products(rng: np.random.Generator, m: int, k: int, n: int, f: Format) -> tuple[Array, Array]:
    """K = 1 at heart: odd x and y with a product that is nearly a tie, y = (2^q + r) / x modulo 2^(q + 1)."""
    p = f.precision
    a, b = np.zeros((m, k)), np.zeros((k, n))
    if not (m and k and n):
        return a, b
    x = [int(rng.integers(2 ** (p - 2), 2 ** (p - 1))) * 2 + 1 for _ in range(m)]
    for i in range(m):
        a[i, i % k] = x[i]
    for j in range(n):
        i = j % m
        for _ in range(200):
            # Both tie positions: products of 2 p and of 2 p - 1 bits.
            bits = p - int(rng.integers(0, 2))
            tie = (1 << (bits - 1)) + int(rng.integers(-3, 4))
            y = tie * pow(x[i], -1, 1 << bits) % (1 << bits) + int(rng.integers(0, 2)) * (1 << bits)
            if y.bit_length() == p and (x[i] * y).bit_length() - p == bits:
                b[i % k, j] = y
                break
        else:
            b[i % k, j] = 1.0
    return a, b


def _wide(rng: np.random.Generator, m: int, k: int, n: int, f: Format) -> tuple[Array, Array]:
    """Rows and columns that span the whole range, 2^2000 in FP64, of both signs; products around 1 and their sums."""
    reach = f.max_exponent - 34
    powers = rng.integers(-reach, reach + 1, k)
    a = np.ldexp(rng.standard_normal((m, k)), powers)
    return a, np.ldexp(rng.standard_normal((k, n)), -powers[:, np.newaxis] + rng.integers(-30, 31, (1, n)))


def _graded(rng: np.random.Generator, m: int, k: int, n: int, f: Format) -> tuple[Array, Array]:
    """Rows graded by ±504 (±60 in FP32), shifted from row to row; the columns by the inverses."""
    top = 504 if f.precision == 53 else 60
    powers = np.rint(np.linspace(top, -top, k)).astype(np.int64)
    turn = np.arange(k)
    a = np.ldexp(1.0 + rng.random((m, k)), powers[(turn + np.arange(m)[:, np.newaxis]) % max(k, 1)])
    return a, np.ldexp(1.0 + rng.random((k, n)), -powers[(turn[:, np.newaxis] + np.arange(n)) % max(k, 1)])


def _sparse(rng: np.random.Generator, m: int, k: int, n: int, f: Format) -> tuple[Array, Array]:
    """Rows and columns of few entries of all sizes, empty ones among them, and full ones."""
    a, b = (np.ldexp(rng.standard_normal(s), rng.integers(-40, 41, s)) for s in ((m, k), (k, n)))
    a[rng.random((m, k)) > rng.choice([0.02, 0.1, 0.5, 1.0], (m, 1))] = 0.0
    b[rng.random((k, n)) > rng.choice([0.02, 0.1, 0.5, 1.0], (1, n))] = 0.0
    a[3::7] = 0.0
    return a, b


def _permuted(rng: np.random.Generator, m: int, k: int, n: int, f: Format) -> tuple[Array, Array]:
    """One entry in a row of A, B of the whole range within 2^±60: an entry of C is one product."""
    a = np.zeros((m, k))
    if k:
        a[np.arange(m), rng.integers(0, k, m)] = rng.choice([1.0, -0.5, 1 / 3, 1e-3], m)
    return a, np.ldexp(rng.standard_normal((k, n)), rng.integers(-60, 61, (k, n)))


def _chained(rng: np.random.Generator, m: int, k: int, n: int, f: Format) -> tuple[Array, Array]:
    """No entry has a certificate of "standard": the largest entries of the lines meet zeros."""
    reach = 12
    a, b = (np.ldexp(rng.standard_normal(s), rng.integers(-reach, reach, s)) for s in ((m, k), (k, n)))
    if k > 1:
        a[:, 0], b[0], a[:, -1], b[-1] = 2.0 ** (2 * reach + 30), 0.0, 0.0, 2.0 ** (2 * reach + 30)
    return a, b


HARD: dict[str, Callable[..., tuple[Array, Array]]] = {
    "near-ties": _hard(_near_tie, _middle),
    "near-floats": _hard(_near_float, _middle),
    "subnormal-ties": _hard(_subnormal, _bottom),
    "overflow-thresholds": _hard(_overflow, _top),
    "cancelled": _hard(_cancelled, _middle),
    "single-products": _single_products,
    "wide": _wide,
    "graded": _graded,
    "sparse": _sparse,
    "permuted": _permuted,
    "chained": _chained,
}


def hard_operands(
    kind: str, m: int, k: int, n: int, *, seed: int = 0, dtype: npt.DTypeLike = np.float64
) -> tuple[Array, Array]:
    """A pair of finite matrices of one hard kind.

    Parameters
    ----------
    kind : str
        A key of ``HARD``.
    m, k, n : int
        Any extents; with k < 8 not every target can be met.
    seed : int
    dtype : float64 or float32

    Returns
    -------
    a, b : C-contiguous arrays of `dtype`
    """
    rng = np.random.default_rng([seed, m, k, n, *kind.encode()])
    a, b = HARD[kind](rng, m, k, n, Format(dtype))
    top = float(np.finfo(np.dtype(dtype)).max)
    pair: list[Any] = [np.ascontiguousarray(np.clip(x, -top, top).astype(dtype)) for x in (a, b)]
    return pair[0], pair[1]
