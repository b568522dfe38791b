"""The exponential of a matrix by scaling and squaring, its Taylor polynomial by Paterson and Stockmeyer: products alone.

With one word and NumPy's product this is an ordinary program in float64. With two words (double_words.py) every intermediate
matrix has about 106 bits, so that what the squarings amplify stays below the rounding of the result.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from double_words import Array, Update, Words, product, rounded_once, scaled, words_of

# Degree STEP * BLOCKS - 1 = 24: with a norm of 1/2 at most, what is cut off is below 0.5^25 / 25! e^0.5 < 2^-107.
STEP, BLOCKS = 5, 5
LARGEST_NORM = 0.5


def halvings(a: Array) -> int:
    """The least s with |a 2^-s| <= 1/2 in the 1-norm, 0 at least."""
    norm = float(abs(a).sum(axis=0).max(initial=0.0))
    return max(0, math.ceil(math.log2(norm / LARGEST_NORM))) if norm > 0 else 0


def taylor(x: Words, words: int, update: Update) -> Words:
    """The Taylor polynomial of exp at x: 4 products for the powers, one for all sums of them, 4 by Horner's rule."""
    n = len(x[0])
    zero = (np.zeros((n, n)),) * words
    powers = [(np.eye(n), *zero)[:words], (*x, *zero)[:words]]
    while len(powers) <= STEP:
        powers.append(product(powers[-1], x, words=words, update=update))
    last = powers.pop()
    # Row k: the sum over j of X^j / (STEP k + j)!, as a product of coefficients and powers.
    table = [[Fraction(1, math.factorial(STEP * k + j)) for j in range(STEP)] for k in range(BLOCKS)]
    flat = tuple(np.stack([power[w].ravel() for power in powers]) for w in range(words))
    sums = product(words_of(np.array(table), words), flat, words=words, update=update)
    blocks = [tuple(part[k].reshape(n, n) for part in sums) for k in range(BLOCKS)]
    total = blocks.pop()
    while blocks:
        total = product(total, last, plus=blocks.pop(), words=words, update=update)
    return total


def expm(a: Array, *, words: int = 2, update: Update = rounded_once) -> Array:
    """exp(a) of a float64 matrix (n, n), all intermediate matrices in so many words.

    Parameters
    ----------
    a : array (n, n)
    words : int
        1 or 2.
    update : callable
        What multiplies: `double_words.rounded_once`, or `double_words.in_float64` to compare.
    """
    halved = halvings(a)
    result = taylor(scaled((a,), -halved), words, update)
    for _ in range(halved):
        result = product(result, result, words=words, update=update)
    return result[0]
