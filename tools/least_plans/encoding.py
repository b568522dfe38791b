"""Recipes, the one rule that encodes a residue, and the check of a recipe by brute force.

A recipe for a modulus m encodes every residue x into limbs in the alphabet S and lists R terms with

    x * y = sum_r w_r * l_r(x) * k_r(y)  (mod m)    for all residues x, y.

Four kinds, each with x = c0 + b*c1 (mod m) and y = d0 + b*d1 (mod m), the same encoding for both operands:

    direct     R = 1   x = c0                       c0*d0
    square     R = 3   m = q*q, b = q               c0*d0 + q*c0*d1 + q*c1*d0
    karatsuba  R = 3   e = s*c0 + t*c1, e in S      (1 - b*s/t)*c0*d0 + (b*b - b*t/s)*c1*d1 + b/(s*t)*e*f
    pair       R = 4                                c0*d0 + b*c0*d1 + b*c1*d0 + b*b*c1*d1

In the Karatsuba line f is the third limb of y. Expanding e*f = (s*c0 + t*c1)*(s*d0 + t*d1) gives the cross
terms s*t*(c0*d1 + c1*d0), hence the weight b/(s*t), and the two squares s*s*c0*d0 and t*t*c1*d1, which the
other two weights take off again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

#: twice the values of E2M1
ALPHABET = (0, 1, -1, 2, -2, 3, -3, 4, -4, 6, -6, 8, -8, 12, -12)

PRODUCTS = {"direct": 1, "square": 3, "karatsuba": 3, "pair": 4}


@dataclass(frozen=True)
class Recipe:
    """One way to multiply residues; `base` is b (q for a square), `s` and `t` are zero but for Karatsuba."""

    modulus: int
    kind: str
    base: int = 0
    s: int = 0
    t: int = 0

    @property
    def products(self) -> int:
        return PRODUCTS[self.kind]


class Limbs(NamedTuple):
    c0: int
    c1: int
    e: int


class Term(NamedTuple):
    """weight * (limb `a` of x) * (limb `b` of y); limbs are numbered 0, 1 and 2 as in Limbs."""

    a: int
    b: int
    weight: int


def smallest_congruent(value: int, m: int) -> int | None:
    """The element of S congruent to `value` modulo m of least magnitude, positive on a tie, or None."""
    # ALPHABET is in this order: ascending magnitude, positive first
    return next((c for c in ALPHABET if (c - value) % m == 0), None)


def preference(limbs: Limbs) -> tuple[int, int, int, int, bool, bool]:
    """A residue is encoded by the limbs that minimise this tuple: small limbs first, then a unique choice."""
    c0, c1, e = limbs
    return (max(abs(c0), abs(c1), abs(e)), c0 * c0 + c1 * c1 + e * e, abs(c1), abs(c0), c0 < 0, c1 < 0)


def encode_all(recipe: Recipe) -> list[Limbs | None]:
    """The limbs of each residue 0 .. m-1; None for a residue that has none."""
    m, b = recipe.modulus, recipe.base
    best: list[Limbs | None] = [None] * m
    for c0 in ALPHABET:
        for c1 in (0,) if recipe.kind == "direct" else ALPHABET:
            e = smallest_congruent(recipe.s * c0 + recipe.t * c1, m) if recipe.kind == "karatsuba" else 0
            if e is None:
                continue
            limbs = Limbs(c0, c1, e)
            x = (c0 + b * c1) % m
            old = best[x]
            if old is None or preference(limbs) < preference(old):
                best[x] = limbs
    return best


def terms(recipe: Recipe) -> list[Term]:
    m, b, s, t = recipe.modulus, recipe.base, recipe.s, recipe.t
    if recipe.kind == "direct":
        return [Term(0, 0, 1)]
    if recipe.kind == "square":
        return [Term(0, 0, 1), Term(0, 1, b), Term(1, 0, b)]
    if recipe.kind == "pair":
        return [Term(0, 0, 1), Term(0, 1, b), Term(1, 0, b), Term(1, 1, b * b % m)]
    s_inv, t_inv = pow(s, -1, m), pow(t, -1, m)
    return [
        Term(0, 0, (1 - b * s * t_inv) % m),
        Term(1, 1, (b * b - b * t * s_inv) % m),
        Term(2, 2, b * s_inv * t_inv % m),
    ]


def verify(recipe: Recipe) -> None:
    """Multiply every pair of residues through the limbs; ValueError names the error of the recipe."""
    m = recipe.modulus
    encoded = encode_all(recipe)
    missing = [x for x, limbs in enumerate(encoded) if limbs is None]
    if missing:
        raise ValueError(f"{recipe}: residue {missing[0]} has no encoding ({len(missing)} of {m} missing)")
    limbs = np.array(encoded, dtype=np.int64)
    product = np.zeros((m, m), dtype=np.int64)
    for a, b, weight in terms(recipe):
        product += weight * np.outer(limbs[:, a], limbs[:, b])
    product %= m
    x = np.arange(m)
    wrong = np.argwhere(product != np.outer(x, x) % m)
    if wrong.size:
        i, j = wrong[0]
        raise ValueError(f"{recipe}: {i} * {j} gives {product[i, j]} modulo {m}")
