"""ozfp4.int8_matmul: INT8 x INT8 -> INT32 bit for bit, against int64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ozfp4
from ozfp4.testing import STACKS, VIEWS, assert_same_bits, constant_columns, constant_rows

both = pytest.mark.parametrize("products", [6, 9])


def exact(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    product = np.matmul(a.astype(np.int64), b.astype(np.int64))
    result = np.asarray(product).astype(np.int32)
    assert (result == product).all()
    return result


def random(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).integers(-128, 128, shape, np.int8)


@both
def test_all_pairs(products: int) -> None:
    v = np.arange(-128, 128, dtype=np.int8)
    c = ozfp4.int8_matmul(v[:, np.newaxis], v[np.newaxis, :], products=products)
    assert c.dtype == np.int32
    assert_same_bits(c, np.multiply.outer(v.astype(np.int32), v.astype(np.int32)))


@both
@pytest.mark.parametrize(
    "shape",
    [(1, 1, 1), (0, 3, 4), (3, 0, 4), (3, 4, 0), (7, 513, 5), (64, 65, 66), (17, 1025, 16), (200, 3, 190)],
    ids=str,
)
def test_random(shape: tuple[int, int, int], products: int) -> None:
    m, k, n = shape
    a, b = random(1, m, k), random(2, k, n)
    before = a.tobytes(), b.tobytes()
    assert_same_bits(ozfp4.int8_matmul(a, b, products=products), exact(a, b))
    assert (a.tobytes(), b.tobytes()) == before


def test_both_plans_agree_and_six_is_the_default() -> None:
    a, b = random(3, 30, 100), random(4, 100, 20)
    assert_same_bits(ozfp4.int8_matmul(a, b), exact(a, b))
    assert_same_bits(ozfp4.int8_matmul(a, b, products=6), ozfp4.int8_matmul(a, b, products=9))


@both
@pytest.mark.parametrize("value", [-128, 127, 85, -101])
def test_constant_matrices(value: int, products: int) -> None:
    for k in (1, 255, 1024, 16384):
        a = np.full((2, k), value, np.int8)
        signs = np.where(np.arange(k) % 2, 1, -1)[:, np.newaxis] * np.array([0, 1])
        b = np.where(signs < 0, np.int8(127), np.int8(-128)).astype(np.int8)
        assert_same_bits(ozfp4.int8_matmul(a, b, products=products), exact(a, b))


@pytest.mark.slow
@both
def test_the_longest_inner_dimension(products: int) -> None:
    k = 131_071
    a = np.full((2, k), -128, np.int8)
    a[1] = 127
    b = np.full((k, 2), -128, np.int8)
    b[::2, 1] = 127
    c = ozfp4.int8_matmul(a, b, products=products)
    assert c[0, 0] == 131_071 * 16384
    assert_same_bits(c, exact(a, b))


@both
@pytest.mark.parametrize("k", [131_072, 200_000])
def test_longer_inner_dimensions_are_refused(k: int, products: int) -> None:
    with pytest.raises(ValueError, match=rf"inner dimension {k} exceeds 131071: .* below 2\*\*31"):
        ozfp4.int8_matmul(np.zeros((1, k), np.int8), np.zeros((k, 1), np.int8), products=products)


@both
@pytest.mark.parametrize("shapes", STACKS, ids=str)
def test_stacks(shapes, products: int) -> None:
    a, b = random(5, *shapes[0]), random(6, *shapes[1])
    c = ozfp4.int8_matmul(a, b, products=products)
    assert isinstance(c, np.ndarray) == isinstance(np.matmul(a, b), np.ndarray)
    assert_same_bits(c, exact(a, b))


@both
@pytest.mark.parametrize("view", [*VIEWS.values(), constant_rows, constant_columns], ids=lambda f: f.__name__)
def test_layouts(view, products: int) -> None:
    a, b = random(7, 19, 40), random(8, 40, 17)
    x, y = view(a), view(b)
    assert_same_bits(ozfp4.int8_matmul(x, y, products=products), exact(x, y))
    assert_same_bits(ozfp4.int8_matmul(y.T, x.T, products=products), exact(y.T, x.T))


@given(st.data(), st.sampled_from([6, 9]))
def test_any_operands(data: st.DataObject, products: int) -> None:
    m, k, n = (data.draw(st.integers(0, 8)) for _ in range(3))
    a = data.draw(hnp.arrays(np.int8, (m, k)))
    b = data.draw(hnp.arrays(np.int8, (k, n)))
    assert_same_bits(ozfp4.int8_matmul(a, b, products=products), exact(a, b))


def test_results_do_not_share_memory() -> None:
    a = random(9, 3, 3)
    c, d = ozfp4.int8_matmul(a, a), ozfp4.int8_matmul(a, a)
    c[...] = 0
    assert_same_bits(d, exact(a, a))
