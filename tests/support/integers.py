"""Products of Python's integers, and operands that are hard for them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

DTYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def exact(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The product in Python's integers; an array of objects, of no dimensions for two vectors."""
    product = np.matmul(a.astype(object), b.astype(object)) if a.shape[-1] else None
    if product is None:
        rows = a.shape[:-1] if a.ndim > 1 else ()
        columns = b.shape[:-2] + b.shape[-1:] if b.ndim > 1 else ()
        shape = np.broadcast_shapes(rows[:-1], columns[:-1]) + rows[-1:] + columns[-1:]
        return np.full(shape, 0, object)
    found: np.ndarray = np.asarray(product, object)
    return found


def wrapped(product: np.ndarray, dtype: Any) -> np.ndarray:
    """Modulo 2^w of a dtype."""
    dtype = np.dtype(dtype)
    bits = 8 * dtype.itemsize
    values = [int(x) % 2**bits for x in product.ravel()]
    found: np.ndarray = np.array(values, f"u{dtype.itemsize}").view(dtype).reshape(product.shape)
    return found


def modulo(product: np.ndarray, m: int) -> np.ndarray:
    return np.array([int(x) % m for x in product.ravel()], np.int64).reshape(product.shape)


def overflows(product: np.ndarray, dtype: Any) -> int:
    info = np.iinfo(dtype)
    return sum(not info.min <= int(x) <= info.max for x in product.ravel())


def same(found: Any, expected: np.ndarray) -> None:
    """Entries, dtype and shape."""
    found = np.asarray(found)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)


def operand(rng: np.random.Generator, kind: str, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Full range, small, extremes of both signs, or the least number alone."""
    info = np.iinfo(dtype)
    if kind == "full":
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    if kind == "small":
        return rng.integers(max(-10, info.min), 10, shape, dtype, endpoint=True)
    if kind == "extremes":
        ends = np.array([info.min, info.max, info.min + 1, info.max - 1, 0, 1], dtype)
        return rng.choice(ends, shape)
    return np.full(shape, info.min if info.min else info.max, dtype)


def steps_of_moduli(moduli: Sequence[int], k: int = 3) -> Iterator[tuple[int, int]]:
    """For every product of first moduli numbers x below 2^62 such that k x^2 lies just below half of it, and just above."""
    product = 1
    for m in moduli[:-1]:
        product *= m
        x = math.isqrt(product // (2 * k))
        if 2**16 < x < 2**62:
            yield x - x // 2**16, x + x // 2**16


KINDS = ["full", "small", "extremes", "least"]


def noise(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    rng = np.random.default_rng(99)
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    return operand(rng, "full", shape, dtype.name)
