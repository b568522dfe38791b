"""Possible gains of recipes of any form: bounds and searches around the question of 58 products at 121 bits.

A recipe of any form has limb functions l_r of x and k_r of y with values in S, and weights w_r. With them sum_r w_r l_r(x)
k_r(y) = x y (mod m). docs/inside/least-plans.md proves the lemmas that are used here:

  - a prime p >= 17 has R in {3, 4} only where Karatsuba or pair recipes exist, and never R <= 2;
  - a modulus with a prime factor q >= 17 and R <= 4 is at most 225. R = 3 needs m triples of S on a plane modulo q
    (`plane_points`), and is Karatsuba when 2 and 3 do not divide m;
  - R = 2 needs primes up to 13, and is decided for each m by `two_products`;
  - R = 5 of a prime that no pair covers needs p points of S**5 in a three-dimensional subspace modulo p
    that is the kernel of an MDS code (`five_limb_planes`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations_with_replacement, permutations, product
from math import gcd

import numpy as np
from numpy.typing import NDArray

from .encoding import ALPHABET
from .recipes import MODULUS_MAX
from .sets import ModuliSet, best_sets, prime_factors, solve_program

Array = NDArray[np.int64]
#: coefficients of l3, of l4, and the points (l0, l1, l2)
Plane = tuple[tuple[int, ...], tuple[int, ...], Array]

#: 121 bits with one product less than the table needs
TARGET_PRODUCTS, TARGET_BITS = 58, 121

_S = np.array(ALPHABET)
_PAIRS = np.array(list(product(ALPHABET, repeat=2))).T
_TRIPLES = np.array(list(product(ALPHABET, repeat=3))).T


def two_products(m: int) -> tuple[Array, ...] | None:
    """Some recipe of two products modulo m, or None when there is none: (u, w, limbs of x, limbs of y).

    The identity w0*l0*k0 + w1*l1*k1 = x*y is bilinear, so it holds on the whole lattice M spanned by the
    limb pairs of all x. It suffices to go through the lattices M with m*Z^2 in M, in Hermite form, the
    decodings x = u*l on M and the weights. Then k is good for y exactly if (w0*k0, w1*k1) = y*u modulo the
    vectors that vanish on M. Units may be moved between w, u and y; u is taken up to such a factor.
    """
    units = [a for a in range(1, m) if gcd(a, m) == 1]
    residues = np.arange(m)
    weights = np.array(list(product(range(m), repeat=2)))
    scaled = (weights[:, :, None] * _PAIRS) % m  # (w0*k0, w1*k1) of every weight pair and limb pair
    index = scaled[:, 0] * m + scaled[:, 1]
    for a, b, c in _hermite_forms(m):
        in_lattice = (_PAIRS[0] % a == 0) & ((_PAIRS[1] - _PAIRS[0] // a * c) % b == 0)
        limbs = _PAIRS[:, in_lattice]
        if limbs.shape[1] < m:
            continue
        null = np.array([(t, n) for n in range(0, m, m // b) for t in range(m) if (t * a + n * c) % m == 0])
        seen: set[tuple[int, int]] = set()
        for u in product(range(m), repeat=2):
            x = (u[0] * limbs[0] + u[1] * limbs[1]) % m
            if u in seen or len(np.unique(x)) < m:
                continue
            multiples = (residues[:, None, None] * u + null) % m  # y*u + null vectors
            seen.update((int(p), int(q)) for p, q in multiples[units].reshape(-1, 2))
            decode = np.full(m * m, m)
            decode[multiples[..., 0] * m + multiples[..., 1]] = residues[:, None]
            y = decode[index]
            reached = np.zeros((len(weights), m + 1), bool)
            reached[np.arange(len(weights))[:, None], y] = True
            for w in np.flatnonzero(reached[:, :m].all(axis=1)):
                l_of = limbs[:, [int(np.flatnonzero(x == r)[0]) for r in residues]]
                k_of = _PAIRS[:, [int(np.flatnonzero(y[w] == r)[0]) for r in residues]]
                return np.array(u), weights[w], l_of, k_of
    return None


def _hermite_forms(m: int) -> Iterator[tuple[int, int, int]]:
    """The lattices m*Z^2 <= M <= Z^2 with basis (a, c), (0, b)."""
    divisors = [d for d in range(1, m + 1) if m % d == 0]
    for a, b in product(divisors, repeat=2):
        yield from ((a, b, c) for c in range(b) if m // a * c % b == 0)


def plane_points(q: int) -> int:
    """The most triples (c0, c1, e) of S with e = s*c0 + t*c1 modulo a prime q, over all units s, t."""
    count = np.zeros(q, dtype=np.int64)
    np.add.at(count, _S % q, 1)
    t = np.arange(1, q)[:, None]
    return max(
        int(count[(s * _PAIRS[0] + t * _PAIRS[1]) % q].sum(axis=1).max()) for s in range(1, q // 2 + 1)
    )


#: the 13-smooth moduli up to 225 without a recipe of two products; a multiple of one has none either
TWO_PRODUCTS_IMPOSSIBLE = (25, 32, 48, 49, 54, 60, 70, 80, 81, 84, 90, 105, 110, 112, 121, 126, 130, 132, 135,
                           154, 156, 165, 169, 176, 182, 189, 195, 198, 208)  # fmt: skip


def relaxed_products(products: Mapping[int, int]) -> dict[int, int]:
    """A lower bound of R for every m <= 225 that needs at most four products, by the lemmas above.

    13-smooth moduli with R >= 3 keep the R of the table: for them nothing is proved.
    """
    lower = dict(products)
    for m in range(2, MODULUS_MAX + 1):
        factors = prime_factors(m)
        large = [p for p in factors if p >= 17]
        if not large:
            if not any(m % n == 0 for n in TWO_PRODUCTS_IMPOSSIBLE):
                lower[m] = min(2, lower.get(m, 2))
        elif factors != {m}:
            if m <= min(map(plane_points, large)) and (m % 2 == 0 or m % 3 == 0):
                lower[m] = 3
            else:
                lower[m] = min(4, lower.get(m, 4))
    return lower


def least_useful_modulus(best: Sequence[ModuliSet], r: int) -> tuple[int, int]:
    """The bound that a modulus coprime to all others must exceed to be of use: alone, and on average with others.

    Several moduli of r products each, j of them, need a geometric mean above (2**bits / P(Q - r*j)) ** (1/j).
    """
    means = [
        (TARGET_BITS - best[TARGET_PRODUCTS - r * j].bits) / j for j in range(1, TARGET_PRODUCTS // r + 1)
    ]
    return int(2 ** means[0]), int(2 ** min(means))


def five_limb_planes(p: int, least: int) -> list[Plane]:
    """Pairs of relations of the limbs modulo a prime p that hold for many points, with the points (l0, l1, l2).

    The relations are l3 = a*(l0, l1, l2) and l4 = b*(l0, l1, l2), with non-zero coefficients and 2x2 minors.
    They hold for at least `least` points of S**5.

    By Cauchy-Schwarz a relation a0*l0 + .. + a3*l3 = 0 has at most sqrt(E(a0/a1) E(a2/a3)) solutions in
    S**4, where E(t) = #{c0 + t*c1 = d0 + t*d1} is the energy of S and t*S; few t have a large one. Since S
    = -S, the signs of l0, l1, l2 may be such that a is in 1 .. p/2, and their order such that a ascends.
    """
    differences = np.zeros(p, dtype=np.int64)
    np.add.at(differences, (_S[:, None] - _S).ravel() % p, 1)
    d = np.flatnonzero(differences)
    energy = np.array([0] + [int((differences[d] * differences[t * d % p]).sum()) for t in range(1, p)])
    ratios = [int(t) for t in np.flatnonzero(energy * energy.max() >= least**2) if 2 * t < p]
    inverse = {t: pow(t, -1, p) for t in ratios}
    in_alphabet = np.zeros(p, bool)
    in_alphabet[_S % p] = True

    def holds(a: Sequence[int], points: Array) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = in_alphabet[(np.array(a) @ points) % p]
        return found

    def admissible(a: Sequence[int]) -> bool:
        return all(
            energy[a[i]] * energy[a[j] * inverse[a[k]] % p] >= least**2
            for i, j, k in ((0, 1, 2), (1, 0, 2), (2, 0, 1))
        )

    first = [
        a
        for a in combinations_with_replacement(ratios, 3)
        if admissible(a) and np.count_nonzero(holds(a, _TRIPLES)) >= least
    ]
    signs = list(product((1,), (1, -1), (1, -1)))
    second = sorted(
        {
            tuple(s * c % p for s, c in zip(sign, order, strict=True))
            for a in first
            for order in permutations(a)
            for sign in signs
        }
    )
    planes: list[Plane] = []
    for a in first:
        points = _TRIPLES[:, holds(a, _TRIPLES)]
        hits = in_alphabet[(np.array(second) @ points) % p]
        for b, hit in zip(second, hits, strict=True):
            minors = (a[i] * b[j] - a[j] * b[i] for i, j in ((0, 1), (0, 2), (1, 2)))
            if np.count_nonzero(hit) >= least and all(minor % p for minor in minors):
                planes.append((a, b, points[:, hit]))
    return planes


def five_limb_points(p: int, least: int) -> int:
    """The most points of S**5 on such a subspace, if `least` or more; else 0."""
    return max((points.shape[1] for _, _, points in five_limb_planes(p, least)), default=0)


def canonical(p: int, a: Sequence[int], b: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """The same for all subspaces that differ by the order and the signs of the five limbs only."""
    relations = np.array([[*a, -1, 0], [*b, 0, -1]])
    candidates = []
    for order in permutations(range(5)):
        # every 2x2 minor is non-zero: reduce the first two columns to the identity, three columns stay
        (e, f), (g, h) = (map(int, row) for row in relations[:, order[:2]])
        inverse = pow(e * h - f * g, -1, p)
        left = relations[:, order[2:]]
        rest = inverse * np.array([h * left[0] - f * left[1], e * left[1] - g * left[0]]) % p
        for sign in product((1, -1), repeat=4):
            # limb 0 keeps its sign, the row of limb 1 turns with limb 1
            turned = rest * np.array([[1], [sign[0]]]) * np.array(sign[1:]) % p
            candidates.append(tuple(tuple(int(c) for c in row) for row in turned))
    return min(candidates)


def five_limb_reach(p: int, points: Array) -> int:
    """The most residues that a linear form takes on the points, over all forms with non-zero coefficients.

    With a zero coefficient a form takes at most 15**2 = 225 values.
    """
    w = np.arange(1, p)[:, None]
    best = 0
    for v in range(1, p):
        x = (points[0] + v * points[1] + w * points[2]) % p
        reached = np.zeros((p - 1, p), bool)
        reached[w - 1, x] = True
        best = max(best, int(reached.sum(axis=1).max()))
    return best


def report(products: Mapping[int, int], best: Sequence[ModuliSet]) -> None:
    """Everything that docs/inside/least-plans.md quotes about 58 products; some minutes."""
    print(f"Q = {TARGET_PRODUCTS}: {best[TARGET_PRODUCTS].bits:.4f} bits with the four kinds of recipes")

    smooth = [m for m in range(2, MODULUS_MAX + 1) if max(prime_factors(m)) <= 13]
    two: list[int] = []
    none: list[int] = []
    for m in smooth:
        if products.get(m) != 1 and not any(m % n == 0 for n in none):
            (none if two_products(m) is None else two).append(m)
    print(f"two products: {two}")
    print(f"not two products, nor any multiple: {none}")
    if tuple(none) != TWO_PRODUCTS_IMPOSSIBLE:
        raise RuntimeError("TWO_PRODUCTS_IMPOSSIBLE is out of date")

    found, bound = solve_program(relaxed_products(products), TARGET_PRODUCTS)
    print(f"relaxation, R <= 4: dual bound {bound:.4f} bits by {found.moduli}")

    with_two = dict(products) | dict.fromkeys(two, 2)
    pairs = zip(best, best_sets(with_two, len(best) - 1), strict=True)
    gains = {
        q: round(new.bits - old.bits, 2) for q, (old, new) in enumerate(pairs) if new.product > old.product
    }
    print(f"recipes of two products would add {{Q: bits}}: {gains}")

    for r in range(5, 12):
        alone, several = least_useful_modulus(best, r)
        print(
            f"R = {r}: a modulus helps only above {alone} alone, {several} on average with others of that R"
        )

    _, least = least_useful_modulus(best, 5)
    for p in (p for p in range(least, 1800) if prime_factors(p) == {p}):
        classes = {canonical(p, a, b): points for a, b, points in five_limb_planes(p, p)}
        reach = [(points.shape[1], five_limb_reach(p, points)) for points in classes.values()]
        print(f"R = 5, p = {p}: (points, residues reached) of each subspace: {reach}", flush=True)
