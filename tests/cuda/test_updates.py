"""gemm with complex factors and of integers on a GPU: in graphs, and of long results."""

from __future__ import annotations

from typing import Any

import numpy as np
from first_gpu import on_device, torch

import ozfp4
from ozfp4.testing import assert_same_bits
from support.integers import noise


def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any, deep: int = 20) -> np.ndarray:
    x, y = (np.ldexp(rng.standard_normal(shape), rng.integers(-deep, deep, shape)) for _ in range(2))
    return np.asarray(x + 1j * y if np.dtype(dtype).kind == "c" else x, dtype)


def test_complex_updates_in_a_graph() -> None:
    rng = np.random.default_rng(4)
    a, b, c = (draw(rng, s, np.complex128) for s in ((30, 40), (40, 50), (30, 50)))
    x, y, z = on_device(a), on_device(b), on_device(c)
    for alpha, beta in ((1j, 2j), (1 + 2j, 1 - 1j)):
        expected = ozfp4.gemm(alpha, a, b, beta, c)
        graph, place = torch.cuda.CUDAGraph(), z.clone()
        ozfp4.gemm(alpha, x, y, beta, place, out=place)
        with torch.cuda.graph(graph):
            ozfp4.gemm(alpha, x, y, beta, place, out=place)
        place.copy_(z)
        graph.replay()
        assert_same_bits(place.cpu(), expected)


def test_a_long_result() -> None:
    """More entries than are summed at a time, within the workspace that they are cut for."""
    rng = np.random.default_rng(5)
    a, b = draw(rng, (1500, 3), np.complex128), draw(rng, (3, 1000), np.complex128)
    expected = ozfp4.gemm(1 + 2j, a, b)
    assert_same_bits(ozfp4.gemm(1 + 2j, on_device(a), on_device(b)).cpu(), expected)
    limited = ozfp4.gemm(1 + 2j, on_device(a), on_device(b), workspace_limit=64 << 20)
    assert_same_bits(limited.cpu(), expected)


def same(found: Any, expected: np.ndarray) -> None:
    assert found.is_cuda
    assert str(found.dtype) == f"torch.{expected.dtype}"
    np.testing.assert_array_equal(found.cpu().numpy(), expected)


def test_updates_of_integers_in_a_graph() -> None:
    a, b, c = noise((40, 30), "int64"), noise((30, 20), "int64"), noise((40, 20), "int64")
    x, y, place = on_device(a), on_device(b), on_device(c)
    ozfp4.gemm(-3, x, y, 5, place, out=place)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        ozfp4.gemm(-3, x, y, 5, place, out=place)
    place.copy_(on_device(c))
    graph.replay()
    same(place, 5 * c - 3 * (a @ b))
