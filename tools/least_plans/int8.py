"""INT8: the alphabet covers every modulus up to 256 in one product; only coprimality is left to choose."""

from __future__ import annotations

from math import gcd

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


def best_set(count: int) -> tuple[ModuliSet, float]:
    """The best `count` moduli, nested or not, with the dual bound in bits."""
    return solve_program(dict.fromkeys(range(2, MODULUS_MAX + 1), 1), count)
