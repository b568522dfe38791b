"""Exhaustive search for the recipe of fewest products of each modulus.

The parameters to search. An encoding x = u*c0 + v*c1 with a unit u becomes x = c0 + b*c1, b = v/u, when x is replaced by x/u.
That is a bijection of the residues that changes the weights and nothing else. When v is the unit, swap the limbs. So one
multiplier b in 0 .. m-1 covers every two-limb encoding with a unit coefficient; those with two non-units exist only for
composite m and reach none that has no multiplier (a test goes through them). For Karatsuba (s, t) and (-s, -t) give limbs e and
-e, equally good since S = -S, so s <= m/2 suffices. No other scaling is used: S has no symmetry but the sign. A modulus above
|S|**2 = 225 has more residues than limb pairs.

Among the valid parameters of the least kind the search takes those with the smallest limbs. It compares the largest limb that
any residue needs, then the sum of the squares of all limbs, then the least (b, s, t).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import gcd, isqrt

import numpy as np
from numpy.typing import NDArray

from .encoding import ALPHABET, Recipe, encode_all, smallest_congruent, verify

Array = NDArray[np.int64]

#: no two-limb encoding reaches further
MODULUS_MAX = len(ALPHABET) ** 2

_C0, _C1 = (grid.ravel() for grid in np.meshgrid(ALPHABET, ALPHABET, indexing="ij"))
#: larger than any cost of a limb triple, so that (largest limb, sum of squares) packs into one integer
_MAX_WEIGHT = 1 << 10


def covers(m: int) -> bool:
    """S has an element in every residue class modulo m."""
    return len({c % m for c in ALPHABET}) == m


def _best_costs(m: int, c0: Array, c1: Array, e: Array) -> Iterator[tuple[int, int, int]]:
    """(largest limb, sum of squares, b) of every multiplier b that makes these limbs reach all residues."""
    cost = np.maximum(np.maximum(abs(c0), abs(c1)), abs(e)) * _MAX_WEIGHT + c0 * c0 + c1 * c1 + e * e
    order = np.argsort(-cost, kind="stable")  # the cheapest triple of a residue is written last and stays
    b = np.arange(m)[:, None]
    least = np.full((m, m), -1)
    least[b, (c0[order] + b * c1[order]) % m] = cost[order]
    for base in np.flatnonzero((least >= 0).all(axis=1)):
        yield int(least[base].max()) // _MAX_WEIGHT, int((least[base] % _MAX_WEIGHT).sum()), int(base)


def find_direct(m: int) -> Recipe | None:
    return Recipe(m, "direct") if covers(m) else None


def find_square(m: int) -> Recipe | None:
    q = isqrt(m)
    return Recipe(m, "square", q) if q * q == m and covers(q) else None


def find_pair(m: int) -> Recipe | None:
    found = min(_best_costs(m, _C0, _C1, np.zeros_like(_C0)), default=None)
    return Recipe(m, "pair", found[2]) if found else None


def find_karatsuba(m: int) -> Recipe | None:
    if not any(True for _ in _best_costs(m, _C0, _C1, np.zeros_like(_C0))):
        return None  # already two limbs miss a residue
    third = [smallest_congruent(r, m) for r in range(m)]
    in_alphabet = np.array([e is not None for e in third])
    limb = np.array([0 if e is None else e for e in third])
    units = [u for u in range(1, m) if gcd(u, m) == 1]
    best: tuple[int, int, int, int, int] | None = None
    for s in (u for u in units if 2 * u <= m):
        for t in units:
            r = (s * _C0 + t * _C1) % m
            keep = in_alphabet[r]
            if np.count_nonzero(keep) < m:
                continue
            for top, squares, b in _best_costs(m, _C0[keep], _C1[keep], limb[r[keep]]):
                if best is None or (top, squares, b, s, t) < best:
                    best = (top, squares, b, s, t)
    return Recipe(m, "karatsuba", *best[2:]) if best else None


def find_recipe(m: int) -> Recipe | None:
    """The recipe of fewest products of m; a square before Karatsuba, for it has a limb plane less."""
    recipe = find_direct(m) or find_square(m) or find_karatsuba(m) or find_pair(m)
    if recipe:
        verify(recipe)
    return recipe


def find_recipes(moduli: Iterable[int] = range(2, MODULUS_MAX + 1)) -> dict[int, Recipe]:
    return {m: recipe for m in moduli if (recipe := find_recipe(m))}


def largest_limb(recipe: Recipe) -> int:
    return max(abs(c) for limbs in encode_all(recipe) if limbs for c in limbs)
