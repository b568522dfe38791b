"""csrc/plan/encoding/least_table.hpp: every row multiplied out, every set checked.

The reader of the header, the encoder and the verifier are written a second time here, so that only the table counts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations, pairwise, product
from math import gcd, log2, prod
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "csrc" / "plan" / "encoding" / "least_table.hpp"


S = sorted({0, 1, 2, 3, 4, 6, 8, 12} | {-1, -2, -3, -4, -6, -8, -12})


# --- reading the table ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    modulus: int
    kind: str
    products: int
    base: int
    s: int
    t: int


def array_body(name: str) -> str:
    match = re.search(rf"\b{name}\[\d*\] = \{{(.*?)\}};", TABLE.read_text(), re.DOTALL)
    assert match, f"no array {name}"
    return re.sub(r"//.*", "", match[1])


def read_numbers(name: str) -> list[int]:
    return [int(n) for n in re.findall(r"\d+", array_body(name))]


def read_rows() -> list[Row]:
    pattern = r"\{(\d+), RecipeKind::(\w+), (\d+), (\d+), (\d+), (\d+)\}"
    found = re.findall(pattern, array_body("fp4_recipes"))
    return [Row(int(m), kind, int(r), int(b), int(s), int(t)) for m, kind, r, b, s, t in found]


def read_sets(name: str, cost: dict[int, int]) -> dict[int, list[int]]:
    """The sets by their products, in the order of the table."""
    moduli = read_numbers(f"{name}_moduli")
    masks = [int(mask, 16) for mask in re.findall(r"0x[0-9a-f]+", array_body(f"{name}_sets"))]
    assert max(masks) < 2 ** len(moduli)
    sets = [[m for i, m in enumerate(moduli) if mask >> i & 1] for mask in masks]
    return {sum(cost[m] for m in chosen): chosen for chosen in sets}


def complex_cost(m: int) -> int:
    """A modulus with a root of -1 takes two of its recipes, another one four."""
    return (2 if any((r * r + 1) % m == 0 for r in range(m)) and m % 2 else 4) * PRODUCTS[m]


ROWS = read_rows()
PRODUCTS = {row.modulus: row.products for row in ROWS}
COMPLEX_PRODUCTS = {m: complex_cost(m) for m in PRODUCTS}
SETS, COMPLEX_SETS = read_sets("fp4_least", PRODUCTS), read_sets("fp4_complex", COMPLEX_PRODUCTS)


# --- a second encoder and verifier ----------------------------------------------------------------


def encode(row: Row) -> list[tuple[int, int, int]]:
    """Limbs (c0, c1, e) of every residue by the rule in the head of the table."""
    m = row.modulus
    candidates: dict[int, list[tuple]] = {x: [] for x in range(m)}
    for c0, c1 in product(S, [0] if row.kind == "direct" else S):
        e = 0
        if row.kind == "karatsuba":
            thirds = sorted((abs(e), e < 0, e) for e in S if (row.s * c0 + row.t * c1 - e) % m == 0)
            if not thirds:
                continue
            e = thirds[0][2]
        order = (max(abs(c0), abs(c1), abs(e)), c0**2 + c1**2 + e**2, abs(c1), abs(c0), c0 < 0, c1 < 0)
        candidates[(c0 + row.base * c1) % m].append((order, (c0, c1, e)))
    missing = [x for x, found in candidates.items() if not found]
    assert not missing, f"{row}: residues {missing} have no encoding"
    return [min(candidates[x])[1] for x in range(m)]


def multiply(row: Row, x: tuple[int, int, int], y: tuple[int, int, int]) -> int:
    (c0, c1, e), (d0, d1, f), m, b = x, y, row.modulus, row.base
    if row.kind == "direct":
        return c0 * d0 % m
    if row.kind == "square":
        return (c0 * d0 + b * (c0 * d1 + c1 * d0)) % m
    if row.kind == "pair":
        return (c0 * d0 + b * (c0 * d1 + c1 * d0) + b * b * c1 * d1) % m
    s_over_t, t_over_s = row.s * pow(row.t, -1, m), row.t * pow(row.s, -1, m)
    w2 = b * pow(row.s * row.t, -1, m)
    return ((1 - b * s_over_t) * c0 * d0 + (b * b - b * t_over_s) * c1 * d1 + w2 * e * f) % m


def check(row: Row) -> None:
    assert row.products == {"direct": 1, "square": 3, "karatsuba": 3, "pair": 4}[row.kind]
    limbs = encode(row)
    for x, y in product(range(row.modulus), repeat=2):
        got = multiply(row, limbs[x], limbs[y])
        assert got == x * y % row.modulus, f"{row}: {x} * {y} = {got}"


# --- the table ------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.modulus}-{row.kind}")
def test_recipe_multiplies_all_residues(row: Row) -> None:
    check(row)


def test_rows_are_unique_and_used() -> None:
    assert [row.modulus for row in ROWS] == sorted(set(PRODUCTS))
    assert set(PRODUCTS) == {m for sets in (SETS, COMPLEX_SETS) for moduli in sets.values() for m in moduli}


def test_sets_are_coprime_and_ordered() -> None:
    reached = 1
    for q, moduli in SETS.items():
        assert all(gcd(m, n) == 1 for m, n in combinations(moduli, 2)), q
        assert moduli == sorted(moduli, key=lambda m: (-PRODUCTS[m], -m)), q
        assert prod(moduli) > reached, f"Q = {q} reaches no further than fewer products"
        reached = prod(moduli)
    assert list(SETS) == sorted(SETS)


def test_complex_sets_are_coprime_and_ordered() -> None:
    reached = 1
    for q, moduli in COMPLEX_SETS.items():
        assert all(gcd(m, n) == 1 for m, n in combinations(moduli, 2)), q
        assert moduli == sorted(moduli, key=lambda m: -log2(m) / COMPLEX_PRODUCTS[m]), q
        assert prod(moduli) > reached, f"Q = {q} reaches no further than fewer products"
        assert len(moduli) <= 30
        reached = prod(moduli)
    assert list(COMPLEX_SETS) == sorted(COMPLEX_SETS)
    assert reached > 2**180


@pytest.mark.parametrize(("bits", "least"), [(60, 62), (64, 66), (118, 134), (122, 142), (164, 226)])
def test_least_products_of_complex_integers_for_bits(bits: int, least: int) -> None:
    assert next(q for q, moduli in COMPLEX_SETS.items() if prod(moduli) > 2**bits) == least


@pytest.mark.parametrize(("bits", "least"), [(62, 28), (117, 57), (121, 59)])
def test_least_products_for_bits(bits: int, least: int) -> None:
    assert next(q for q, moduli in SETS.items() if prod(moduli) > 2**bits) == least


def test_int8_moduli() -> None:
    moduli = read_numbers("int8_moduli")
    assert len(moduli) == 49
    assert moduli[:4] == [256, 255, 253, 251]
    assert all(gcd(m, n) == 1 for m, n in combinations(moduli, 2))
    for before, after in pairwise(moduli):
        skipped = range(after + 1, before)
        assert all(any(gcd(m, n) > 1 for n in moduli if n > m) for m in skipped), "not the nested greedy list"
    assert prod(moduli[:16]) > 2**125


def test_paper_family() -> None:
    moduli = read_numbers("paper_moduli")
    assert len(moduli) == 19
    assert all(gcd(m, n) == 1 for m, n in combinations(moduli, 2))
    assert prod(moduli) > 2**121
    for m in moduli:
        check(Row(m, "square", 3, 13, 0, 0) if m == 169 else Row(m, "pair", 4, 13, 0, 0))
    karatsuba = read_numbers("paper_karatsuba_moduli")
    assert karatsuba == [83, 73, 71, 67, 61, 59, 53]
    for m in karatsuba:
        row = Row(m, "karatsuba", 3, 13, 1, 1)
        check(row)
        assert all(e == c0 + c1 for c0, c1, e in encode(row)), "the sum itself is the limb, not only modulo m"
