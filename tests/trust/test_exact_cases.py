"""The cases: their results are those of Python integers, their entries limbs, their sums at the limits and not beyond."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import ozfp4
from ozfp4.backends.kernels import cpu_kernel
from ozfp4.testing import Certificate, assert_same_bits, correct_matmul, exact_matmul, standard_matmul
from ozfp4.trust import exact_cases
from ozfp4.trust.examine import examine

LIMITS = {
    "e2m1": 2**24,
    "fp4": 2**24,
    "int8": 2**24,
    "u8": 2**31 - 2**16,
    "s8": 2**29,
    "fp64": 2**53,
    "words": 2**62,
}
ALPHABETS = exact_cases.ALPHABETS.values()


def names(alphabet: exact_cases.Alphabet) -> str:
    return alphabet.name


@pytest.mark.parametrize("alphabet", ALPHABETS, ids=names)
def test_results_are_those_of_python_integers(alphabet: exact_cases.Alphabet) -> None:
    for case in exact_cases.cases(alphabet, short=True):
        a, b = case.rows_of_a(case.a), case.rows_of_b(case.b)
        m, n, k = case.shape
        assert a.shape == (m, k)
        assert b.shape == (n, k)
        expected = case.expected()
        assert expected.shape == (m, n)
        rows, columns = range(0, m, -(-m // 5)), range(0, n, -(-n // 5))
        for i in rows:
            row = a[i].tolist()
            for j in columns:
                assert expected[i, j] == sum(x * y for x, y in zip(row, b[j].tolist(), strict=True)), (
                    case.name
                )


@pytest.mark.parametrize("alphabet", ALPHABETS, ids=names)
def test_entries_and_sums_keep_to_the_limits(alphabet: exact_cases.Alphabet) -> None:
    limit, largest = LIMITS[alphabet.name], max(abs(alphabet.low), alphabet.high) ** 2
    assert alphabet.k_limit * largest <= limit < (alphabet.k_limit + 1) * largest
    for short in (True, False):
        sums = []
        for case in exact_cases.cases(alphabet, short=short):
            for entries in (case.a, case.b):
                assert np.isin(entries, alphabet.limbs).all(), case.name
            assert case.shape[2] <= alphabet.k_limit
            sums.append(case.expected())
        most, least = max(x.max() for x in sums), min(x.min() for x in sums)
        assert most == alphabet.k_limit * largest
        assert most <= limit
        if alphabet.low < 0:
            assert -limit <= least <= -(alphabet.k_limit - 8) * alphabet.high * -alphabet.low
        # Odd sums near the limit: those that an accumulator of one bit less rounds.
        assert any(((abs(x) > most // 2) & (x % 2 == 1)).any() for x in sums)


@pytest.mark.parametrize("alphabet", ALPHABETS, ids=names)
def test_every_pair_of_limbs_and_every_place_occurs(alphabet: exact_cases.Alphabet) -> None:
    pairs = exact_cases.every_pair(alphabet, 1)
    assert np.array_equal(pairs.expected(), np.outer(alphabet.limbs, alphabet.limbs))
    place = exact_cases.every_place(alphabet, 128, 24, of="rows")
    assert np.array_equal(place.expected(), place.b.T)
    assert len({tuple(column) for column in place.b.T.tolist()}) == 128  # no two places look alike


def test_signs_alternate_in_runs_of_many_lengths() -> None:
    case = exact_cases.alternating(exact_cases.ALPHABETS["e2m1"], 4096, 4)
    runs = []
    for row in case.rows_of_b(case.b)[:, :-1]:
        changes = np.flatnonzero(np.diff(row)) + 1
        runs.append(int(changes[0]))
    assert runs == [1, 4, 16, 32, 64, 256, 2048, 3072]


each_dtype = pytest.mark.parametrize("single", [False, True], ids=["float64", "float32"])


def check_whole(product: exact_cases.WholeProduct, single: bool) -> None:
    assert product.a.dtype == product.b.dtype == (np.float32 if single else np.float64)
    assert_same_bits(exact_matmul(product.a, product.b), product.expected, product.name)
    assert np.isfinite(product.expected).all()
    assert (abs(product.a[product.a != 0]) > 1e-30).all()  # no subnormal numbers


@pytest.mark.slow
@each_dtype
@pytest.mark.parametrize("short", [True, False], ids=["short", "long"])
def test_whole_products(short: bool, single: bool) -> None:
    for product in exact_cases.whole_products(short=short, single=single):
        check_whole(product, single)


@pytest.mark.slow
@each_dtype
def test_products_of_few_lines(single: bool) -> None:
    for product in exact_cases.thin_products(single=single):
        check_whole(product, single)
        assert min(product.expected.shape) <= 8
        assert exact_cases.whole_product_named(product.name).a.strides == product.a.strides


# Of the rows and the columns of a whole product, after which the first ones come again: 7 rows of 40 scales, 5 columns of 50.
ROWS, COLUMNS = 280, 50


@pytest.mark.slow
def test_products_of_tiles() -> None:
    for product in exact_cases.tile_products(256):
        a, b, expected = product.a, product.b, product.expected
        for lines, period in ((a, ROWS), (expected, ROWS), (b.T, COLUMNS), (expected.T, COLUMNS)):
            assert_same_bits(lines[period:], lines[: len(lines[period:])], product.name)
        first = np.ascontiguousarray(expected[:ROWS, :COLUMNS])
        assert_same_bits(exact_matmul(a[:ROWS], b[:, :COLUMNS]), first, product.name)
        assert product.a.shape[1] <= 256
        assert exact_cases.whole_product_named(product.name).a.strides == product.a.strides


@each_dtype
def test_the_repaired_product(single: bool) -> None:
    product = exact_cases.repaired_product(single=single)
    assert product.a.dtype == product.b.dtype == (np.float32 if single else np.float64)
    assert_same_bits(correct_matmul(product.a, product.b), product.expected)
    about = ozfp4.matmul(product.a, product.b, accuracy="correct", report=True)[1].certified
    assert about.repaired > 0.4 * product.expected.size
    # Pairs of FP64 numbers hold the sums of float32 operands, whatever cancels.
    assert (about.repaired_exactly == 0) if single else (about.repaired_exactly > 0.4 * product.expected.size)
    assert exact_cases.whole_product_named(product.name).accuracy == "correct"


def test_products_of_long_lines() -> None:
    for product, bits in zip(exact_cases.long_products(), (106, 60), strict=True):
        assert_same_bits(correct_matmul(product.a, product.b), product.expected, product.name)
        for lines, span in ((product.a, 106), (product.b.T, bits)):
            significands, exponents = np.frexp(lines)
            assert (exponents.max(1) - exponents.min(1) == span - 53).all()
            assert (np.ldexp(np.abs(significands), 53).astype(np.int64) % 2 == 1).all()
        assert exact_cases.whole_product_named(product.name).accuracy == "correct"


@each_dtype
def test_the_chained_product(single: bool) -> None:
    product = exact_cases.chained_product(single=single)
    expected, certificates = standard_matmul(product.a, product.b)
    assert (certificates == Certificate.NONE).all()
    assert_same_bits(expected, product.expected)
    found, about = ozfp4.matmul(product.a, product.b, report=True)
    assert_same_bits(found, product.expected)
    assert about.certified.chains == product.expected.size
    assert exact_cases.whole_product_named(product.name).accuracy == "standard"
    # In the other order, and with products that are rounded by themselves, many entries differ.
    turned = standard_matmul(product.a[:, ::-1], product.b[::-1])[0]
    dtype, apart = product.a.dtype, np.zeros_like(product.expected)
    for k in range(product.a.shape[1]):
        apart += np.multiply.outer(product.a[:, k], product.b[k]).astype(dtype)
    for other in (turned, apart):
        assert (other != product.expected).sum() > 50


@pytest.mark.parametrize("name", ["repaired", "chained"])
def test_the_self_test_notices_a_wrong_entry(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    product = getattr(exact_cases, f"{name}_product")()
    wrong = replace(product, expected=np.nextafter(product.expected, np.inf))
    monkeypatch.setattr(exact_cases, f"{name}_product", lambda: wrong)
    verdict = examine(cpu_kernel("fp64"), short=False)
    assert not verdict.passed
    assert f"{name} product" in str(verdict.reason)
