"""Contractions of integers and bool: exact, in the dtypes of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from support.devices import Device
from support.integers import DTYPES, noise

TEXTS = [
    ("ij,jk->ik", [(5, 7), (7, 4)]),
    ("bij,bjk,bk->bi", [(2, 5, 7), (2, 7, 4), (2, 4)]),
    ("ijk->k", [(3, 4, 5)]),
    ("ii->i", [(6, 6)]),
]


@pytest.mark.parametrize(("text", "shapes"), TEXTS, ids=[text for text, _ in TEXTS])
@pytest.mark.parametrize("dtype", [*DTYPES, "bool"])
def test_einsum(dtype: str, text: str, shapes: list[tuple[int, ...]], device: Device) -> None:
    operands = [noise(shape, dtype) for shape in shapes]
    expected = np.einsum(text, *operands)
    found = device.einsum(text, *operands)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [*DTYPES, "bool"])
def test_tensordot(dtype: str, device: Device) -> None:
    a, b = noise((3, 4, 5), dtype), noise((5, 4, 2), dtype)
    expected = np.tensordot(a, b, axes=([1, 2], [1, 0]))
    found = device.tensordot(a, b, axes=([1, 2], [1, 0]))
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match=r"^accuracy: 'correct' is for products of floating-point"):
        device.tensordot(a, b, axes=([1, 2], [1, 0]), accuracy="correct")
