"""csrc/arith/wide/parts.hpp at every width and every cut, against Python's integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ozfp4._testing import arith
from ozfp4.support.integers import of_words

WORDS = tuple(arith.word_counts())


def to_words(numbers: list[int], words: int) -> np.ndarray:
    return np.array([[(x >> (32 * i)) & 0xFFFFFFFF for i in range(words)] for x in numbers], np.uint32)


def check(low: int, high: int, total: int, cut: int, words: int) -> None:
    """Three numbers as they come: the first is cut, and all are joined modulo 2^(32 words)."""
    modulus = 1 << (32 * words)
    parts, joined = arith.parts(to_words([low, high, total], words), cut)
    assert of_words(parts).tolist() == [low % 2**cut, low >> cut, low % 2**cut + (low >> cut)]
    expected = low + (total - low - high << cut) + (high << 2 * cut)
    assert (int(of_words(joined[np.newaxis])[0]) - expected) % modulus == 0


@pytest.mark.parametrize("words", WORDS)
def test_every_cut(words: int) -> None:
    top = 1 << (32 * words - 2)
    rng = np.random.default_rng(words)
    for cut in range(1, 32 * words - 1):
        random = int.from_bytes(rng.bytes(4 * words), "little") % (2 * top) - top
        for v in (random, top - 1, 1 - top, 2**cut, 2**cut - 1, -(2**cut), -(2**cut) - 1):
            if abs(v) < top:
                check(v, -v >> 3, 5 * v >> 2, cut, words)


@given(st.sampled_from(WORDS), st.data())
def test_the_product_of_any_integers(words: int, data: st.DataObject) -> None:
    """x y from the products of the parts, where it fits: nothing of what comes in between is lost."""
    bits = data.draw(st.integers(2, 16 * words - 2))
    cut = data.draw(st.integers(1, bits - 1))
    x, y = (data.draw(st.integers(-(2**bits), 2**bits)) for _ in range(2))
    low, high, total = (
        u * v for u, v in zip(*((z % 2**cut, z >> cut, z % 2**cut + (z >> cut)) for z in (x, y)), strict=True)
    )
    joined = arith.parts(to_words([low, high, total], words), cut)[1]
    assert int(of_words(joined[np.newaxis])[0]) == x * y
