"""ozfp4.plan and ozfp4.plan_for give plans for the given device and operands."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4 import _core
from ozfp4._backends.cuda import extension
from support import PATHS, chosen

OPERANDS = [
    ((5, 7), (7, 3)),
    ((7,), (7, 3)),
    ((5, 7), (7,)),
    ((7,), (7,)),
    ((2, 1, 5, 7), (4, 7, 3)),
    ((6, 5, 7), (7, 3)),
    ((5, 0), (0, 3)),
    ((0, 7), (7, 3)),
    ((1, 80_000), (80_000, 1)),
]


@pytest.mark.parametrize(("shape_a", "shape_b"), OPERANDS)
@pytest.mark.parametrize("types", [("f8", "f8"), ("f4", "f4"), ("f4", "f8"), (">f4", "<f4")])
def test_the_plan_for_operands_is_the_one_that_their_product_takes(
    shape_a: tuple[int, ...], shape_b: tuple[int, ...], types: tuple[str, str]
) -> None:
    a, b = np.ones(shape_a, types[0]), np.ones(shape_b, types[1])
    for options in (
        {},
        {"scheme": "I"},
        {"bits": 30, "accuracy": "scaled"},
        {"accuracy": "scaled"},
        {"accuracy": "correct"},
        *({**path._asdict(), "accuracy": "scaled"} for path in PATHS),
    ):
        if options.get("family", "least") != "least" and shape_a[-1] > 76_549:
            continue
        if options.get("scheme") == "I" and options.get("backend", "fp64") == "fp64" and shape_a[-1] > 65_536:
            continue
        assert ozfp4.plan_for(a, b, **options) == chosen.matmul(a, b, report=True, **options)[1].plan, options
    single = types[0][-1] == types[1][-1] == "4"
    assert ozfp4.plan_for(a, b).bits == (28 if single else 57)
    assert ozfp4.plan_for(a, b, accuracy="scaled").bits == (24 if single else 53)


def test_lists_are_operands() -> None:
    assert ozfp4.plan_for([[1.0, 2.0]], [3.0, 4.0]) == ozfp4.plan(1, 1, 2)


@pytest.mark.usefixtures("cache", "no_int8_unit")
def test_the_next_backend_where_a_kernel_is_disabled() -> None:
    a = np.ones((3, 4))
    _core.break_kernels([("FP64 on residues", "fp64")])
    try:
        with pytest.warns(RuntimeWarning, match=r"\(fp64\) on cpu .* is disabled"):
            assert ozfp4.plan_for(a, a.T).backend == "int8"
    finally:
        _core.break_kernels([])
    assert ozfp4.matmul(a, a.T, report=True)[1].plan.backend == "int8"
    with pytest.raises(
        RuntimeError, match=r"^backend: every kernel of 'fp64' failed its self-test: 'FP64 on"
    ):
        ozfp4.plan_for(a, a.T, backend="fp64")


def test_only_backends_with_a_plan_are_taken(no_int8_unit: None) -> None:
    # The FP64 alphabet sums 87381 products of digits exactly, no more.
    assert ozfp4.plan(1, 1, 1000, scheme="I", accuracy="scaled").backend == "fp64"
    assert ozfp4.plan(1, 1, 100_000, scheme="I", accuracy="scaled").backend == "int8"


# ---- A GPU ---------------------------------------------------------------------------------------------------------


class Device:
    """torch.device as far as the plan looks at it."""

    def __init__(self, *text: Any) -> None:
        self._text = ":".join(map(str, text))

    def __str__(self) -> str:
        return self._text


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """cuda:0 prefers int8 and cuda:1, the current one, fp4."""
    cuda = SimpleNamespace(is_available=lambda: True, device_count=lambda: 2, current_device=lambda: 1)
    torch = SimpleNamespace(cuda=cuda, device=Device, Tensor=type("Tensor", (), {}))
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(extension, "why_unavailable", lambda device: None)

    def cheapest(asked: Any, precision: int, k: int, index: int) -> tuple[str, str]:
        return "int8" if index == 0 else "fp4", ""

    monkeypatch.setattr(extension, "require_cuda", lambda: SimpleNamespace(cheapest=cheapest))


@pytest.mark.parametrize(
    ("device", "backend"),
    [(None, "fp64"), ("cpu", "fp64"), ("cuda", "fp4"), ("cuda:0", "int8"), ("cuda:1", "fp4")],
)
def test_auto_asks_the_cost_of_the_device(
    two_gpus: None, no_int8_unit: None, device: str | None, backend: str
) -> None:
    assert ozfp4.plan(100, 100, 100, device=device, accuracy="scaled") == ozfp4.plan(
        100, 100, 100, backend=backend, accuracy="scaled"
    )
    if device is not None:
        asked = ozfp4.plan(1, 1, 100, device=Device(device), bits=24, accuracy="scaled")
        assert asked == ozfp4.plan(1, 1, 100, backend=backend, bits=24, accuracy="scaled")


def test_a_gpu_has_no_fp64(two_gpus: None) -> None:
    with pytest.raises(RuntimeError, match=r"^backend: 'fp64' has no GPU kernel; available on cuda:0: "):
        ozfp4.plan(9, 9, 9, backend="fp64", device="cuda:0", accuracy="scaled")
    assert ozfp4.plan(9, 9, 9, backend="fp4", device="cuda:0", accuracy="scaled").backend == "fp4"


@pytest.mark.parametrize(
    ("device", "error", "message"),
    [
        ("cuda:2", RuntimeError, "^device: 'cuda:2' does not exist; torch has cuda:0 to cuda:1$"),
        ("gpu", ValueError, "^device: 'gpu' is unknown; allowed are 'cpu', 'cuda', 'cuda:0' and so on$"),
        ("cuda:-1", ValueError, "^device: 'cuda:-1' is unknown"),
        (0, TypeError, "^device: 0 is neither a string nor a torch.device$"),
    ],
)
def test_devices_that_are_none(two_gpus: None, device: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ozfp4.plan(9, 9, 9, device=device, accuracy="scaled")


def test_without_what_a_gpu_needs(two_gpus: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extension, "why_unavailable", lambda device: f"{device}: too old")
    with pytest.raises(RuntimeError, match=r"^device: 'cuda': cuda:1: too old$"):
        ozfp4.plan(9, 9, 9, device="cuda", accuracy="scaled")
    torch = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False), device=Device)
    monkeypatch.setitem(sys.modules, "torch", torch)
    with pytest.raises(RuntimeError, match=r"^device: 'cuda': torch finds no CUDA device$"):
        ozfp4.plan(9, 9, 9, device="cuda", accuracy="scaled")
    monkeypatch.delitem(sys.modules, "torch")
    with pytest.raises(RuntimeError, match=r"^device: 'cuda:0': torch is not imported"):
        ozfp4.plan(9, 9, 9, device="cuda:0", accuracy="scaled")
