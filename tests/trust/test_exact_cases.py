"""The cases: their results are those of Python integers, their entries limbs, their sums at the limits and not beyond."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import ozfp4
from ozfp4 import _testing
from ozfp4.testing import Certificate, assert_same_bits, correct_matmul, exact_matmul, standard_matmul

LIMITS = {
    "e2m1": 2**24,
    "fp4": 2**24,
    "int8": 2**24,
    "u8": 2**31 - 2**16,
    "s8": 2**29,
    "fp64": 2**53,
    "integers": 2**62,
}
each_element = pytest.mark.parametrize("element", LIMITS)


def cases(element: str, short: bool) -> list[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """(name, rows of A, columns of B, the product)."""
    return _testing.trust_cases(element, short)


@each_element
def test_results_are_those_of_python_integers(element: str) -> None:
    for name, a, b, expected in cases(element, short=True):
        m, n = expected.shape
        assert (a.shape[0], b.shape[0]) == (m, n)
        columns = range(0, n, -(-n // 5))
        for i in range(0, m, -(-m // 5)):
            row = a[i].tolist()
            for j in columns:
                assert expected[i, j] == sum(x * y for x, y in zip(row, b[j].tolist(), strict=True)), name


@each_element
@pytest.mark.parametrize("short", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_entries_and_sums_keep_to_the_limits(element: str, short: bool) -> None:
    limbs, k_limit = _testing.trust_alphabet(element)
    low, high, limit = min(limbs), max(limbs), LIMITS[element]
    largest = max(abs(low), high) ** 2
    assert limbs == sorted(set(limbs))
    assert k_limit * largest <= limit < (k_limit + 1) * largest
    most = least = 0
    has_odd = False
    for name, a, b, expected in cases(element, short):
        if a.size + b.size < 10**7:
            assert np.isin(np.unique(a), limbs).all(), name
            assert np.isin(np.unique(b), limbs).all(), name
        assert a.shape[1] == b.shape[1] <= k_limit
        most, least = max(most, expected.max()), min(least, expected.min())
        # Odd sums near the limit: those that an accumulator of one bit less rounds.
        has_odd |= bool(((abs(expected) > k_limit * largest // 2) & (expected % 2 == 1)).any())
    assert most == k_limit * largest <= limit
    assert has_odd
    if low < 0:
        assert -limit <= least <= -(k_limit - 8) * high * -low


@each_element
def test_every_pair_of_limbs_and_every_place_occurs(element: str) -> None:
    limbs, _ = _testing.trust_alphabet(element)
    found = {name: (a, b, expected) for name, a, b, expected in cases(element, short=True)}
    assert np.array_equal(found["every pair of limbs, K = 1"][2], np.outer(limbs, limbs))
    _, b, expected = found["each place along K and in rows, K = 128"]
    assert np.array_equal(expected, b.T)
    assert len({tuple(column) for column in b.T.tolist()}) == 128  # no two places look alike


class Whole(NamedTuple):
    """A whole product as a kernel gets it."""

    name: str
    a: np.ndarray
    b: np.ndarray
    expected: np.ndarray
    accuracy: str
    single: bool


def products(kind: str, *, short: bool = False, single: bool = False) -> list[Whole]:
    found = []
    for name, a, b, expected, accuracy, is_single in _testing.trust_products(kind, short, single):
        dtype: Any = np.float32 if is_single else np.float64
        a, b, expected = (x.astype(dtype) for x in (a, b.T, expected))
        found.append(Whole(name, a, b, expected, accuracy, is_single))
    return found


each_dtype = pytest.mark.parametrize("single", [False, True], ids=["float64", "float32"])


@pytest.mark.slow
@each_dtype
@pytest.mark.parametrize("kind", ["whole", "numbers", "thin"])
def test_whole_products(kind: str, single: bool) -> None:
    for product in products(kind, single=single):
        assert product.single == single
        assert product.accuracy == "scaled"
        assert_same_bits(exact_matmul(product.a, product.b), product.expected, product.name)
        assert np.isfinite(product.expected).all()
        assert (abs(product.a[product.a != 0]) > 1e-30).all()  # no subnormal numbers
        assert kind != "thin" or min(product.expected.shape) <= 8


# Periods of whole products: 7 different rows with 40 scales, 5 different columns with 50 scales.
ROWS, COLUMNS = 280, 50


@pytest.mark.slow
def test_products_of_tiles() -> None:
    for product in products("tiles"):
        a, b, expected = product.a, product.b, product.expected
        for lines, period in ((a, ROWS), (expected, ROWS), (b.T, COLUMNS), (expected.T, COLUMNS)):
            assert_same_bits(lines[period:], lines[: len(lines[period:])], product.name)
        first = np.ascontiguousarray(expected[:ROWS, :COLUMNS])
        assert_same_bits(exact_matmul(a[:ROWS], b[:, :COLUMNS]), first, product.name)
        assert product.a.shape[1] <= 256


@each_dtype
def test_the_repaired_product(single: bool) -> None:
    (product,) = products("repaired", single=single)
    assert (product.accuracy, product.single) == ("correct", single)
    assert_same_bits(correct_matmul(product.a, product.b), product.expected)
    about = ozfp4.matmul(product.a, product.b, accuracy="correct", report=True)[1].certified
    assert about.repaired > 0.4 * product.expected.size
    # Pairs of FP64 numbers hold the sums of float32 operands, whatever cancels.
    assert (about.repaired_exactly == 0) if single else (about.repaired_exactly > 0.4 * product.expected.size)


def test_products_of_long_lines() -> None:
    for product, bits in zip(products("long"), (106, 60), strict=True):
        assert product.accuracy == "correct"
        assert_same_bits(correct_matmul(product.a, product.b), product.expected, product.name)
        for lines, span in ((product.a, 106), (product.b.T, bits)):
            significands, exponents = np.frexp(lines)
            assert (exponents.max(1) - exponents.min(1) == span - 53).all()
            assert (np.ldexp(np.abs(significands), 53).astype(np.int64) % 2 == 1).all()


@each_dtype
def test_the_chained_product(single: bool) -> None:
    (product,) = products("chained", single=single)
    assert product.accuracy == "standard"
    expected, certificates = standard_matmul(product.a, product.b)
    assert (certificates == Certificate.NONE).all()
    assert_same_bits(expected, product.expected)
    found, about = ozfp4.matmul(product.a, product.b, report=True)
    assert_same_bits(found, product.expected)
    assert about.certified.chains == product.expected.size
    # In the other order, and with products that are rounded by themselves, many entries differ.
    turned = standard_matmul(product.a[:, ::-1], product.b[::-1])[0]
    dtype, apart = product.a.dtype, np.zeros_like(product.expected)
    for k in range(product.a.shape[1]):
        apart += np.multiply.outer(product.a[:, k], product.b[k]).astype(dtype)
    for other in (turned, apart):
        assert (other != product.expected).sum() > 50
