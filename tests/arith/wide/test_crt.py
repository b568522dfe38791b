"""csrc/arith/wide/crt.hpp with the constants of plan/moduli/moduli.cpp, at every width, against Python's integers."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

from ozfp4._testing import arith

WORDS = tuple(arith.word_counts)
MOST_RESIDUE_SUM = 2**31 - 1


def signed(words: np.ndarray) -> int:
    x = sum(int(word) << (32 * i) for i, word in enumerate(words))
    return x - (1 << (32 * len(words))) if x >> (32 * len(words) - 1) else x


def coprime(largest: int, step: int) -> Iterator[int]:
    """Pairwise coprime numbers from `largest` down."""
    found: list[int] = []
    for m in range(largest, 1, -step):
        if all(math.gcd(m, other) == 1 for other in found):
            found.append(m)
            yield m


def moduli_filling(words: int, largest: int, step: int) -> list[int]:
    """As many moduli as the width permits: P times the sum of the residues below 2^(32 words - 1)."""
    chosen: list[int] = []
    for m in coprime(largest, step):
        if math.prod([*chosen, m]) * sum([*chosen, m]) >= 1 << (32 * words - 1):
            break
        chosen.append(m)
    return chosen


CASES = [
    (words, moduli_filling(words, largest, step))
    for words in WORDS
    for largest, step in ((256, 1), (11863283, 2), (2**26 - 5, 1))
]
CASES += [(5, [2]), (20, [3, 2]), (20, moduli_filling(6, 256, 1))]
every_case = pytest.mark.parametrize(
    ("words", "moduli"), CASES, ids=[f"{w} words, {len(m)} moduli to {m[0]}" for w, m in CASES]
)


def solve(values: list[int], moduli: list[int], words: int) -> tuple[list[int], list[int], np.ndarray]:
    residues = np.array([[v % m for m in moduli] for v in values], np.uint32)
    exact, quick, uncertain = arith.crt(residues, moduli, words)
    return [signed(row) for row in exact], [signed(row) for row in quick], uncertain


def values_near_every_decision(product: int, seed: int) -> list[int]:
    rng = np.random.default_rng(seed)
    half = (product - 1) // 2
    values = {0, half, *(half - (half >> int(s)) for s in rng.integers(1, 60, 40))}
    values |= {max(half - d, 0) for d in (1, 2, 1000)} | {
        min(1 << b, half) for b in range(0, half.bit_length(), 5)
    }
    values |= {int.from_bytes(rng.bytes(84), "little") % (half + 1) for _ in range(100)}
    return [*values, *(-v for v in values)]


@every_case
def test_residues_give_the_integer(words: int, moduli: list[int]) -> None:
    values = values_near_every_decision(math.prod(moduli), words)
    exact, quick, uncertain = solve(values, moduli, words)
    assert exact == values
    for value, x, flag in zip(values, quick, uncertain, strict=True):
        assert flag or x == value


@every_case
def test_half_of_an_even_product_is_either_half(words: int, moduli: list[int]) -> None:
    product = math.prod(moduli)
    if product % 2 == 0:
        assert abs(solve([product // 2], moduli, words)[0][0]) == product // 2


def test_the_widest_cases_fill_their_words() -> None:
    for words, moduli in CASES:
        if moduli[0] > 2**22 and len(moduli) > 2:
            assert math.prod(moduli).bit_length() > 32 * words - 60


def test_residues_whose_sum_is_too_large_are_refused() -> None:
    moduli = [2**31 - 1, 2**30 - 1]
    assert sum(m - 1 for m in moduli) > MOST_RESIDUE_SUM
    with pytest.raises(ValueError, match=str(MOST_RESIDUE_SUM)):
        arith.crt(np.zeros((1, 2), np.uint32), moduli, 5)
