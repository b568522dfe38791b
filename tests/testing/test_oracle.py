"""The reference itself, against fractions and the plain definition."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ozfp4.testing import assert_same_bits, exact_matmul, integer_matmul, integer_product, round_to_float
from support import KINDS, STACKS, operands, stack_operands
from support.dtypes import both_types

engines = pytest.mark.parametrize("engine", ["flint", "object"])


def needs(engine: str) -> None:
    if engine == "flint":
        pytest.importorskip("flint")


def nearest(x: Fraction, dtype: type) -> float:
    """The float nearest to x, found by comparing neighbours: no shifting of integers."""
    info = np.finfo(dtype)
    largest = Fraction(float(info.max))
    last_place = Fraction(2) ** int(info.maxexp - info.nmant - 1)
    if abs(x) >= largest + last_place / 2:
        return math.inf if x > 0 else -math.inf
    start = dtype(float(min(max(x, -largest), largest)))
    neighbours = [np.nextafter(start, dtype(-math.inf)), start, np.nextafter(start, dtype(math.inf))]
    distance = {float(c): abs(Fraction(float(c)) - x) for c in neighbours if np.isfinite(c)}
    best = [dtype(c) for c, d in distance.items() if d == min(distance.values())]
    return float(best[0] if len(best) == 1 else next(c for c in best if c.view(f"u{c.itemsize}") % 2 == 0))


@pytest.mark.filterwarnings("ignore:overflow encountered in nextafter:RuntimeWarning")
@given(st.integers(-(2**120), 2**120), st.integers(-1250, 1050))
def test_rounding_is_to_the_nearest(integer: int, exponent: int) -> None:
    for dtype in (np.float64, np.float32):
        value = Fraction(integer) * Fraction(2) ** exponent
        assert abs(round_to_float(integer, exponent, dtype)) == abs(nearest(value, dtype))


@given(st.integers(-(2**200), 2**200), st.integers(0, 1300))
def test_rounding_is_python_s_division(integer: int, down: int) -> None:
    assert round_to_float(integer, -down) == integer / 2**down


def test_rounding_at_the_ends() -> None:
    top, tiny = np.finfo(np.float64).max, 2.0**-1074
    assert round_to_float(2**53 - 1, 971) == top
    assert round_to_float(2**54 - 1, 970) == math.inf
    assert round_to_float(-(2**54 - 1), 970) == -math.inf
    assert round_to_float(2**55 - 3, 969) == top
    assert round_to_float(1, 1024) == math.inf
    assert round_to_float(1, -1074) == tiny
    assert round_to_float(1, -1075) == 0.0
    assert round_to_float(3, -1075) == 2 * tiny
    assert round_to_float(2**60 + 1, -1135) == tiny
    assert math.copysign(1, round_to_float(-1, -1075)) == -1
    assert math.copysign(1, round_to_float(0, 5)) == 1
    assert round_to_float(2**24 + 1, 0, np.float32) == 2.0**24
    assert round_to_float(2**128 - 2**103, 0, np.float32) == math.inf
    assert round_to_float(2**128 - 2**103 - 1, 0, np.float32) == np.finfo(np.float32).max


def definition(a: np.ndarray, b: np.ndarray, bits: int) -> np.ndarray:
    """C_ij from the definition, entry by entry, in fractions; for finite operands."""

    def integers(row: list[float]) -> tuple[list[int], int]:
        largest = max((abs(x) for x in row), default=0.0)
        s = 0 if largest == 0 else bits - math.frexp(largest)[1]
        return [round(Fraction(x) * Fraction(2) ** s) for x in row], s

    dtype = np.promote_types(a.dtype, b.dtype).type
    result = np.zeros((a.shape[0], b.shape[1]), dtype)
    for i, row in enumerate(a.astype(np.float64).tolist()):
        for j, column in enumerate(b.T.astype(np.float64).tolist()):
            (x, s), (y, t) = integers(row), integers(column)
            total = Fraction(sum(p * q for p, q in zip(x, y, strict=True))) * Fraction(2) ** -(s + t)
            result[i, j] = math.copysign(nearest(total, dtype), 1 if total >= 0 else -1)
    return result


@pytest.mark.filterwarnings("ignore:overflow encountered in nextafter:RuntimeWarning")
@engines
@both_types
@pytest.mark.parametrize("kind", [k for k in KINDS if k not in ("specials", "infinities")])
def test_the_definition(kind: str, dtype: type, engine: str) -> None:
    needs(engine)
    for bits in (None, 7, 53):
        a, b = operands(kind, 5, 7, 4, dtype=dtype)
        capacity = bits or (53 if dtype == np.float64 else 24)
        assert_same_bits(exact_matmul(a, b, bits, engine=engine), definition(a, b, capacity), (kind, bits))
    a, b = operands(kind, 3, 4, 3, dtype=dtype)
    b = b.astype(np.float64)
    assert_same_bits(exact_matmul(a, b, engine=engine), definition(a, b, 53), "mixed types")


@engines
def test_integer_products(engine: str) -> None:
    needs(engine)
    rng = np.random.default_rng(0)
    for m, k, n in ((3, 4, 5), (1, 1, 1), (0, 2, 3), (2, 0, 3), (2, 3, 0), (6, 40, 2)):
        x, y = rng.integers(-(2**53), 2**53, (m, k)), rng.integers(-(2**53), 2**53, (k, n))
        product = integer_matmul(x, y, engine)
        assert product.shape == (m, n)
        for i, j in np.ndindex(m, n):
            assert type(product[i, j]) is int
            assert product[i, j] == sum(int(x[i, p]) * int(y[p, j]) for p in range(k))


def test_integer_product_returns_its_scale() -> None:
    a, b = np.array([[1.0, -0.75], [0.0, 0.0]]), np.array([[2.0**-1074], [3 * 2.0**-1074]])
    integers, s, t = integer_product(a, b, 10)
    assert (s.tolist(), t.tolist()) == ([9, 0], [8 + 1074])
    assert integers.tolist() == [[512 * 256 - 384 * 768], [0]]


def test_unknown_engines_and_types() -> None:
    with pytest.raises(ValueError, match="engine: 'gmp' is unknown; allowed are 'auto', 'flint', 'object'"):
        integer_matmul(np.ones((1, 1), int), np.ones((1, 1), int), "gmp")
    with pytest.raises(TypeError, match="float64 and float32"):
        exact_matmul(np.ones((1, 1), int), np.ones((1, 1)))
    with pytest.raises(ValueError, match=r"inner dimensions differ: \(2,\) and \(3,\)"):
        exact_matmul(np.ones(2), np.ones(3))


@pytest.mark.parametrize("shapes", STACKS, ids=str)
def test_stacks_are_their_matrices(shapes) -> None:
    a, b = stack_operands(shapes)
    result, model = exact_matmul(a, b), np.asarray(np.matmul(a, b))
    assert result.shape == model.shape
    assert result.dtype == model.dtype
    if a.ndim > 1 and b.ndim > 1:
        stack = model.shape[:-2]
        x = np.broadcast_to(a, stack + a.shape[-2:])
        y = np.broadcast_to(b, stack + b.shape[-2:])
        for index in np.ndindex(*stack):
            assert_same_bits(result[index], exact_matmul(x[index], y[index]))
    matrix_a, matrix_b = np.atleast_2d(a), b[:, np.newaxis] if b.ndim == 1 else b
    assert_same_bits(result.ravel(), exact_matmul(matrix_a, matrix_b).ravel())


def test_nonfinite_entries() -> None:
    inf, nan = math.inf, math.nan
    a = np.array([[inf, 1.0], [-inf, 0.0], [nan, 1.0], [1.0, 2.0], [inf, -inf]])
    b = np.array([[1.0, 0.0, -2.0, inf, nan], [1.0, 1.0, 1.0, 1.0, 1.0]])
    expected = np.array(
        [
            [inf, nan, -inf, inf, nan],
            [-inf, nan, inf, -inf, nan],
            [nan, nan, nan, nan, nan],
            [3.0, 2.0, 0.0, inf, nan],
            [nan, nan, -inf, nan, nan],
        ]
    )
    for engine in ("auto", "object"):
        assert_same_bits(exact_matmul(a, b, engine=engine), expected)
        assert_same_bits(exact_matmul(a.astype("f4"), b.astype("f4"), engine=engine), expected.astype("f4"))
