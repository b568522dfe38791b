"""Times of the stages on a GPU that is a simulated queue: the host's time is in none of them, however long it takes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import ozfp4
from ozfp4._dispatch import on_cuda
from ozfp4._measure import clocks
from ozfp4._measure.calibrate import short_plan
from ozfp4._plans.plan import make_plan
from ozfp4._support import torch_private

STAGES = (0.01, 0.02, 0.04, 0.03)  # milliseconds


class Queue:
    """A GPU that works off what the host enqueues; times in milliseconds, at 2 GHz. The host takes `host` for a product."""

    def __init__(self, host: float) -> None:
        self.host = host
        self.now = 0.0
        self.free = 0.0  # when all that is enqueued is done
        self.handles: list[Event] = []

    def work(self, milliseconds: float) -> None:
        self.free = max(self.now, self.free) + milliseconds

    def sleep(self, clocks: int) -> None:
        self.work(clocks / 2e6)

    def synchronize(self) -> None:
        self.now = max(self.now, self.free)

    def multiply_tensors(self, a: Any, b: Any, c: Any, asked: Any, events: tuple[int, ...]) -> None:
        for i, milliseconds in enumerate(STAGES):
            self.now += self.host / 4
            self.work(milliseconds)
            if i < 3:
                self.handles[events[i]].record()


class Event:
    def __init__(self, queue: Queue) -> None:
        self.queue, self.at = queue, 0.0
        self.cuda_event = len(queue.handles)
        queue.handles.append(self)

    def record(self) -> None:
        self.at = max(self.queue.now, self.queue.free)

    def query(self) -> bool:
        return self.at <= self.queue.now

    def elapsed_time(self, other: Event) -> float:
        return other.at - self.at


def take_for_torch(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = SimpleNamespace(
        Event=lambda enable_timing: Event(queue), _sleep=queue.sleep, synchronize=queue.synchronize
    )
    torch = SimpleNamespace(cuda=cuda, empty=lambda *_, **__: None, float64=None)
    monkeypatch.setattr(clocks, "require_torch", lambda: torch)
    monkeypatch.setattr(torch_private, "sleep_on_device", queue.sleep)


def medians(monkeypatch: pytest.MonkeyPatch, host: float) -> tuple[float, ...]:
    queue = Queue(host)
    take_for_torch(queue, monkeypatch)
    monkeypatch.setattr(on_cuda, "ready", lambda device: queue)
    matrix = SimpleNamespace(shape=(8, 8), device=SimpleNamespace(index=0))
    return clocks.gpu_stages(ozfp4.plan(8, 8, 8, backend="int8", accuracy="scaled"), matrix, matrix, 0.0)


@pytest.mark.parametrize("host", [0.0, 0.05, 0.5, 3.0, 700.0])
def test_the_hosts_time_is_in_no_stage(monkeypatch: pytest.MonkeyPatch, host: float) -> None:
    assert medians(monkeypatch, host) == pytest.approx(STAGES)


def test_a_host_that_takes_seconds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError, match="the host takes seconds"):
        medians(monkeypatch, 10_000.0)


@pytest.mark.parametrize("batch", [1, 4])
def test_time_of_a_call_between_two_events(monkeypatch: pytest.MonkeyPatch, batch: int) -> None:
    queue = Queue(0.0)
    take_for_torch(queue, monkeypatch)
    calls = []

    def run() -> None:
        calls.append(queue.now)
        queue.work(0.25)

    times = clocks.event_times(run, 0.0, batch)
    assert times == pytest.approx([0.25] * len(times))
    assert len(times) >= 5
    assert len(calls) == 1 + batch * len(times)  # one to warm up


@pytest.mark.parametrize(("scheme", "backend"), [("II", "fp64"), ("II", "int8"), ("II", "fp4"), ("I", "fp4")])
def test_a_rate_comes_from_another_plan(scheme: str, backend: str) -> None:
    whole = make_plan(scheme, backend, "least", 53, 512).products
    short = short_plan(scheme, backend, 512)
    assert short.alphabet == backend
    assert whole // 2 <= short.products < whole
    assert clocks.multiply_rate("cpu", short, 32, 0.001) > 0
