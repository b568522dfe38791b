"""csrc/arith/wide/column_crt.hpp: the CRT from 16-bit columns, with constants derived here, against Python's integers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ozfp4._testing import arith

MASK32 = 2**32 - 1
INT8_MODULI = (
    256,
    255,
    253,
    251,
    247,
    241,
    239,
    233,
    229,
    227,
    223,
    217,
    211,
    199,
    197,
    193,
    191,
    181,
    179,
    173,
)
FP4_MODULI = (11, 9, 8, 7, 169, 89, 85, 83, 79, 73, 71, 67, 61, 59, 53, 47, 43, 157, 151, 149, 139)


class Crt:
    """One product of moduli as the header wants it, and its reference."""

    def __init__(self, moduli: tuple[int, ...], words: int) -> None:
        self.moduli, self.words = moduli, words
        self.product = math.prod(moduli)
        bound = 2 ** (32 * words) - 2 ** (32 * words - 12)
        self.shift = max(k for k in range(32 * words) if self.product << k < bound)
        self.shifted = self.product << self.shift
        cofactors = [self.product // m for m in moduli]
        self.weights = [c * pow(c, -1, m) << self.shift for c, m in zip(cofactors, moduli, strict=True)]
        self.inverse = 2 ** (32 * words + 30) // self.shifted
        self.offset = -(-((2**15 + 3) << 32) // self.inverse)

    def halfwords(self, x: int) -> list[int]:
        return [(x % 2 ** (32 * self.words)) >> (16 * s) & 0xFFFF for s in range(2 * self.words)]

    def columns(self, low: list[int], high: list[int]) -> list[int]:
        """Sums of residues low + 256 high, at most 255 and 63."""
        parts = [(r, w) for r, w in zip(low, self.weights, strict=True)]
        parts += [(r, 256 * w % self.shifted) for r, w in zip(high, self.weights, strict=True)]
        columns = [0] * (2 * self.words)
        for r, w in parts:
            columns = [c + r * h for c, h in zip(columns, self.halfwords(w), strict=True)]
        return columns

    def solve(self, columns: list[list[int]]) -> tuple[list[int], np.ndarray]:
        """The integers, and which quotients were uncertain."""
        words = [
            [x >> (32 * k) & MASK32 for k in range(self.words)]
            for x in (self.shifted, -(self.product // 2 << self.shift))
        ]
        table, uncertain = arith.column_crt(
            np.array(columns, np.uint32),
            self.inverse,
            self.offset,
            np.array(self.halfwords(-self.shifted), np.uint32),
            *np.array(words, np.uint32),
        )
        found = []
        for row in table:
            x = sum(int(word) << (32 * k) for k, word in enumerate(row))
            x -= 2 ** (32 * self.words) if x >> (32 * self.words - 1) else 0
            assert x % 2**self.shift == 0
            found.append(x >> self.shift)
        return found, uncertain

    def representative(self, x: int) -> int:
        r = x % self.product
        return r - self.product if 2 * r >= self.product else r


CASES = [
    *[Crt(INT8_MODULI[:n], 2) for n in (1, 2, 5, 7, 8)],
    *[Crt(INT8_MODULI[:n], 4) for n in (3, 9, 13, 14, 15, 16)],
    *[Crt(INT8_MODULI[:n], 6) for n in (4, 16, 17, 20)],
    *[Crt(FP4_MODULI[:n], 4) for n in (4, 12, 20, 21)],
]
every_case = pytest.mark.parametrize("crt", CASES, ids=lambda c: f"{len(c.moduli)} moduli, {c.words} words")


def random_integers(crt: Crt, rng: np.random.Generator) -> list[int]:
    half = (crt.product - 1) // 2
    values = [0, 1, half, half - 1, half - (crt.product >> 14), half - (crt.product >> 17)]
    values += [
        int.from_bytes(rng.bytes(24), "little") % (half + 1) >> int(rng.integers(0, half.bit_length() + 1))
        for _ in range(200)
    ]
    values += [half - (half >> int(rng.integers(1, 40))) for _ in range(50)]
    return [*values, *(-v for v in values)]


@every_case
def test_residues_give_the_integer(crt: Crt) -> None:
    values = random_integers(crt, np.random.default_rng(len(crt.moduli)))
    zeros = [0] * len(crt.moduli)
    found, _ = crt.solve([crt.columns([v % m for m in crt.moduli], zeros) for v in values])
    assert found == values


@every_case
def test_sums_over_splits(crt: Crt) -> None:
    """Any low and high byte, the largest ones included; +-P / 2 may come out either way."""
    rng = np.random.default_rng(crt.words)
    n = len(crt.moduli)
    low = [[255] * n, [0] * n, *rng.integers(0, 256, (300, n)).tolist()]
    high = [[63] * n, [63] * n, *rng.integers(0, 64, (300, n)).tolist()]
    columns = [crt.columns(a, b) for a, b in zip(low, high, strict=True)]
    found, _ = crt.solve(columns)
    for x, column in zip(found, columns, strict=True):
        total = sum(c << (16 * s) for s, c in enumerate(column)) >> crt.shift
        assert abs(2 * x) <= crt.product
        assert (x - total) % crt.product == 0
        if 2 * abs(x) != crt.product:
            assert x == crt.representative(total)


@pytest.mark.slow
def test_uncertain_quotients_are_rare_and_near_the_bound() -> None:
    crt = Crt(INT8_MODULI[:15], 4)
    rng = np.random.default_rng(0)
    residues = [[int(rng.integers(0, m)) for m in crt.moduli] for _ in range(20000)]
    found, uncertain = crt.solve([crt.columns(r, [0] * 15) for r in residues])
    assert uncertain.mean() < 2**-10
    for x, flag in zip(found, uncertain, strict=True):
        if flag:
            assert abs(x) > crt.product // 2 - (crt.product >> 12)
