"""INT8: the alphabet covers every modulus up to 256 in one product; only coprimality is left to choose."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd

from .gaussian import splits
from .sets import ModuliSet, solve_program

MODULUS_MAX = 256


def nested_moduli(count: int) -> tuple[int, ...]:
    """Descend from 256, take what is coprime to all before: every prefix is a pairwise coprime set."""
    chosen: list[int] = []
    m = MODULUS_MAX
    while len(chosen) < count:
        if all(gcd(m, other) == 1 for other in chosen):
            chosen.append(m)
        m -= 1
    return tuple(chosen)


def complex_moduli(split: int, most: int) -> tuple[int, ...]:
    """For complex products: descend from 256 for `split` moduli that split, at two products each. Then again for those of
    four products, which share no factor with those that split; every prefix is pairwise coprime."""
    chosen: list[int] = []

    def descend(allowed: Callable[[int], bool], count: int) -> None:
        for m in range(MODULUS_MAX, 1, -1):
            if len(chosen) < count and allowed(m) and all(gcd(m, other) == 1 for other in chosen):
                chosen.append(m)

    descend(splits, split)
    descend(lambda m: not any(m % p == 0 for p in range(5, m + 1, 4) if splits(p)), most)
    return tuple(chosen)


def best_set(count: int) -> tuple[ModuliSet, float]:
    """The best `count` moduli, nested or not, with the dual bound in bits."""
    return solve_program(dict.fromkeys(range(2, MODULUS_MAX + 1), 1), count)
