"""Stage 1 alone: exponents, integers, flags of non-finite entries, and the bound of the norm."""

from __future__ import annotations

import numpy as np
import pytest

from ozfp4 import stages
from ozfp4.testing import assert_same_bits, scale_exponents, scaled_integers
from support import KINDS, VIEWS, constant_columns, constant_rows, operands
from support.dtypes import both_types

SHAPES = [(7, 9), (1, 1), (16, 512), (17, 513), (33, 1030), (0, 3), (3, 0)]


def expected(x: np.ndarray, operand: str, bits: int) -> tuple[np.ndarray, np.ndarray]:
    lines = x if operand == "a" else x.T
    exponents = scale_exponents(lines, bits)
    integers = scaled_integers(lines, exponents)
    return (integers if operand == "a" else integers.T), exponents.astype(np.int32)


@pytest.mark.parametrize("operand", ["a", "b"])
@both_types
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind(kind: str, dtype: type, operand: str) -> None:
    for shape in SHAPES:
        a, b = operands(kind, *shape, shape[0], dtype=dtype)
        x = a if operand == "a" else b
        for bits in (53, 24, 2):
            scaled = stages.scale(x, operand, bits)
            integers, exponents = expected(x, operand, bits)
            assert_same_bits(scaled.integers, integers, (kind, shape, bits))
            assert_same_bits(scaled.exponents, exponents, (kind, shape, bits))


@pytest.mark.parametrize("operand", ["a", "b"])
@pytest.mark.parametrize("view", [*VIEWS.values(), constant_rows, constant_columns], ids=lambda f: f.__name__)
def test_views(view, operand: str) -> None:
    for dtype in (np.float64, np.float32):
        for shape in ((40, 1030), (1030, 19)):
            x = view(operands("row-exponents", *shape, 3, dtype=dtype)[0])
            before = x.tobytes()
            scaled = stages.scale(x, operand)
            integers, exponents = expected(x.astype(x.dtype.newbyteorder("=")), operand, 53)
            assert_same_bits(scaled.integers, integers)
            assert_same_bits(scaled.exponents, exponents)
            assert x.tobytes() == before


def test_flags_tell_infinities_from_nans() -> None:
    x = np.ones((6, 700))
    x[1, 3], x[2, 699], x[3, 0], x[4, 5], x[4, 600] = np.inf, -np.inf, np.nan, np.nan, np.inf
    assert stages.scale(x).special.tolist() == [0, 1, 1, 2, 3, 0]
    assert stages.scale(x.T, "b").special.tolist() == [0, 1, 1, 2, 3, 0]
    assert stages.scale(x.astype(np.float32)).special.tolist() == [0, 1, 1, 2, 3, 0]


def test_nonfinite_entries_count_as_zeros() -> None:
    x = np.array([[np.inf, 3.0, np.nan], [np.nan, -np.inf, np.inf], [0.0, -0.0, np.nan]])
    scaled = stages.scale(x)
    assert scaled.exponents.tolist() == [51, 0, 0]
    assert scaled.integers.tolist() == [[0, 3 * 2**51, 0], [0, 0, 0], [0, 0, 0]]


@both_types
def test_nonfinite_entries_are_zeros_beside_the_largest_numbers_too(dtype: type) -> None:
    """Where infinity would scale like a number of the next exponent, and NaNs of every payload."""
    width = dtype().itemsize
    infinity = int(np.array(np.inf, dtype).view(f"u{width}"))
    largest_nan = 2 ** (8 * width - 1) - 1
    payloads = np.array([infinity, infinity + 1, infinity + 12345, largest_nan], f"u{width}").view(dtype)
    for largest in (np.finfo(dtype).max, dtype(1), np.finfo(dtype).smallest_subnormal):
        row = np.concatenate([payloads, -payloads, [largest]]).astype(dtype)[np.newaxis, :]
        integers = stages.scale(row).integers[0]
        assert not integers[:-1].any()
        assert integers[-1] >= 2**52


def test_a_row_of_zeros_has_exponent_zero() -> None:
    assert stages.scale(np.array([[0.0, -0.0], [1.0, 0.0]])).exponents.tolist() == [0, 52]


@both_types
@pytest.mark.parametrize("kind", KINDS)
def test_the_norm_is_an_upper_bound_and_a_close_one(kind: str, dtype: type) -> None:
    """Rigorous against exact integers; not more than an eighth above them where all bits are kept."""
    for shape in ((5, 40), (3, 1500)):
        x = operands(kind, *shape, 1, dtype=dtype)[0]
        for bits in (53, 30, 3):
            scaled = stages.scale(x, bits=bits)
            largest = max(sum(int(v) ** 2 for v in row) for row in scaled.integers)
            assert int(scaled.norm_squared) + 1 >= largest
            if bits == 53:
                assert 8 * int(scaled.norm_squared) <= 9 * max(largest, 1)


def test_the_norm_where_exponents_differ_along_a_row() -> None:
    """The exponents of pieces of 512 entries rise and fall."""
    x = np.concatenate([np.full(512, 2.0**e) for e in (-1000, 3, 1000, -1074, 1001, 0)])
    for row in (x, x[::-1], -x):
        scaled = stages.scale(row[np.newaxis, :])
        assert int(scaled.norm_squared) >= sum(int(v) ** 2 for v in scaled.integers[0])
