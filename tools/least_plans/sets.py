"""Pairwise coprime sets of moduli with the largest product P for a given number of products Q.

`best_sets` is exact: dynamic programming with P as a Python integer. A modulus m <= 225 that has a recipe has at most one prime
factor p >= 13 (13*17 = 221 has no recipe). So a state is no more than the products spent and which of the primes 2, 3, 5, 7, 11
are used. The moduli with the same p are alternatives, each tried against the states from before any of them.

`solve_program` is the same question as an integer program for HiGHS,

    maximise sum_m log2(m) x_m   subject to   sum_m R_m x_m <= Q,   sum_{m: p | m} x_m <= 1 for each prime p,

with a dual bound that is an independent certificate that no set does better.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log2, prod
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

SMALL_PRIMES = (2, 3, 5, 7, 11)


@dataclass(frozen=True)
class ModuliSet:
    products: int
    moduli: tuple[int, ...]

    @property
    def product(self) -> int:
        return prod(self.moduli)

    @property
    def bits(self) -> float:
        return log2(self.product)


def prime_factors(n: int) -> set[int]:
    found, p = set(), 2
    while n > 1:
        while n % p == 0:
            found.add(p)
            n //= p
        p += 1
    return found


_Chain = tuple[int, Any] | tuple[()]  # moduli as a linked list
_State = tuple[int, _Chain]  # product and moduli


def best_sets(products: Mapping[int, int], budget: int) -> list[ModuliSet]:
    """For Q = 0 .. budget the set of largest P within Q products; `products` maps each modulus to its R."""
    groups: dict[int, list[tuple[int, int, int]]] = {}
    for m, r in sorted(products.items()):
        factors = prime_factors(m)
        large = [p for p in factors if p not in SMALL_PRIMES]
        if len(large) > 1:
            raise ValueError(f"modulus {m} has two prime factors above 11")
        mask = sum(1 << i for i, p in enumerate(SMALL_PRIMES) if p in factors)
        # a modulus of small primes only is a separate group: its mask alone decides what it excludes
        groups.setdefault(large[0] if large else -m, []).append((m, r, mask))

    states: dict[tuple[int, int], _State] = {(0, 0): (1, ())}
    for alternatives in groups.values():
        before = list(states.items())
        for m, r, mask in alternatives:
            for (used, spent), (product, moduli) in before:
                key = (used | mask, spent + r)
                if used & mask or key[1] > budget:
                    continue
                if key not in states or states[key][0] < product * m:
                    states[key] = (product * m, (m, moduli))

    best: list[_State] = [(1, ())] * (budget + 1)
    for (_, spent), state in states.items():
        if state[0] > best[spent][0]:
            best[spent] = state
    for q in range(1, budget + 1):
        best[q] = max(best[q], best[q - 1], key=lambda state: state[0])

    def unlink(node: _Chain) -> Iterable[int]:
        while node:
            yield node[0]
            node = node[1]

    order = [tuple(sorted(unlink(node), key=lambda m: (-products[m], -m))) for _, node in best]
    return [ModuliSet(sum(products[m] for m in moduli), moduli) for moduli in order]


def solve_program(products: Mapping[int, int], budget: int) -> tuple[ModuliSet, float]:
    """The integer program above: the best set found and the dual bound in bits."""
    moduli = sorted(products)
    primes = sorted(set().union(*map(prime_factors, moduli)))
    rows = [[float(m % p == 0) for m in moduli] for p in primes]
    rows.append([float(products[m]) for m in moduli])
    upper = [1.0] * len(primes) + [float(budget)]
    result = milp(
        c=[-log2(m) for m in moduli],
        integrality=np.ones(len(moduli)),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(csr_array(rows), -np.inf, upper),
        options={"mip_rel_gap": 0.0},
    )
    if not result.success:
        raise RuntimeError(f"HiGHS: {result.message}")
    chosen = tuple(m for m, x in zip(moduli, result.x, strict=True) if x > 0.5)
    chosen = tuple(sorted(chosen, key=lambda m: (-products[m], -m)))
    return ModuliSet(sum(products[m] for m in chosen), chosen), -result.mip_dual_bound
