"""Operands that cannot be streamed are refused before data move, by the argument's name; inputs and `out` stay unchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ozfp4

A = np.ones((4, 3))
OUT, WIDE = np.full((4, 4), np.nan), np.zeros((4, 8))


@pytest.mark.parametrize(
    ("error", "pattern", "options"),
    [
        (ValueError, "device: 'tpu' is unknown; allowed are 'cpu', 'cuda'", {"device": "tpu"}),
        (ValueError, "device: 'meta' is unknown", {"device": "meta"}),
        (ValueError, "device: 'cpu:banana' is unknown; allowed are 'cpu', 'cuda'", {"device": "cpu:banana"}),
        (ValueError, "device: 'cpu:1' is unknown; allowed are 'cpu', 'cuda'", {"device": ["cpu:1"]}),
        (ValueError, "device: 'cpu:' is unknown", {"device": "cpu:"}),
        (ValueError, "device: 'cpu' is named twice", {"device": ["cpu", "cpu:0"]}),
        (ValueError, r"device: \[\] names no device", {"device": []}),
        (ValueError, "device: 'cpu' is named twice", {"device": ["cpu", "cpu"]}),
        (TypeError, "device: 0 is neither a string", {"device": 0}),
        (TypeError, "device: None is neither a string", {"device": [None]}),
        (TypeError, "workspace_limit: 'much' is not an integer", {"device": "cpu", "workspace_limit": "much"}),
        (TypeError, "workspace_limit: True is not an integer", {"device": "cpu", "workspace_limit": True}),
        (ValueError, "workspace_limit: 0 is outside 1..", {"device": "cpu", "workspace_limit": 0}),
        (MemoryError, "workspace_limit: 1000 bytes are too few for an inner dimension of 3: the smallest tiles take 104866.",
         {"device": "cpu", "workspace_limit": 1000}),
        (ValueError, "report: it describes one product", {"device": "cpu", "report": True}),
        (ValueError, "overflow: 'raise' is for products of integers", {"device": "cpu", "overflow": "raise"}),
        (ValueError, "workspace_limit: -1 is outside 1..", {"device": "cpu", "workspace_limit": -1}),
    ],
)  # fmt: skip
def test_arguments(
    check_refused: Callable[..., None], error: type[Exception], pattern: str, options: dict[str, Any]
) -> None:
    check_refused(error, pattern, ozfp4.matmul, A, A.T, out=OUT, **options)


@pytest.mark.parametrize(
    ("error", "pattern", "operands"),
    [
        (ValueError, "inner dimensions differ", (A, A)),
        (ValueError, "a: a 0-d array", (np.array(1.0), A)),
        (TypeError, "a: dtype object", (np.array([[None]]), A)),
        (ValueError, "stacks do not broadcast", (np.ones((2, 4, 3)), np.ones((3, 3, 4)))),
        (TypeError, "a: a prepared operand is not streamed", (ozfp4.prepare(A, "left"), A.T)),
        (TypeError, "b: a prepared operand is not streamed", (A, ozfp4.prepare(A.T, "right"))),
    ],
)
def test_operands(
    check_refused: Callable[..., None], error: type[Exception], pattern: str, operands: tuple[Any, Any]
) -> None:
    check_refused(error, pattern, ozfp4.matmul, *operands, device="cpu")


@pytest.mark.parametrize(
    ("error", "pattern", "out"),
    [
        (ValueError, "out: shape", np.zeros((4, 5))),
        (TypeError, "out: dtype", np.zeros((4, 4), np.float32)),
        (ValueError, "out: the array shares memory with a", WIDE[:, 2:6]),
    ],
)
def test_out(check_refused: Callable[..., None], error: type[Exception], pattern: str, out: Any) -> None:
    check_refused(error, pattern, ozfp4.matmul, WIDE[:, :3], np.ones((3, 4)), out=out, device="cpu")


@pytest.mark.parametrize(
    "options",
    [
        {"accuracy": "scaled"},
        {"accuracy": "standard"},
        {"rounding": "up", "accuracy": "correct"},
        {"return_bound": True},
    ],
)
def test_integers(check_refused: Callable[..., None], options: dict[str, Any]) -> None:
    check_refused(
        ValueError, "is for products of floating-point numbers", ozfp4.matmul,
        np.ones((3, 3), int), np.ones((3, 3), int), device="cpu", **options,
    )  # fmt: skip


def test_integers_need_the_bits_of_a_plan(check_refused: Callable[..., None]) -> None:
    plan, x = ozfp4.plan(1, 1, 3, bits=20, accuracy="scaled", backend="int8"), np.ones((3, 3), np.int64)
    check_refused(
        ValueError, "plan: its bits are 20, these integers need 64", ozfp4.matmul, x, x, device="cpu", plan=plan,
    )  # fmt: skip


def test_tensors() -> None:
    torch = pytest.importorskip("torch")
    x = torch.ones(3, 3, dtype=torch.float64)
    with pytest.raises(TypeError, match="cannot be mixed"):
        ozfp4.matmul(x, np.ones((3, 3)), device="cpu")
    with pytest.raises(RuntimeError, match=r"device: operands that require grad .* pass a\.detach\(\)"):
        ozfp4.matmul(x.clone().requires_grad_(), x, device="cpu")
    with pytest.raises(RuntimeError, match="device: operands that require grad"):
        torch.func.vmap(lambda y: ozfp4.matmul(y, x, device="cpu"))(torch.ones(2, 3, 3, dtype=torch.float64))
    with pytest.raises(
        RuntimeError, match="a: it lies on meta, and device= is for operands and results on the host"
    ):
        ozfp4.matmul(x.to("meta"), x.to("meta"), device="cpu")
    if not torch.cuda.is_available():
        for name in ("cuda", "cuda:1", torch.device("cuda", 0)):
            with pytest.raises(RuntimeError, match=r"device: .*: torch finds no CUDA device"):
                ozfp4.matmul(x, x, device=name)
    with pytest.raises(ValueError, match=r"device: 'cpu:3' is unknown"):
        ozfp4.matmul(x, x, device=torch.device("cpu", 3))
    with pytest.raises(ValueError, match="device: 'cuda:x' is unknown"):
        ozfp4.matmul(x, x, device="cuda:x")
