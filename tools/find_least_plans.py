"""Find the plans of fewest products over the FP4 alphabet and write them as a C++ table.

A product of integers modulo m costs R products of limbs from S = {0, +-1, +-2, +-3, +-4, +-6, +-8, +-12},
twice the values of E2M1. Pairwise coprime moduli of product P > 2 max|C| carry an exact matrix product, so
the question is which moduli reach the largest P within a total of Q products. Three steps answer it:

  recipes    for every m <= 225 the recipe of least R = 1, 3 or 4, over all multipliers b and all (s, t);
             each is multiplied out for all m*m pairs of residues (least_plans/encoding.py, recipes.py)
  sets       for every Q the pairwise coprime set of largest P, by exact dynamic programming, and again as an
             integer program with a dual bound that certifies the optimum (least_plans/sets.py); the same with every modulus at
             its cost for a product of complex integers (least_plans/gaussian.py)
  beyond     what other recipes, with terms of any form, could and could not change (least_plans/beyond.py)

docs/inside/least-plans.md has the mathematics and the results. Needs NumPy and SciPy.

    python tools/find_least_plans.py            search, print the sets, compare with the checked-in table
    python tools/find_least_plans.py --write    search and write csrc/plan/encoding/least_table.hpp
    python tools/find_least_plans.py --beyond   the bounds for one product less at 121 bits
    python tools/find_least_plans.py --fp8      what FP8 would take (least_plans/fp8.py)
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from math import log2, prod
from pathlib import Path

from least_plans import beyond, fp8, gaussian, header, int8
from least_plans.encoding import Recipe, verify
from least_plans.recipes import find_recipes, largest_limb
from least_plans.sets import ModuliSet, best_sets, solve_program

TABLE = Path(__file__).resolve().parents[1] / "csrc" / "plan" / "encoding" / "least_table.hpp"
PRODUCTS_MAX = 126  # more reach no larger P: the recipes end there
INT8_COUNT = 49  # all: every prime up to 251 divides one of them
COMPLEX_SPLIT, COMPLEX_COUNT = 18, 28  # 130 bits, then 209
COMPLEX_PRODUCTS_MAX = 262  # 180 bits: more take more than 30 moduli, of which a GPU takes no planes at once
#: the dual bound of HiGHS is a float; two different P within 2**230 differ by far more than this in bits
BOUND_SLACK = 1e-6


def certify(products: Mapping[int, int], best: Sequence[ModuliSet]) -> None:
    """The integer program must find the same P as the dynamic program, and its dual bound must agree."""
    for q in range(1, len(best)):
        found, bound = solve_program(products, q)
        if found.product != best[q].product or bound > best[q].bits + BOUND_SLACK:
            raise RuntimeError(f"Q = {q}: exact {best[q].bits} bits, HiGHS {found.bits}, dual bound {bound}")


def search() -> tuple[dict[int, Recipe], list[ModuliSet]]:
    recipes = find_recipes()
    best = best_sets({m: r.products for m, r in recipes.items()}, PRODUCTS_MAX)
    for recipe in header.paper_recipes():
        verify(recipe)
    return recipes, best


def search_complex(recipes: Mapping[int, Recipe]) -> tuple[dict[int, int], list[ModuliSet]]:
    """The cost of each modulus in a complex product, and the sets of largest P."""
    costs = gaussian.complex_products({m: r.products for m, r in recipes.items()})
    best = best_sets(costs, COMPLEX_PRODUCTS_MAX)
    return costs, [gaussian.cheapest_first(chosen, costs) for chosen in best]


def print_complex(recipes: Mapping[int, Recipe], best: Sequence[ModuliSet]) -> None:
    print(
        "\nComplex FP4 products: the sets, and the products of Karatsuba's three for moduli that do not split"
    )
    three = best_sets(
        gaussian.complex_products({m: r.products for m, r in recipes.items()}, inert=3), COMPLEX_PRODUCTS_MAX
    )
    for chosen in header.useful_sets(best):
        of_three = next(q for q, other in enumerate(three) if other.product >= chosen.product)
        print(f"{chosen.products:3}  {chosen.bits:7.2f}  {of_three:3}  {' '.join(map(str, chosen.moduli))}")


def print_summary(recipes: Mapping[int, Recipe], best: Sequence[ModuliSet]) -> None:
    for kind in ("direct", "square", "karatsuba", "pair"):
        print(f"{kind}: {' '.join(str(m) for m, r in recipes.items() if r.kind == kind)}")
    print("\n  Q   log2 P  largest limb  moduli")
    for chosen in header.useful_sets(best):
        top = max(largest_limb(recipes[m]) for m in chosen.moduli)
        print(f"{chosen.products:3}  {chosen.bits:7.2f}  {top:12}  {' '.join(map(str, chosen.moduli))}")
    print("\nINT8: bits of the nested moduli, and what the best set of as many moduli would add")
    nested = int8.nested_moduli(INT8_COUNT)
    for count in range(1, 21):
        bits = log2(prod(nested[:count]))
        print(f"{count:3}  {bits:7.2f}  +{int8.best_set(count)[0].bits - bits:.2f}")


def print_fp8() -> None:
    products = fp8.find_products()
    for q in range(24, 33):
        chosen, bound = solve_program(products, q)
        print(f"{q:3}  {chosen.bits:7.2f}  <= {bound:.2f}  {' '.join(map(str, chosen.moduli))}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write csrc/plan/encoding/least_table.hpp")
    parser.add_argument("--beyond", action="store_true", help="report on other recipes")
    parser.add_argument("--fp8", action="store_true", help="print the sets of FP8")
    options = parser.parse_args()

    if options.fp8:
        print_fp8()
        return 0
    recipes, best = search()
    products = {m: r.products for m, r in recipes.items()}
    if options.beyond:
        beyond.report(products, best)
        return 0
    certify(products, best)
    costs, best_complex = search_complex(recipes)
    certify(costs, best_complex)
    print_summary(recipes, best)
    print_complex(recipes, best_complex)
    text = header.render(
        recipes,
        best,
        best_complex,
        int8.nested_moduli(INT8_COUNT),
        int8.complex_moduli(COMPLEX_SPLIT, COMPLEX_COUNT),
    )
    if options.write:
        TABLE.write_text(text)
        return 0
    if not TABLE.exists() or TABLE.read_text() != text:
        print(f"\n{TABLE} differs from this search; run with --write", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
