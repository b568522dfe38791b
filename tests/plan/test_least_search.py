"""The search behind csrc/plan/encoding/least_table.hpp, repeated, and proofs that nothing reaches further with fewer products.

What the search finds changes with its own code alone: CI runs this (``pytest -m nightly``), make test does not.
"""

from __future__ import annotations

import sys
from itertools import combinations, product
from math import gcd, log2, prod
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("scipy")

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "csrc" / "plan" / "encoding" / "least_table.hpp"
sys.path.insert(0, str(ROOT / "tools"))

import find_least_plans  # noqa: E402
from least_plans import beyond, encoding, header, int8, recipes, sets  # noqa: E402

pytestmark = pytest.mark.nightly

S = sorted({0, 1, 2, 3, 4, 6, 8, 12} | {-1, -2, -3, -4, -6, -8, -12})


@pytest.fixture(scope="module")
def searched() -> tuple[dict[int, encoding.Recipe], list[sets.ModuliSet]]:
    return find_least_plans.search()


def test_table_is_the_result_of_the_search(searched: tuple) -> None:
    found, best = searched
    _, best_complex = find_least_plans.search_complex(found)
    assert TABLE.read_text() == header.render(
        found, best, best_complex, int8.nested_moduli(49), int8.complex_moduli(18, 28)
    )


def test_no_modulus_has_fewer_products_than_the_search_says(searched: tuple) -> None:
    """A plain enumeration of some moduli, without the shortcuts of the search."""
    found, _ = searched
    for m in (14, 47, 60, 62, 64):
        units = [u for u in range(1, m) if gcd(u, m) == 1]
        residues = {c % m for c in S}
        karatsuba = any(
            len({(c0 + b * c1) % m for c0, c1 in pairs}) == m
            for s, t in product(units, repeat=2)
            if len(pairs := [c for c in product(S, S) if (s * c[0] + t * c[1]) % m in residues]) >= m
            for b in range(m)
        )
        square = m == 64
        assert (found[m].products == 3) == (karatsuba or square), m


@pytest.mark.parametrize("q", [*range(20, 31), 57, 58, 59])
def test_integer_program_agrees(searched: tuple, q: int) -> None:
    found, best = searched
    solution, bound = sets.solve_program({m: r.products for m, r in found.items()}, q)
    assert solution.product == best[q].product
    assert bound < log2(best[q].product) + 1e-6


@pytest.mark.parametrize("q", [*range(58, 68, 2), 132, 134, 140, 142, 226, 262])
def test_integer_program_agrees_for_complex_products(searched: tuple, q: int) -> None:
    costs, best = find_least_plans.search_complex(searched[0])
    solution, bound = sets.solve_program(costs, q)
    assert solution.product == best[q].product
    assert bound < log2(best[q].product) + 1e-6


def test_dynamic_program_against_all_subsets() -> None:
    """Exhaustive enumeration over a dozen moduli, with many shared primes."""
    few = {m: recipes.find_recipe(m).products for m in (5, 6, 7, 8, 9, 10, 12, 15, 21, 35, 49, 55)}
    for budget, chosen in enumerate(sets.best_sets(few, 12)):
        best = 1
        for size in range(len(few) + 1):
            for moduli in combinations(few, size):
                coprime = all(gcd(m, n) == 1 for m, n in combinations(moduli, 2))
                if coprime and sum(few[m] for m in moduli) <= budget:
                    best = max(best, prod(moduli))
        assert chosen.product == best


# --- 58 products ----------------------------------------------------------------------------------


def test_58_products_do_not_reach_121_bits(searched: tuple) -> None:
    """The optimum at Q = 58 by exact integers, and the dual bound, both below 121 bits."""
    found, best = searched
    _, bound = sets.solve_program({m: r.products for m, r in found.items()}, 58)
    assert best[58].product < 2**121 < best[59].product
    assert bound < 121


def test_58_products_do_not_reach_121_bits_with_recipes_of_any_form_up_to_four_products(
    searched: tuple,
) -> None:
    """A relaxation that grants every R <= 4 that is not excluded by a lemma; see docs/least-plans.md."""
    found, _ = searched
    relaxed = beyond.relaxed_products({m: r.products for m, r in found.items()})
    assert all(relaxed[m] <= r.products for m, r in found.items())
    _, bound = sets.solve_program(relaxed, 58)
    assert bound < 120.5


def test_lemmas_hold_of_this_alphabet() -> None:
    differences = {abs(c - d) for c, d in product(S, S)} - {0}
    assert all(p <= 13 for d in differences for p in sets.prime_factors(d)), (
        "S is injective modulo primes >= 17"
    )
    assert all([c for c in S if c % p == 0] == [0] for p in (5, 7, 11)), "no other multiples"
    assert len(S) < 17


def test_two_non_unit_coefficients_reach_no_other_modulus(searched: tuple) -> None:
    found, _ = searched
    for m in set(range(4, 226)) - set(found):
        non_units = [u for u in range(1, m) if gcd(u, m) > 1]
        for u, v in combinations(non_units, 2):
            if gcd(u, v, m) == 1:
                assert len(np.unique(np.add.outer(np.multiply(u, S), np.multiply(v, S)) % m)) < m, (m, u, v)


@pytest.mark.parametrize("m", [10, 16, 27])
def test_two_products_found(m: int) -> None:
    recipe = beyond.two_products(m)
    assert recipe is not None
    u, w, x_limbs, y_limbs = recipe
    x = np.arange(m)
    assert np.array_equal(u @ x_limbs % m, x)
    assert np.array_equal((w[:, None] * x_limbs).T @ y_limbs % m, np.outer(x, x) % m)


@pytest.mark.parametrize("m", [17, 25, 32, 48, 49, 54, 81])
def test_two_products_impossible(m: int) -> None:
    assert beyond.two_products(m) is None


def test_five_products_of_a_prime() -> None:
    """No prime above 779 has enough points; below, no linear form reaches all residues (one case here)."""
    assert beyond.five_limb_points(1571, 699) == 779
    planes = beyond.five_limb_planes(773, 773)
    assert {points.shape[1] for _, _, points in planes} == {779}
    assert beyond.five_limb_reach(773, planes[0][2]) == 651
