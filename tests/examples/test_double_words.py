"""examples/double_words.py: products of words are the real ones, rounded word by word, however much cancels."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from double_words import Words, fractions_of, in_float64, product, scaled, words_of


def real(x: Words) -> np.ndarray:
    return sum((fractions_of(word) for word in x[1:]), fractions_of(x[0]))


def pair(rng: np.random.Generator, shape: tuple[int, int]) -> Words:
    high = rng.standard_normal(shape)
    return high, high * 2.0**-53 * rng.uniform(-0.5, 0.5, shape)


@pytest.mark.parametrize(("m", "k", "n"), [(1, 1, 1), (3, 7, 2), (5, 0, 4), (0, 3, 2), (9, 20, 9)])
@pytest.mark.parametrize("words", [1, 2])
def test_each_word_is_what_is_left_rounded_once(m: int, k: int, n: int, words: int) -> None:
    rng = np.random.default_rng([m, k, n])
    x, y, plus = pair(rng, (m, k)), pair(rng, (k, n)), pair(rng, (m, n))
    found = product(x, y, plus=plus, words=words)
    expected = words_of(real(x) @ real(y) + real(plus) if k else real(plus), words)
    assert len(found) == words
    assert all((a == b).all() for a, b in zip(found, expected, strict=True))


def test_what_cancels_is_kept_and_float64_loses_it() -> None:
    rng = np.random.default_rng(1)
    x, y = pair(rng, (4, 6)), pair(rng, (6, 4))
    whole = product(x, y)
    left = product(x, y, plus=tuple(-word for word in whole))[0]
    assert (left == words_of(real(x) @ real(y) - real(whole), 1)[0]).all()
    lost = product(x, y, plus=tuple(-word for word in whole), update=in_float64)[0]
    assert (lost != left).any()


def test_fractions_in_words() -> None:
    third = np.array([[Fraction(1, 3)]], dtype=object)
    high, low = words_of(third)
    assert abs(Fraction(high.item()) + Fraction(low.item()) - Fraction(1, 3)) < Fraction(1, 3 * 2**106)
    assert scaled((high, low), -3)[1] == low / 8
