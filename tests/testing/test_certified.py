"""The reference of accuracy="standard": its definition line by line, and that what it promises holds."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from ozfp4.testing import (
    KINDS,
    STACKS,
    Certificate,
    assert_same_bits,
    correct_matmul,
    error_bound,
    grading,
    line_capacity,
    line_facts,
    operands,
    spread,
    stack_operands,
    standard_matmul,
)
from ozfp4.testing.certified import Facts, certificates, certify, scaled_product
from ozfp4.testing.correct import real_sums

dtypes = pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
FINITE = [kind for kind in KINDS if kind not in ("specials", "infinities")]


def exact_value(sums, i: int, j: int) -> Fraction:
    return Fraction(int(sums.integers[i, j])) * Fraction(2) ** int(sums.rows[i] + sums.columns[j])


def check_promise(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """|V 2^-(s+t) - AB| <= E 2^-(s+t), and <= n u |A||B| where certified; the certificates."""
    precision = 53 if np.promote_types(a.dtype, b.dtype) == np.float64 else 24
    product = scaled_product(a, b, "standard", precision)
    found = certificates(a, b, product, precision)
    exact, size = real_sums(a, b), real_sums(a, b, magnitudes=True)
    n = a.shape[1]
    for i, j in np.ndindex(*found.shape):
        unit = Fraction(2) ** -(product.s[i] + product.t[j])
        error = abs(product.integers[i, j] * unit - exact_value(exact, i, j))
        bound = error_bound(product.rows[i], product.columns[j]) * unit
        assert error <= bound
        if found[i, j] == Certificate.EXACT:
            assert error == 0
        if found[i, j] in (Certificate.DEPTH, Certificate.RESULT):
            assert bound <= n * Fraction(2) ** -precision * exact_value(size, i, j)
    return found


@dtypes
@pytest.mark.parametrize("kind", FINITE)
def test_certified_entries_keep_the_promise(kind: str, dtype: type) -> None:
    for m, k, n in ((5, 7, 4), (4, 1, 4), (3, 60, 5)):
        a, b = operands(kind, m, k, n, dtype=dtype, seed=k)
        check_promise(a, b)
        check_promise(a.astype(np.float64), b)


@dtypes
@pytest.mark.parametrize("kind", FINITE)
def test_the_result_is_scaled_or_correct(kind: str, dtype: type) -> None:
    a, b = operands(kind, 6, 9, 5, dtype=dtype)
    c, found = standard_matmul(a, b)
    correct = correct_matmul(a, b)
    settled = (found == Certificate.NONE) | (found == Certificate.EXACT)
    assert_same_bits(c[settled], correct[settled], kind)


def test_which_certificate() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((4, 1024)), rng.standard_normal((1024, 4))
    assert (check_promise(a, b) == Certificate.DEPTH).all()
    assert {line_capacity("standard", 0, f, 53) for f in line_facts(a)} == {53}
    assert (check_promise(rng.random((4, 99)), rng.random((99, 4))) == Certificate.EXACT).all()
    a, b = spread(rng, (4, 256), 600), spread(rng, (256, 4), 600)
    found = check_promise(a, b)
    assert (found == Certificate.RESULT).any()
    assert (found == Certificate.NONE).any()
    b[:] = 0.0
    assert (check_promise(a, b) == Certificate.EXACT).all()
    assert {line_capacity("correct", 0, f, 53) for f in line_facts(a)} == {76}
    assert {line_capacity("scaled", 11, f, 53) for f in line_facts(a)} == {11}


def test_graded_rows_are_right() -> None:
    for exponent in (8, 64, 504):
        a, b = grading.graded(24, exponent)
        c, _ = standard_matmul(a, b)
        exact, size = real_sums(a, b), real_sums(a, b, magnitudes=True)
        for i, j in np.ndindex(24, 24):
            allowed = 24 * Fraction(2) ** -53 * exact_value(size, i, j) + Fraction(math.ulp(c[i, j])) / 2
            assert abs(Fraction(float(c[i, j])) - exact_value(exact, i, j)) <= allowed


def test_permutations_are_certified() -> None:
    """A row with one entry has one product: few entries of the other operand lie too deep for that."""
    rng = np.random.default_rng(1)
    a, b = np.eye(64)[rng.permutation(64)] / 3, rng.standard_normal((64, 40))
    found = check_promise(a, b)
    assert np.isin(found, (Certificate.EXACT, Certificate.RESULT)).mean() > 0.9


@dtypes
def test_facts(dtype: type) -> None:
    tiny = float(np.finfo(dtype).smallest_subnormal)
    lowest = int(math.log2(tiny))
    rows = np.array([[0, 0, 0], [1.5, -8, 0.25], [tiny, 3 * tiny, -0.0], [math.inf, 4, math.nan]], dtype)
    zero, plain, small, special = line_facts(rows)
    assert (zero.nonzeros, zero.span, zero.depth, zero.k) == (0, 0, 0, 3)
    assert plain == Facts(3, -2, 3, 0 + 3 - 2, 3)
    assert (plain.span, plain.depth) == (6, 8)
    assert small == Facts(lowest + 1, lowest, 2, 2 * lowest + 1, 3)
    assert special == Facts(2, 2, 1, 2, 3)


@pytest.mark.parametrize("precision", [53, 24])
def test_capacities(precision: int) -> None:
    """Every step of the rules, and the last line on this side of it; `span` at least 100 where it is not given."""

    def extra(accuracy: str, k: int, nonzeros: int, depth: int, span: int = 100) -> int:
        facts = Facts(7, 7 - span + 1, nonzeros, 7 * nonzeros - depth, k)
        return line_capacity(accuracy, 0, facts, precision) - precision

    # Mean depths of 15/4, 5.
    assert [extra("standard", 4096, 4096, depth) for depth in (0, 15359, 15360, 20479, 20480)] == [
        0,
        0,
        11,
        11,
        23,
    ]
    # Lemma 3 with o = z = n = 1024: 2 D / o + 1/2 <= 8.
    assert [extra("standard", 1024, 1024, depth) for depth in (0, 3839, 3840)] == [0, 0, 11]
    # o = 512: 7, 11, unless deep.
    assert [extra("standard", 512, 512, depth) for depth in (0, 1664, 1665, 1919, 1920)] == [0, 0, 4, 4, 11]
    # o = 511 takes 4 bits, or 9; o = 15: 3 + 4 - 2.
    assert [extra("standard", 511, 511, depth) for depth in (0, 700, 1916, 1917)] == [4, 4, 4, 9]
    assert [extra("standard", 15, 15, depth) for depth in (0, 33, 34)] == [4, 4, 9]
    # Zeros: o = 2 z - n, of 1 and 0.
    assert [extra("standard", 999, nonzeros, 0) for nonzeros in (999, 756, 755, 500, 499, 1)] == [
        0,
        0,
        4,
        4,
        11,
        11,
    ]
    # Spans.
    spans = range(-3, 7)
    assert [extra("standard", 1024, 1024, 1024, precision + x) for x in spans] == [
        -3,
        -2,
        -1,
        0,
        0,
        2,
        3,
        4,
        0,
        0,
    ]
    assert [extra("standard", 128, 128, 128, precision + x) for x in spans] == [
        -3,
        -2,
        -1,
        0,
        1,
        2,
        3,
        4,
        4,
        4,
    ]
    assert [extra("standard", 50, 50, 200, precision + x) for x in (1, 4, 5, 9, 10)] == [1, 4, 5, 9, 9]
    assert [extra("standard", 50, 50, 250, precision + x) for x in (1, 12, 23, 24)] == [1, 12, 23, 23]
    assert extra("standard", 3, 0, 0, 0) == extra("correct", 3, 1, 0, 1) == 2 - precision
    # "correct": mean depths of 3, 15/4, 5, and spans.
    assert [extra("correct", 8, 4, depth) for depth in (0, 11, 12, 14, 15, 19, 20, 40)] == [
        15,
        15,
        16,
        16,
        19,
        19,
        23,
        23,
    ]
    assert [extra("correct", 8, 4, 20, precision + x) for x in (-1, 15, 23, 24)] == [-1, 15, 23, 23]


def test_the_lines_alone_certify_at_huge_k() -> None:
    """Shallow lines at every K up to 2^31, where the sums of depths are largest."""
    for precision in (53, 24):
        for log_k in range(1, 32):
            k = 2**log_k
            shallow = Facts(0, -1074, k, -k, k)  # mean depth 1
            record = fp64_record(shallow, precision)
            assert certify(record, record, precision) == Certificate.DEPTH
            assert record.capacity - precision == (4 if log_k < 9 else 0)


def test_specials_and_shapes() -> None:
    a, b = operands("specials", 7, 5, 6)
    c, found = standard_matmul(a, b)
    correct = correct_matmul(a, b)
    special = found == Certificate.SPECIAL
    assert_same_bits(c[special], correct[special])
    assert special.any()
    for shapes in STACKS:
        x, y = stack_operands(shapes, dtype=np.float32)
        c, found = standard_matmul(x, y)
        expected = np.matmul(x, y)
        assert (c.shape, found.shape, c.dtype) == (expected.shape, expected.shape, expected.dtype)
