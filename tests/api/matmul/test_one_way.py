"""One call of matmul goes down the tree once: at most eight modules, and none but its own is entered again.

A module is entered by a call of one of its functions from another module. What is compiled or kept in a cache enters none:
calls are traced once one like them has been made. A report of a GPU is not held to this: it is gathered turn by turn.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import partial
from types import FrameType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4.backends.cuda import extension
from ozfp4.backends.cuda.views import prepare
from ozfp4.cost.choice import Choice
from ozfp4.dispatch import on_cuda, repeated, repeated_on_cpu, this_machine
from ozfp4.testing import assert_same_bits, exact_matmul
from ozfp4.trust import guard

OWN = "ozfp4.api.matmul"
MOST = 8
A, B = np.random.default_rng(1).standard_normal((2, 7, 7))
C = exact_matmul(A, B)


def modules_entered(call: Callable[[], object]) -> list[str]:
    """The modules of ozfp4 in the order in which they are entered."""
    found: list[str] = []

    def trace(frame: FrameType, event: str, _: object) -> None:
        name = str(frame.f_globals.get("__name__"))
        if event == "call" and name.partition(".")[0] == "ozfp4" and found[-1:] != [name]:
            found.append(name)

    before = sys.getprofile()
    sys.setprofile(trace)
    try:
        call()
    finally:
        sys.setprofile(before)
    return found


def check(entered: list[str]) -> None:
    assert entered[0] == OWN
    assert len(set(entered)) <= MOST, entered
    others = [name for name in entered if name != OWN]
    assert len(others) == len(set(others)), entered


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"backend": "fp4", "family": "paper", "bits": 30, "accuracy": "scaled"},
        {"out": np.empty((7, 7))},
        {"report": True},
        {"out": np.empty((7, 7)), "report": True, "workspace_limit": 2**20, "progress": print},
    ],
    ids=lambda options: " ".join(options) or "plain",
)
def test_on_the_cpu(options: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    ozfp4.matmul(A, B, **options)
    entered = modules_entered(lambda: ozfp4.matmul(A, B, **options))
    is_repeated = not {"out", "report"} & set(options)
    assert ("ozfp4.dispatch.repeated_on_cpu" if is_repeated else "ozfp4.backends.cpu") in entered
    check(entered)


def test_the_first_of_its_kind_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    ozfp4.matmul(A, B)
    monkeypatch.setattr(repeated_on_cpu, "made", {})
    entered = modules_entered(lambda: ozfp4.matmul(A, B))
    assert "ozfp4.backends.cpu" in entered
    assert entered.count("ozfp4.dispatch.repeated_on_cpu") == 2  # asked before, and told afterwards


def functions_called(call: Callable[[], object]) -> int:
    """Calls of functions and methods, Python's and others, once one like it has been made."""
    count = 0

    def trace(_frame: FrameType, event: str, _: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    call()
    before = sys.getprofile()
    sys.setprofile(trace)
    try:
        call()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize(
    ("dtype", "most"), [(np.float64, 12), (np.float32, 12), (np.int64, 78), (np.int8, 78)]
)
def test_a_small_product_is_not_held_up(dtype: type, most: int) -> None:
    """Of the time beside the core's, measured by what it consists of: about 0.15 microseconds a function. The least of several
    calls, as a collector may run within one."""
    a, b = (np.ones((8, 8), dtype) for _ in range(2))
    assert min(functions_called(lambda: ozfp4.matmul(a, b)) for _ in range(3)) <= most


def test_with_tensors_on_the_cpu() -> None:
    torch = pytest.importorskip("torch")
    x, y = torch.from_numpy(A), torch.from_numpy(B)
    ozfp4.matmul(x, y)
    check(modules_entered(lambda: ozfp4.matmul(x, y, report=True)))


def test_the_trace_sees_a_return() -> None:
    def there_and_back() -> None:
        ozfp4.matmul(A, B)
        ozfp4.matmul(A, B)

    with pytest.raises(AssertionError):
        check(modules_entered(there_and_back))


# ---- A GPU whose extension is fake: tensors lie on torch's CPU ------------------------------------------------------------


class Problem:
    """The product of A and B; counts its launches."""

    bytes, turns = 64, 1
    launches = 0

    def __init__(self, *arguments: Any, **choices: Any) -> None:
        self.choices = choices

    def launch(self, a: int, b: int, c: int, *_: Any) -> None:
        np.ctypeslib.as_array(ctypes.cast(c, ctypes.POINTER(ctypes.c_double)), (7, 7))[...] = C
        Problem.launches += 1

    relaunch = launch


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch, new_process: Callable[[], None]) -> Any:
    torch = pytest.importorskip("torch")
    fake = SimpleNamespace(
        kernels=("kernel",), pointer_alignment=16, counter_bytes=64, most_direct_inner=0, most_thin_lines=0,
        stream_id=lambda stream, device: -1,
        ElementType=SimpleNamespace(float64=0, float32=1, int8=2), Operand=lambda *a: a, Result=lambda *a: a,
        Problem=Problem, CudaPlan=lambda *_: SimpleNamespace(device_steps=b""),
    )  # fmt: skip
    monkeypatch.setattr(extension, "require_cuda", lambda: fake)
    monkeypatch.setattr(extension, "extension", lambda: fake)
    monkeypatch.setattr(on_cuda, "_ready", {0})
    monkeypatch.setattr(on_cuda, "check_device", lambda device: None)
    monkeypatch.setattr(this_machine, "gpu_choice", lambda *_: Choice(("int8", "fp4"), ""))
    monkeypatch.setattr(guard, "serving_kernel", lambda plan, index: 0)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda index: SimpleNamespace(cuda_stream=7))
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda index: 7, raising=False)
    monkeypatch.setattr(repeated, "made", {})
    prepare.cache_clear()
    yield torch
    prepare.cache_clear()


def on_device(torch: Any) -> tuple[Any, Any]:
    """Tensors that the request takes for ones on a device."""
    return torch.from_numpy(A), torch.from_numpy(B)


def test_on_a_gpu(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = on_device(gpu)
    _as_if_on_a_device(monkeypatch, gpu)
    for options in (
        {},
        {"out": gpu.zeros(7, 7, dtype=gpu.float64)},
        {"backend": "fp4", "bits": 30, "accuracy": "scaled"},
    ):
        assert_same_bits(ozfp4.matmul(x, y, **options), C)
        entered = modules_entered(partial(ozfp4.matmul, x, y, **options))
        assert "ozfp4.backends.cuda.launch" in entered
        check(entered)


def _as_if_on_a_device(monkeypatch: pytest.MonkeyPatch, torch: Any) -> None:
    """take_operands says of every tensor that it lies on a device."""
    from ozfp4.request import library

    take = library.take_operands

    def taken(a: Any, b: Any, out: Any, allowed: Any) -> Any:
        if not torch.is_tensor(a):
            return take(a, b, out, allowed)
        return library.Operands(a, b, out, torch, on_device=True)

    monkeypatch.setattr(library, "take_operands", taken)


def test_a_repeated_product_on_a_gpu(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = on_device(gpu)
    _as_if_on_a_device(monkeypatch, gpu)
    monkeypatch.setattr(repeated, "_reader", lambda: None)
    monkeypatch.setattr(
        repeated,
        "likeness",
        lambda passed, *_: ("like", guard.generation) if gpu.is_tensor(passed[0]) else None,
    )
    ozfp4.matmul(x, y)
    before = Problem.launches
    entered = modules_entered(lambda: ozfp4.matmul(x, y))
    assert Problem.launches == before + 1
    check(entered)
    assert [name for name in entered if name != OWN][:2] == [
        "ozfp4.dispatch.repeated",
        "ozfp4.backends.cuda.launch",
    ]
    guard.generation += 1
    entered = modules_entered(lambda: ozfp4.matmul(x, y))  # a verdict changed
    assert "ozfp4.dispatch.on_cuda" in entered
