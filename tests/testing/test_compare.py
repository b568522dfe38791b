"""assert_same_bits: the differences that it finds, and its messages."""

from __future__ import annotations

import numpy as np
import pytest

from ozfp4.testing import assert_same_bits, difference

NAN = np.array([0x7FF8000000000000, 0xFFF8000000000123, 0x7FF0000000000001], np.uint64).view(np.float64)


def test_equal() -> None:
    for x in (np.arange(6.0).reshape(2, 3), np.zeros((0, 3)), np.array(1.5), np.array([-0.0, np.inf])):
        assert difference(x, x.copy()) is None
        assert difference(x.astype(np.float32), x.astype(np.float32)) is None
    assert difference(np.arange(3, dtype=np.int8), np.arange(3, dtype=np.int8)) is None
    assert difference(np.float64(2), np.array(2.0)) is None


def test_nans_are_equal_whatever_their_bits() -> None:
    assert difference(NAN, NAN[::-1]) is None
    assert difference(NAN, np.array([np.nan, 1.0, np.nan])) is not None
    assert difference(np.array([np.nan, 1.0, np.nan]), NAN) is not None


@pytest.mark.parametrize(
    ("x", "y"),
    [(0.0, -0.0), (np.inf, -np.inf), (1.0, 1.0 + 2.0**-52), (np.inf, np.nan), (0.0, 5e-324), (np.nan, 0.0)],
)
def test_different(x: float, y: float) -> None:
    assert difference(np.array([1.0, x]), np.array([1.0, y])) is not None


def test_both_parts_of_complex_numbers_count() -> None:
    for dtype in (np.complex128, np.complex64):
        x = np.array([1 + 2j, complex(0, np.nan)], dtype)
        assert difference(x, x.copy()) is None
        for other in (1 + 3j, complex(-1, 2), complex(np.nan, 2), complex(1, -2)):
            assert difference(np.array([other, x[1]], dtype), x) is not None
        assert difference(np.array([x[0], complex(-0.0, np.nan)], dtype), x) is not None
        assert difference(x, x.real) is not None


def test_the_message_names_the_first_wrong_entry() -> None:
    x = np.zeros((3, 4))
    y = x.copy()
    y[1, 2], y[2, 0] = 1.0, -0.0
    with pytest.raises(AssertionError) as error:
        assert_same_bits(y, x, "a product")
    message = str(error.value)
    assert message.startswith("a product: 2 of 12 entries differ, first at (1, 2): ")
    assert "1.0) (0x3ff0000000000000) instead of " in message
    assert "0.0) (0x0000000000000000)" in message
    single = difference(np.zeros(1, np.float32), np.array([-0.0], np.float32))
    assert single is not None
    assert "(0x00000000) instead of" in single
    assert single.endswith("(0x80000000)")


def test_shapes_and_types() -> None:
    assert difference(np.zeros(3), np.zeros((3, 1))) == "shape (3,) instead of (3, 1)"
    assert difference(np.zeros(3), np.zeros(3, np.float32)) == "dtype float64 instead of float32"
    assert difference(np.zeros(0), np.zeros((0, 1))) is not None


def test_tensors() -> None:
    torch = pytest.importorskip("torch")
    x = np.arange(12.0).reshape(3, 4)
    assert difference(torch.from_numpy(x), x) is None
    assert difference(torch.from_numpy(x).t(), x.T) is None
    assert difference(torch.zeros(2), torch.ones(2)) is not None
