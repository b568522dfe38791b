"""The reference of accuracy="standard": its definition line by line, and that what it promises holds."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from ozfp4.testing import (
    Certificate,
    assert_same_bits,
    correct_matmul,
    error_bound,
    line_capacity,
    line_facts,
    standard_matmul,
)
from ozfp4.testing._certified import Facts, certify, scaled_product, standard_record
from ozfp4.testing._oracle import real_sums
from support import KINDS, STACKS, grading, operands, spread, stack_operands
from support.dtypes import both_types
from support.update import round_fraction

FINITE = [kind for kind in KINDS if kind not in ("specials", "infinities")]


def exact_value(sums, i: int, j: int) -> Fraction:
    return Fraction(int(sums.integers[i, j])) * Fraction(2) ** sums.exponent(i, j)


def check_promise(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """|V 2^-(s+t) - AB| <= E 2^-(s+t), and <= (n - 1) u |A||B| where certified; the result is fl(AB + d) with |d| at most that,
    and (n - 1) eta / 2 more of a chain. The certificates."""
    dtype = np.promote_types(a.dtype, b.dtype)
    precision, tiny = (53, -1074) if dtype == np.float64 else (24, -149)
    sums, rows, columns = scaled_product(a, b, "standard", precision)
    result, found = standard_matmul(a, b)
    exact, size = real_sums(a, b), real_sums(abs(a), abs(b))
    for i, j in np.ndindex(*found.shape):
        unit = Fraction(2) ** sums.exponent(i, j)
        value = exact_value(exact, i, j)
        error = abs(sums.integers[i, j] * unit - value)
        bound = error_bound(rows[i], columns[j]) * unit
        assert error <= bound
        n = min(rows[i].facts.nonzeros, columns[j].facts.nonzeros)
        allowed = max(n - 1, 0) * Fraction(2) ** -precision * exact_value(size, i, j)
        if found[i, j] == Certificate.EXACT:
            assert error == 0
            allowed = Fraction(0)
        elif found[i, j] == Certificate.NONE:
            allowed += max(n - 1, 0) * Fraction(2) ** (tiny - 1)
        else:
            assert found[i, j] in (Certificate.DEPTH, Certificate.MAGNITUDE)
            assert bound <= allowed
        with np.errstate(over="ignore"):
            low, high = (round_fraction(x, dtype) for x in (value - allowed, value + allowed))
        assert low <= result[i, j] <= high
    return found


@both_types
@pytest.mark.parametrize("kind", FINITE)
def test_certified_entries_keep_the_promise(kind: str, dtype: type) -> None:
    for m, k, n in ((5, 7, 4), (4, 1, 4), (3, 60, 5)):
        a, b = operands(kind, m, k, n, dtype=dtype, seed=k)
        check_promise(a, b)
        check_promise(a.astype(np.float64), b)


@both_types
@pytest.mark.parametrize("kind", FINITE)
def test_the_result_is_scaled_or_a_chain(kind: str, dtype: type) -> None:
    a, b = operands(kind, 6, 9, 5, dtype=dtype)
    c, found = standard_matmul(a, b)
    exact = found == Certificate.EXACT
    assert_same_bits(c[exact], correct_matmul(a, b)[exact], kind)
    for i, j in zip(*np.nonzero(found == Certificate.NONE), strict=True):
        assert_same_bits(c[i, j], dtype(round_fraction(by_steps(a[i], b[:, j], dtype), dtype)), kind)


def by_steps(row: np.ndarray, column: np.ndarray, dtype: type) -> Fraction:
    """A chain by fractions, one number after the other; where it leaves the finite numbers, of smaller ones."""
    for shift in (0, 540 if dtype == np.float64 else 80):
        total = Fraction(0)
        for x, y in zip(row.tolist(), column.tolist(), strict=True):
            x, y = (Fraction(round_fraction(Fraction(z) / 2**shift, dtype)) for z in (x, y))
            rounded = round_fraction(total + x * y, dtype)
            if math.isinf(rounded):
                break
            total = Fraction(rounded)
        else:
            return total * 4**shift
    raise AssertionError("it overflows twice")


def test_which_certificate() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((4, 1024)), rng.standard_normal((1024, 4))
    assert (check_promise(a, b) == Certificate.DEPTH).all()
    assert {line_capacity("standard", 0, f, 53) for f in line_facts(a)} == {57}
    assert (check_promise(rng.random((4, 99)), rng.random((99, 4))) == Certificate.EXACT).all()
    a, b = spread(rng, (4, 256), 600), spread(rng, (256, 4), 600)
    assert (check_promise(a, b) == Certificate.NONE).any()
    a, b = spread(rng, (4, 256), 30), spread(rng, (256, 4), 30)
    a[:, ::2], b[1::4] = 0.0, 0.0
    assert (check_promise(a, b) == Certificate.MAGNITUDE).any()
    b[:] = 0.0
    assert (check_promise(a, b) == Certificate.EXACT).all()
    assert {line_capacity("correct", 0, f, 53) for f in line_facts(a)} == {76}
    assert {line_capacity("scaled", 11, f, 53) for f in line_facts(a)} == {11}


def test_graded_rows_are_right() -> None:
    for exponent in (8, 64, 504):
        a, b = grading.graded(24, exponent)
        c, _ = standard_matmul(a, b)
        exact, size = real_sums(a, b), real_sums(abs(a), abs(b))
        for i, j in np.ndindex(24, 24):
            allowed = 24 * Fraction(2) ** -53 * exact_value(size, i, j) + Fraction(math.ulp(c[i, j])) / 2
            assert abs(Fraction(float(c[i, j])) - exact_value(exact, i, j)) <= allowed


def test_one_product_is_rounded_once() -> None:
    """A permutation permutes, a diagonal matrix scales: chains of one product, as the other steps add zeros."""
    rng = np.random.default_rng(1)
    x = spread(rng, (64, 40), 300)
    order = rng.permutation(64)
    c, found = standard_matmul(np.eye(64)[order], x)
    assert_same_bits(c, x[order])
    assert (found == Certificate.NONE).all()
    d = spread(rng, (64,), 300)
    assert_same_bits(standard_matmul(np.diag(d), x)[0], d[:, np.newaxis] * x)


@both_types
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

    # "standard": p + 4, or the span, whatever the depth and the zeros are.
    for k, nonzeros, depth in (
        (4096, 4096, 0),
        (4096, 4096, 20480),
        (15, 15, 34),
        (999, 1, 0),
        (2**31 - 1, 2**30, 2**40),
    ):
        assert extra("standard", k, nonzeros, depth) == 4
        assert [extra("standard", k, nonzeros, depth, precision + x) for x in range(-3, 7)] == [
            -3, -2, -1, 0, 1, 2, 3, 4, 4, 4,
        ]  # fmt: skip
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
            capacity = line_capacity("standard", 0, shallow, precision)
            assert capacity == precision + 4
            record = standard_record(shallow, capacity)
            # 4 (k + k) <= k (floor(4 log2(k - 1)) + 8)
            assert certify(record, record, precision) == (Certificate.DEPTH if k > 1 else Certificate.NONE)
            deep = Facts(0, -1074, k, -k * (2 + log_k), k)
            record = standard_record(deep, line_capacity("standard", 0, deep, precision))
            assert certify(record, record, precision) == Certificate.NONE


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
