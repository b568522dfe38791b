"""A neural network on secret-shared data: additive shares modulo 2^64, products by Beaver's triples.

Two parties hold x = x0 + x1 modulo 2^64, each share uniformly random by itself. To multiply shared X and W they use shares of
random A, B and of A B from a dealer, and open only E = X - A and F = W - B, which are as random. Then
X W = A B + E B + A F + E F, and each party adds what it can by itself. Every sum wraps, so every product has to be exact
modulo 2^64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import ozfp4

Array = npt.NDArray[np.int64]
Products = Callable[[Array, Array], Array]  # of int64 matrices, modulo 2^64
Shared = tuple[Array, Array]  # one share for each party


def by_ozfp4(x: Array, y: Array) -> Array:
    """The product modulo 2^64."""
    return ozfp4.matmul(x, y)


@dataclass(frozen=True)
class Triple:
    """Shares of random A, B and of their product."""

    a: Shared
    b: Shared
    ab: Shared


@dataclass(frozen=True)
class Dealer:
    """Makes shares and triples; sees no data of the parties but what it is told to share."""

    random: np.random.Generator
    products: Products = by_ozfp4

    def uniform(self, shape: tuple[int, ...]) -> Array:
        return self.random.integers(-(2**63), 2**63 - 1, shape, dtype=np.int64, endpoint=True)

    def share(self, x: Array) -> Shared:
        mask = self.uniform(x.shape)
        return mask, x - mask

    def triple(self, rows: int, inner: int, columns: int) -> Triple:
        """For a product of (rows, inner) and (inner, columns)."""
        a, b = self.uniform((rows, inner)), self.uniform((inner, columns))
        return Triple(self.share(a), self.share(b), self.share(self.products(a, b)))

    def square(self, shape: tuple[int, ...]) -> Triple:
        """For the squares of the entries: b is a."""
        a = self.share(self.uniform(shape))
        opened = opened_sum(a)
        return Triple(a, a, self.share(opened * opened))


def opened_sum(x: Shared) -> Array:
    """What both parties know after each has sent its share to the other."""
    return x[0] + x[1]


def difference(x: Shared, y: Shared) -> Shared:
    return x[0] - y[0], x[1] - y[1]


def multiply(x: Shared, w: Shared, triple: Triple, products: Products = by_ozfp4) -> Shared:
    """Shares of X W: each party forms E B_i + A_i F as one product, and the first adds E F."""
    e, f = opened_sum(difference(x, triple.a)), opened_sum(difference(w, triple.b))
    first, second = (
        ab + products(np.hstack([e, a]), np.vstack([b, f]))
        for a, b, ab in zip(triple.a, triple.b, triple.ab, strict=True)
    )
    return first + products(e, f), second


def squares(x: Shared, triple: Triple) -> Shared:
    """Shares of the squares of the entries, an activation that needs no comparison."""
    e = opened_sum(difference(x, triple.a))
    first, second = (ab + 2 * e * a for a, ab in zip(triple.a, triple.ab, strict=True))
    return first + e * e, second


def network(x: Array, first: Array, second: Array, products: Products = by_ozfp4) -> Array:
    """(x first)² second in plain integers modulo 2^64."""
    hidden = products(x, first)
    return products(hidden * hidden, second)


def private_network(x: Shared, first: Shared, second: Shared, dealer: Dealer) -> Shared:
    """The same of shares, with triples of the dealer; no party sees anything but shares and random numbers."""
    (rows, inner), (width, columns) = x[0].shape, second[0].shape
    hidden = multiply(x, first, dealer.triple(rows, inner, width), dealer.products)
    hidden = squares(hidden, dealer.square((rows, width)))
    return multiply(hidden, second, dealer.triple(rows, width, columns), dealer.products)
