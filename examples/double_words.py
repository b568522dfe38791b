"""Matrices of more than 53 bits, each a sum of float64 matrices, by products of float64 that are rounded once.

The real product of sums of matrices is one product of float64: the terms stand side by side along the inner dimension. Its
first word is that product, rounded; its second is what the first lacks, rounded once after all has cancelled. So two words are
right to about 2^-106 of each entry, whatever cancels. `update` is all that multiplies here.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

import ozfp4

Array = npt.NDArray[np.float64]
Words = tuple[Array, ...]  # their sum is meant; each word is at most about 2^-53 of the one before it
Update = Callable[[Array, Array, "Array | None"], Array]  # x y + c


def rounded_once(x: Array, y: Array, c: Array | None) -> Array:
    """x y + c by ozfp4: the real one, rounded once."""
    if c is None:
        return ozfp4.matmul(x, y, accuracy="correct")
    updated: Array = ozfp4.gemm(1, x, y, 1, c, accuracy="correct")
    return updated


def in_float64(x: Array, y: Array, c: Array | None) -> Array:
    """x y + c by NumPy, to compare: every sum is rounded on the way."""
    sums: Array = x @ y if c is None else x @ y + c
    return sums


def product(x: Words, y: Words, *, plus: Words = (), words: int = 2, update: Update = rounded_once) -> Words:
    """x y + plus in one word or two.

    Parameters
    ----------
    x, y : tuples of arrays (m, k) and (k, n)
    plus : tuple of arrays (m, n)
    words : int
        1 or 2, of the result.
    update : callable
        What multiplies: `rounded_once`, or `in_float64` to compare.
    """
    identity = np.eye(len(x[0]))
    left = np.hstack([a for a in x for _ in y] + [identity for _ in plus])
    right = np.vstack([b for _ in x for b in y] + list(plus))
    high = update(left, right, None)
    return (high,) if words == 1 else (high, update(left, right, -high))


def scaled(x: Words, exponent: int) -> Words:
    """x 2^exponent, exactly where nothing leaves the range of float64."""
    return tuple(np.ldexp(a, exponent) for a in x)


def fractions_of(x: Array) -> npt.NDArray[Any]:
    """The entries as fractions."""
    found = np.empty(x.shape, dtype=object)
    for place, value in np.ndenumerate(x):
        found[place] = Fraction(float(value))
    return found


def words_of(values: npt.NDArray[Any], words: int = 2) -> Words:
    """An array of fractions in so many words: each is what those before it lack, rounded once."""
    found: list[Array] = []
    for _ in range(words):
        found.append(values.astype(np.float64))
        values = values - fractions_of(found[-1])
    return tuple(found)
