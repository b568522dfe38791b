"""ozfp4.plan_for gives the plan of matmul for tensors, from the core of a GPU."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4._dispatch import on_cuda

torch = pytest.importorskip("torch")

SHAPES = [((5, 7), (7, 3)), ((7,), (7, 3)), ((2, 1, 5, 7), (4, 7, 3)), ((5, 0), (0, 3)), ((7,), (7,))]
TYPES = [(torch.float64,) * 2, (torch.float32,) * 2, (torch.float32, torch.float64)]


@pytest.mark.parametrize(("shape_a", "shape_b"), SHAPES)
@pytest.mark.parametrize("types", [*TYPES, (torch.complex64,) * 2, (torch.float32, torch.complex128)])
def test_on_a_gpu(
    monkeypatch: pytest.MonkeyPatch,
    shape_a: tuple[int, ...],
    shape_b: tuple[int, ...],
    types: tuple[Any, Any],
) -> None:
    """Tensors without memory, on a device where the best backend failed its self-test."""
    asked: list[Any] = []

    def choose(options: Any, shape: Any, precision: int, is_paired: bool, index: Any) -> Any:
        inner = shape[0]
        asked.append((shape, precision, is_paired, index))
        bits = 28 if precision == 24 else 57
        return (
            (options.scheme, "fp4", options.family, bits, max(inner, 1), is_paired),
            2,
            "why",
            "int8 failed",
        )

    monkeypatch.setattr(on_cuda, "ready", lambda device: SimpleNamespace(choose=choose))
    a, b = (torch.empty(s, dtype=t, device="meta") for s, t in zip((shape_a, shape_b), types, strict=True))
    plan = ozfp4.plan_for(a, b)
    is_paired = all(t.is_complex for t in types)
    is_single = all(t in (torch.float32, torch.complex64) for t in types)
    inner = shape_a[-1] * (2 if is_paired else 1)
    m = shape_a[-2] if len(shape_a) > 1 else 1
    n = shape_b[-1] if len(shape_b) > 1 else 1
    matrices = math.prod(np.broadcast_shapes(shape_a[:-2], shape_b[:-2]))
    assert asked == [((inner, m, n, matrices), 24 if is_single else 53, is_paired, None)]
    assert (plan.backend, plan.bits, plan.is_complex) == ("fp4", 28 if is_single else 57, is_paired)
    with pytest.raises(RuntimeError, match=r"^backend: 'fp64' has no GPU kernel"):
        ozfp4.plan_for(a, b, backend="fp64")


def test_of_tensors_that_require_grad() -> None:
    a = torch.ones(3, 3, dtype=torch.float64, requires_grad=True)
    plain = torch.ones(3, 3, dtype=torch.float32)
    for x, y in ((a, a), (a, plain), (plain, a)):
        assert ozfp4.plan_for(x, y) == ozfp4.plan_for(x.detach(), y.detach())


def test_what_matmul_refuses() -> None:
    a = torch.ones(3, 3, dtype=torch.float64)
    with pytest.raises(TypeError, match="cannot be mixed"):
        ozfp4.plan_for(a, a.numpy())
    with pytest.raises(RuntimeError, match=r"^a: device meta has no kernel in this build"):
        ozfp4.plan_for(a.to("meta"), a.to("meta"))
