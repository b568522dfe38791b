"""Operands are what their names say, and the same every time."""

from __future__ import annotations

import numpy as np
import pytest

from ozfp4.testing import bits_of, exact_matmul, integer_product, scale_exponents
from support import KINDS, VIEWS, constant_columns, constant_rows, noise, operands, spread
from support.dtypes import both_types


@both_types
@pytest.mark.parametrize("kind", KINDS)
def test_seeded_shaped_and_typed(kind: str, dtype: type) -> None:
    for shape in ((5, 6, 7), (0, 2, 3), (2, 0, 3), (2, 3, 0), (1, 1, 1), (2, 2, 2)):
        m, k, n = shape
        a, b = operands(kind, *shape, seed=3, dtype=dtype)
        again = operands(kind, *shape, seed=3, dtype=dtype)
        assert a.shape == (m, k)
        assert b.shape == (k, n)
        assert a.dtype == b.dtype == dtype
        assert a.flags.c_contiguous
        assert b.flags.c_contiguous
        assert a.tobytes() == again[0].tobytes()
        assert b.tobytes() == again[1].tobytes()
    other = operands(kind, 5, 6, 7, seed=4, dtype=dtype)
    first = operands(kind, 5, 6, 7, seed=3, dtype=dtype)
    assert other[0].tobytes() != first[0].tobytes() or other[1].tobytes() != first[1].tobytes()


@both_types
def test_whole_range_holds_subnormal_numbers_and_both_ends(dtype: type) -> None:
    x = np.abs(operands("whole-range", 300, 300, 1, dtype=dtype)[0])
    info = np.finfo(dtype)
    assert np.isfinite(x).all()
    assert ((x > 0) & (x < info.tiny)).any()
    assert (x > info.max / 4).any()


@both_types
def test_subnormal_and_largest(dtype: type) -> None:
    info = np.finfo(dtype)
    a = operands("subnormal", 30, 30, 1, dtype=dtype)[0]
    assert (np.abs(a) < info.tiny).all()
    assert (np.abs(a) == info.smallest_subnormal).any()
    a, b = operands("largest", 20, 20, 20, dtype=dtype)
    assert (np.abs(a) == info.max).any()
    c = exact_matmul(a, b)
    assert np.isinf(c).any()
    assert (np.abs(c) == info.max).any()


def halfway(kind: str, dtype: type) -> tuple[int, int]:
    """Numbers of results that tie, and that just miss a tie, in the normal range."""
    precision = np.finfo(dtype).nmant + 1
    a, b = operands(kind, 40, 5, 40, dtype=dtype)
    integers, s, t = integer_product(a, b, precision)
    ties = near = 0
    for i, j in np.ndindex(integers.shape):
        length = abs(integers[i, j]).bit_length()
        drop = length - precision
        if drop > 0 and length - int(s[i] + t[j]) > np.finfo(dtype).minexp + 1:
            distance = abs(abs(integers[i, j]) % 2**drop - 2 ** (drop - 1))
            ties += distance == 0
            near += 0 < distance < 2 ** (drop - 12)
    return ties, near


@both_types
def test_final_ties_tie_and_just_miss(dtype: type) -> None:
    ties, near = halfway("final-ties", dtype)
    assert ties > 50
    assert near > 50
    a, b = operands("final-ties", 40, 5, 40, dtype=dtype)
    c = exact_matmul(a, b)
    assert ((c != 0) & (np.abs(c) < np.finfo(dtype).tiny)).sum() > 50


@both_types
def test_scaling_ties_tie(dtype: type) -> None:
    precision = np.finfo(dtype).nmant + 1
    a = operands("scaling-ties", 20, 30, 1, dtype=dtype)[0].astype(np.float64)
    scaled = np.ldexp(a, scale_exponents(a, precision)[:, np.newaxis])
    assert (np.abs(scaled % 1) == 0.5).sum() > 300


def test_cancelling_sums_vanish_or_nearly() -> None:
    a, b = operands("cancelling", 10, 31, 10)
    c = exact_matmul(a, b)
    assert (c == 0).any()
    assert ((c != 0) & (np.abs(c) < 2.0**-20)).any()


def test_integers_reach_the_limit() -> None:
    a, b = operands("integers", 8, 50, 8)
    integers = integer_product(a, b)[0]
    assert max(integers.ravel()) >= 50 * (2**53 - 1) ** 2 * 9 // 10


def test_specials_and_infinities() -> None:
    a, b = operands("specials", 30, 20, 30)
    c = exact_matmul(a, b)
    assert np.isnan(c).any()
    assert np.isinf(c).any()
    assert np.isfinite(c).any()
    c = exact_matmul(*operands("infinities", 30, 20, 30))
    assert np.isnan(c).any()
    assert (c == np.inf).any()
    assert (c == -np.inf).any()


def test_the_paper_s_spread() -> None:
    x = np.abs(spread(np.random.default_rng(0), (1000,), 8))
    assert (x >= 1).all()
    assert (x < 2**9).all()
    assert set(np.frexp(x)[1].tolist()) == set(range(1, 10))


@pytest.mark.parametrize("name", VIEWS)
def test_views_equal_what_they_view(name: str) -> None:
    rng = np.random.default_rng(0)
    for shape in ((4, 5), (5,), (2, 3, 4), (0, 3), (3, 0), (1, 1)):
        for dtype in (np.float64, np.float32, np.int8):
            x = rng.integers(-9, 9, shape).astype(dtype)
            view = VIEWS[name](x)
            assert view.shape == x.shape
            assert (view == x).all()
            assert not np.shares_memory(view, x)
            assert view.dtype.newbyteorder("=") == x.dtype


def test_views_have_the_layouts_of_their_names() -> None:
    x = np.ones((4, 5))
    assert VIEWS["reversed"](x).strides == (-40, -8)
    assert VIEWS["transposed"](x).strides == (8, 32)
    assert not VIEWS["unaligned"](x).flags.aligned
    assert VIEWS["unaligned"](x).strides == (45, 9)
    assert not VIEWS["swapped-bytes"](x).dtype.isnative
    assert not VIEWS["read-only"](x).flags.writeable
    assert not VIEWS["strided"](x).flags.contiguous
    assert constant_rows(x).strides[0] == 0
    assert constant_columns(x).strides[1] == 0


def test_noise() -> None:
    assert (bits_of(noise((2, 3))) == 0xABABABABABABABAB).all()
    assert noise((), np.float32).shape == ()
    assert noise((0, 2)).shape == (0, 2)
    assert noise((2,), np.int8).tolist() == [-85, -85]
