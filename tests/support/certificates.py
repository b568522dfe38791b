"""Certificates of "correct", and which entries are exact zeros."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ozfp4.testing import Certificate, error_bound, round_to_float
from ozfp4.testing._certified import Record
from ozfp4.testing._oracle import Array, Sums, special_entries


def disjoint(a: Array, b: Array) -> npt.NDArray[np.bool_]:
    """Entries with a row and a column that are nonzero at no common index, so that (A B)_ij = 0; NaN is not zero."""
    common = (a != 0).astype(np.float64) @ (b != 0).astype(np.float64)
    return np.asarray(common == 0)


def correct_certificates(
    a: Array,
    b: Array,
    product: tuple[Sums, Sequence[Record], Sequence[Record]],
    dtype: npt.DTypeLike,
    rounding: str = "nearest",
) -> npt.NDArray[np.int8]:
    """The certificate of every entry in ``accuracy="correct"``: `RESULT` is the rounding test."""
    sums, rows, columns = product
    found = np.zeros(sums.integers.shape, np.int8)
    zeros = disjoint(a, b)
    for i, j in np.ndindex(*found.shape):
        error, exponent = error_bound(rows[i], columns[j]), sums.exponent(i, j)
        low, high = (
            round_to_float(sums.integers[i, j] + x, exponent, dtype, rounding) for x in (-error, error)
        )
        passes = low == high and math.copysign(1, low) == math.copysign(1, high)
        exact = error == 0 or (not passes and zeros[i, j])
        found[i, j] = Certificate.EXACT if exact else Certificate.RESULT if passes else Certificate.NONE
    for entry in special_entries(a, b):
        found[entry] = Certificate.SPECIAL
    return found
