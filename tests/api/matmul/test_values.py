"""Every path against the reference, bit for bit: all kinds of values, both types, shapes from 0 to 300."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

from ozfp4.testing import assert_same_bits, exact_matmul
from support import KINDS, PATHS, Path, chosen, noise, operands
from support.devices import Device, arrays_and_gpu

Shape = tuple[int, int, int]  # m, k, n

# Tiles hold 16 rows and 512 entries along K.
EDGES: tuple[Shape, ...] = ((1, 1, 1), (3, 2, 1), (7, 9, 5), (16, 31, 17), (2, 513, 3))


def shapes_of(kind: str, dtype: type) -> list[Shape]:
    """Fixed small shapes, and for each kind and type its own: an empty one, a long one, middling ones."""
    rng = np.random.default_rng([list(KINDS).index(kind), np.dtype(dtype).itemsize])
    empty = np.array([3, 4, 5]) * (np.arange(3) != rng.integers(3))
    long = np.array([rng.integers(1, 5), rng.integers(200, 1100), rng.integers(1, 5)])
    middling = np.exp(rng.uniform(0, np.log(120), (2, 3))).astype(int)
    return [*EDGES, *(tuple(int(e) for e in s) for s in (empty, long, *middling))]


def case(kind: str, dtype: type, shape: Shape) -> object:
    return pytest.param(kind, dtype, shape, id=f"{kind}-{np.dtype(dtype).name}-{'x'.join(map(str, shape))}")


CASES = [
    case(kind, dtype, shape)
    for kind in KINDS
    for dtype in (np.float64, np.float32)
    for shape in shapes_of(kind, dtype)
]


@lru_cache(maxsize=4)
def problem(kind: str, dtype: type, shape: Shape) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    a, b = operands(kind, *shape, dtype=dtype)
    return a, b, exact_matmul(a, b)


def check(device: Device, path: Path, kind: str, dtype: type, shape: Shape) -> None:
    if device.is_gpu:  # by several tiles, which is too much for the reference
        a, b = operands(kind, *(3 * extent for extent in shape), dtype=dtype)
        expected = chosen.matmul(a, b, accuracy="scaled")
    else:
        a, b, expected = problem(kind, dtype, shape)
    before = a.tobytes(), b.tobytes()
    out = noise(expected.shape, dtype)
    assert device(chosen.matmul, a, b, out=out, **path._asdict(), accuracy="scaled") is out
    assert_same_bits(out, expected, f"{path}, {kind}, m x k x n = {shape}")
    assert (a.tobytes(), b.tobytes()) == before


@arrays_and_gpu
@pytest.mark.parametrize(("kind", "dtype", "shape"), CASES)
def test_every_path_is_exact(kind: str, dtype: type, shape: Shape, device: Device) -> None:
    for path in PATHS:
        if device.has(path.backend):
            check(device, path, kind, dtype, shape)


LARGE: list[tuple[str, type, Shape]] = [
    ("normal", np.float64, (270, 140, 265)),
    ("phi32", np.float64, (129, 257, 67)),
    ("whole-range", np.float64, (64, 300, 130)),
    ("integers", np.float64, (100, 1100, 60)),
    ("specials", np.float64, (150, 70, 210)),
    ("normal", np.float32, (300, 257, 299)),
    ("integers", np.float32, (33, 2050, 65)),
]


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS, ids=str)
@pytest.mark.parametrize(("kind", "dtype", "shape"), [case(*c) for c in LARGE])
def test_every_path_is_exact_on_larger_matrices(path: Path, kind: str, dtype: type, shape: Shape) -> None:
    check(Device("numpy"), path, kind, dtype, shape)


@pytest.mark.parametrize("path", PATHS, ids=str)
@pytest.mark.parametrize("types", [(np.float64, np.float32), (np.float32, np.float64)], ids=["dxs", "sxd"])
@pytest.mark.parametrize("kind", ["normal", "whole-range", "final-ties", "zero-lines"])
def test_mixed_types_give_float64(path: Path, types: tuple[type, type], kind: str, device: Device) -> None:
    if not device.has(path.backend):
        return
    a, b = operands(kind, 9, 20, 6, dtype=np.float32)
    a, b = a.astype(types[0]), b.astype(types[1])
    assert_same_bits(
        device(chosen.matmul, a, b, **path._asdict(), accuracy="scaled"), exact_matmul(a, b), path
    )


@pytest.mark.parametrize("kind", KINDS)
def test_auto_is_exact(kind: str, device: Device) -> None:
    for scheme in ("I", "II"):
        a, b, expected = problem(kind, np.float64, (7, 9, 5))
        assert_same_bits(device.matmul(a, b, scheme=scheme, accuracy="scaled"), expected, scheme)
