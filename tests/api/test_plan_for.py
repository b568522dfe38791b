"""ozfp4.plan_for takes for tensors what matmul takes: on the CPU, and on a GPU that only pretends to be one."""

from __future__ import annotations

from typing import Any

import pytest

import ozfp4
from ozfp4.backends.cuda import launch
from ozfp4.cost.choice import Choice
from ozfp4.dispatch import on_cuda, this_machine

torch = pytest.importorskip("torch")

SHAPES = [((5, 7), (7, 3)), ((7,), (7, 3)), ((2, 1, 5, 7), (4, 7, 3)), ((5, 0), (0, 3)), ((7,), (7,))]
TYPES = [(torch.float64,) * 2, (torch.float32,) * 2, (torch.float32, torch.float64)]


@pytest.mark.parametrize(("shape_a", "shape_b"), SHAPES)
@pytest.mark.parametrize("types", TYPES)
def test_on_the_cpu(shape_a: tuple[int, ...], shape_b: tuple[int, ...], types: tuple[Any, Any]) -> None:
    a, b = torch.ones(shape_a, dtype=types[0]), torch.ones(shape_b, dtype=types[1])
    assert ozfp4.plan_for(a, b) == ozfp4.matmul(a, b, report=True)[1].plan


@pytest.mark.parametrize(("shape_a", "shape_b"), SHAPES)
@pytest.mark.parametrize("types", TYPES)
def test_on_a_gpu(
    monkeypatch: pytest.MonkeyPatch,
    new_process: Any,
    shape_a: tuple[int, ...],
    shape_b: tuple[int, ...],
    types: tuple[Any, Any],
) -> None:
    """Tensors without memory, on a device whose best backend failed its self-test."""
    asked: list[Any] = []
    taken: list[Any] = []

    def gpu_choice(*request: Any) -> Choice:
        asked.append(request)
        return Choice(("int8", "fp4"), "")

    def multiply(request: Any, plan: ozfp4.Plan, *_: Any) -> tuple[None, None, None]:
        taken.append(plan)
        return None, None, None

    monkeypatch.setattr(on_cuda, "check_device", lambda device: None)
    monkeypatch.setattr(this_machine, "gpu_choice", gpu_choice)
    monkeypatch.setattr(on_cuda, "serving_backend", lambda *_: ("fp4", "int8 failed"))
    monkeypatch.setattr(on_cuda, "serving_variant", lambda *_: None)
    monkeypatch.setattr(launch, "matmul", multiply)
    a, b = (torch.empty(s, dtype=t, device="meta") for s, t in zip((shape_a, shape_b), types, strict=True))
    plan = ozfp4.plan_for(a, b)
    ozfp4.matmul(a, b)
    assert taken == [plan]
    bits = 28 if types == (torch.float32,) * 2 else 57
    assert asked == [("II", "least", bits, max(shape_a[-1], 1), None)]  # the decision is kept
    assert (plan.backend, plan.bits) == ("fp4", bits)
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
