"""The same question for FP8, for the runtime model alone: this package has no such backend.

E4M3 holds integers of four bits times powers of two. Sums of K products are exact in FP32 while LIMIT**2 K <= 2**24: with
limbs up to 32 up to K = 16384. Recipes as in encoding.py, of Karatsuba's with s = t = 1 alone, with c0 + c1 itself as third
limb. The sets are found, and not proven to be the most.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isqrt

import numpy as np
from numpy.typing import NDArray

LIMIT = 32
POSITIVE = [m for m in range(1, LIMIT + 1) if m < 16 or m % (1 << (m.bit_length() - 4)) == 0]
ALPHABET = np.array([0, *POSITIVE, *(-m for m in POSITIVE)])
_C0, _C1 = (grid.ravel() for grid in np.meshgrid(ALPHABET, ALPHABET))
_KEPT = np.isin(_C0 + _C1, ALPHABET)
PAIRS = np.stack([_C0[_KEPT], _C1[_KEPT]])


def covers(m: int) -> bool:
    return _reaches(m, ALPHABET)


def _reaches(m: int, values: NDArray[np.int64]) -> bool:
    reached = np.zeros(m, bool)
    reached[values % m] = True
    return bool(reached.all())


def karatsuba_base(m: int) -> int | None:
    """Some b with c0 + b c1 in every residue class modulo m, over the limbs with a sum that is a limb."""
    if PAIRS.shape[1] < m:
        return None
    return next((b for b in range(m) if _reaches(m, PAIRS[0] + b * PAIRS[1])), None)


def find_products(moduli: Iterable[int] = range(2, PAIRS.shape[1] + 1)) -> dict[int, int]:
    """Products of every modulus that has a recipe."""
    found = {}
    for m in moduli:
        q = isqrt(m)
        if covers(m):
            found[m] = 1
        elif (q * q == m and covers(q)) or karatsuba_base(m) is not None:
            found[m] = 3
    return found
