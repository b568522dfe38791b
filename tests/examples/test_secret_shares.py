"""examples/secret_shares.py: what two parties open is what plain integers give, every bit of it."""

from __future__ import annotations

import numpy as np
import pytest
from secret_shares import Dealer, by_ozfp4, multiply, network, opened_sum, private_network, squares


def integers(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return rng.integers(-(2**63), 2**63 - 1, shape, dtype=np.int64, endpoint=True)


def modulo(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The product modulo 2^64 in Python's integers."""
    sums = x.astype(object) @ y.astype(object) if x.shape[1] else np.zeros((len(x), y.shape[1]), dtype=object)
    return ((sums + 2**63) % 2**64 - 2**63).astype(np.int64)


@pytest.mark.parametrize(("m", "k", "n"), [(1, 1, 1), (5, 33, 7), (4, 0, 3), (0, 4, 2), (16, 200, 9)])
@pytest.mark.parametrize("products", [by_ozfp4, np.matmul])
def test_products_of_shares(m: int, k: int, n: int, products: object) -> None:
    rng = np.random.default_rng([m, k, n])
    x, w = integers(rng, (m, k)), integers(rng, (k, n))
    dealer = Dealer(rng, products)
    found = multiply(dealer.share(x), dealer.share(w), dealer.triple(m, k, n), products)
    assert (opened_sum(found) == modulo(x, w)).all()


def test_squares_of_shares() -> None:
    rng = np.random.default_rng(0)
    x = integers(rng, (7, 5))
    dealer = Dealer(rng)
    assert (opened_sum(squares(dealer.share(x), dealer.square(x.shape))) == x * x).all()


def test_a_network_of_two_layers() -> None:
    rng = np.random.default_rng(1)
    x, first, second = (rng.integers(-128, 128, shape) for shape in ((6, 100), (100, 40), (40, 10)))
    plain = (x.astype(object) @ first.astype(object)) ** 2 @ second.astype(object)
    assert (network(x, first, second) == plain).all()
    dealer = Dealer(rng)
    found = private_network(dealer.share(x), dealer.share(first), dealer.share(second), dealer)
    assert (opened_sum(found) == plain).all()


def test_products_of_floats_do_not_open() -> None:
    def floats(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        sums = x.astype(np.float64) @ y.astype(np.float64)
        return (sums - 2.0**64 * np.rint(sums / 2.0**64)).astype(np.int64)

    rng = np.random.default_rng(2)
    x, w = rng.integers(-128, 128, (3, 20)), rng.integers(-128, 128, (20, 4))
    dealer = Dealer(rng, floats)
    found = multiply(dealer.share(x), dealer.share(w), dealer.triple(3, 20, 4), floats)
    assert (opened_sum(found) != x @ w).any()


def test_the_first_share_does_not_depend_on_the_secret() -> None:
    zeros, ones = (Dealer(np.random.default_rng(3)).share(np.full((4, 4), v)) for v in (0, 1))
    assert (zeros[0] == ones[0]).all()
    assert (opened_sum(ones) == 1).all()
