"""Products of complex integers modulo m: what they cost, and in which order the moduli of a set are used.

Where r*r = -1 (mod m), x + iy -> (x + r*y, x - r*y) multiplies each of two residues by itself: two products modulo m. Such r is
where m is odd and all of its prime factors are 1 modulo 4; we say that m splits. The other moduli take four products of x and y.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log2

from .sets import ModuliSet


def splits(m: int) -> bool:
    """Whether the Gaussian integers split modulo `m`."""
    return all(m % p != 0 for p in range(2, m + 1) if p % 4 != 1)


def complex_products(products: Mapping[int, int], inert: int = 4) -> dict[int, int]:
    """Products of limbs for one of complex integers, of each modulus; `inert`: of residues where the modulus does not split."""
    return {m: (2 if splits(m) else inert) * r for m, r in products.items()}


def by_bits_a_product(m: int, costs: Mapping[int, int]) -> tuple[float, int]:
    """A key that sorts moduli by their bits a product, most first."""
    return -log2(m) / costs[m], -m


def cheapest_first(chosen: ModuliSet, costs: Mapping[int, int]) -> ModuliSet:
    """The moduli in the order of their bits a product: those that a shorter result does without are dear."""
    return ModuliSet(chosen.products, tuple(sorted(chosen.moduli, key=lambda m: by_bits_a_product(m, costs))))
