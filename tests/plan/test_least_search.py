"""The search behind csrc/plan/encoding/least_table.hpp, repeated, and proofs that nothing reaches further with fewer products.

The results of the search change with its own code alone: CI runs this (``pytest -m nightly``), make test does not.
"""

from __future__ import annotations

import sys
from itertools import product
from math import gcd, log2, prod
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("scipy")

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "csrc" / "plan" / "encoding" / "least_table.hpp"
sys.path.insert(0, str(ROOT / "tools"))

import find_least_plans  # noqa: E402
from least_plans import beyond, encoding, fp8, header, int8, sets  # noqa: E402

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


# --- FP8 ------------------------------------------------------------------------------------------


def test_fp8_takes_thirty_products_of_121_bits() -> None:
    large = (1283, 1279, 1249, 1223, 1201)
    direct = (49, 47, 43, 41, 37, 32, 31, 29, 27, 25, 23, 19, 17, 13, 11)
    products = fp8.find_products((*large, *direct))
    assert sum(products.values()) == 30
    assert log2(prod(products)) > 121
    assert all(gcd(m, n) == 1 for m in products for n in products if m != n)
    assert 2**14 * fp8.LIMIT**2 == 2**24
    for m in large:
        b = fp8.karatsuba_base(m)
        assert b is not None
        c0, c1 = np.zeros((2, m), dtype=np.int64)
        of = (fp8.PAIRS[0] + b * fp8.PAIRS[1]) % m
        c0[of], c1[of] = fp8.PAIRS
        e, x = c0 + c1, np.arange(m)
        for limbs in (c0, c1, e):
            assert set(limbs.tolist()) <= {int(c) for c in fp8.ALPHABET}
        found = (1 - b) * np.outer(c0, c0) + (b * b - b) * np.outer(c1, c1) + b * np.outer(e, e)
        assert ((found - np.outer(x, x)) % m == 0).all()


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
    """A relaxation that grants every R <= 4 that is not excluded by a lemma; see docs/inside/least-plans.md."""
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
