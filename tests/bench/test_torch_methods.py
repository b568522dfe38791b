"""What the benchmarks ask of torch, with a torch that counts."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np

from ozfp4.bench import gpu, methods


class Tensor:
    def __init__(self, array: Any, device: str = "cpu") -> None:
        self.array, self.device = array, device

    def to(self, device: str) -> Tensor:
        return Tensor(self.array, device)

    def __matmul__(self, other: Tensor) -> Tensor:
        assert self.device == other.device == "cuda:1"
        return Tensor(self.array @ other.array, self.device)

    def cpu(self) -> Tensor:
        return Tensor(self.array)

    def numpy(self) -> Any:
        assert self.device == "cpu"
        return self.array


def test_a_product_on_a_device_comes_back(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(from_numpy=Tensor))
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(4, 3).T
    assert np.array_equal(methods._torch("cuda:1")(a, b), a @ b)


def test_free_memory(monkeypatch: Any) -> None:
    torch = SimpleNamespace(cuda=SimpleNamespace(mem_get_info=lambda: (123, 456)))
    monkeypatch.setattr(gpu, "_torch", lambda: torch)
    assert gpu.free_memory() == 123
