"""Clocks: whole calls on the CPU and on a GPU, and the stages of a product.

Functions for a GPU need torch and a CUDA device.
"""

from __future__ import annotations

import itertools
import math
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._api.matmul import matmul
from .._dispatch import on_cuda
from .._options import Options
from .._plans.plan import Plan
from .._report import Report
from .._request.library import require_torch
from .._support import torch_private

LONGEST_SERIES = 200
STAGES = ("scale", "encode", "multiply", "reconstruct")

# Clocks that the GPU is kept busy for while the host enqueues a product: else its first stage would hold the host's time.
# Doubled for as long as the GPU is through before the host.
_HEAD_START = 2_000_000
_LONGEST_HEAD_START = 2**33  # some seconds


def operands(device: str, n: int, dtype: str = "float64") -> tuple[Any, Any]:
    """A pair of seeded n × n matrices, normal(0, 1): arrays for "cpu", tensors for "cuda"."""
    if device == "cpu":
        rng, has_parts = np.random.default_rng(n), dtype.startswith("complex")
        a, b = (rng.standard_normal((n, n)) for _ in range(2))
        a, b = ((x + 1j * x.T if has_parts else x).astype(dtype, copy=False) for x in (a, b))
        return a, b
    torch = require_torch()
    generator = torch.Generator("cuda").manual_seed(n)
    options = {"dtype": getattr(torch, dtype), "device": "cuda", "generator": generator}
    return torch.randn(n, n, **options), torch.randn(n, n, **options)


def rounds(budget: float, least: int, most: float = LONGEST_SERIES) -> Iterator[None]:
    """As many as fit `budget` seconds, `least` to `most`."""
    start, done = time.perf_counter(), 0
    while done < least or (done < most and time.perf_counter() - start < budget):
        yield
        done += 1


def call_times(run: Callable[[], object], budget: float) -> list[float]:
    """Seconds of calls on the CPU after one to warm up: as many as fit `budget` seconds, 1 to 15."""
    run()
    taken: list[float] = []
    for _ in rounds(budget, 1, 15):
        began = time.perf_counter()
        run()
        taken.append(time.perf_counter() - began)
    return taken


def event_times(run: Callable[[], object], budget: float, batch: int = 1) -> list[float]:
    """Milliseconds per call, `batch` calls between two events, after a warm-up of a third of `budget` seconds."""
    milliseconds(run)
    for _ in rounds(budget / 3, 0, math.inf):
        milliseconds(run)
    return [milliseconds(run, batch) / batch for _ in rounds(budget, 5)]


def milliseconds(run: Callable[[], object], batch: int = 1) -> float:
    """The time of so many runs, between two events of the current stream."""
    torch = require_torch()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(batch):
        run()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end))


def graph_seconds(run: Callable[[], object]) -> float:
    """The time of one call in a replayed CUDA graph of as many as take 2 ms, 2 to 20: the host's is not in it. The median of
    nine."""
    torch = require_torch()
    milliseconds(run, 2)
    count = max(2, min(20, int(2 / max(milliseconds(run), 1e-3))))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(count):
            run()
    graph.replay()
    return 1e-3 * statistics.median(milliseconds(graph.replay) for _ in range(9)) / count


def gpu_stages(
    plan: Plan, a: Any, b: Any, budget: float, accuracy: str = "scaled"
) -> tuple[float, float, float, float]:
    """Milliseconds of scale, encode, multiply and reconstruct of one product of two matrices, without the host's time;
    what is repaired counts as reconstruct.

    RuntimeError where the host needs seconds to enqueue a product.
    """
    torch = require_torch()
    c = torch.empty(a.shape[0], b.shape[1], dtype=torch.float64, device="cuda")
    asked, core = Options(plan=plan, accuracy=accuracy), on_cuda.ready(a.device)
    samples: list[list[float]] = []
    head_start, start = _HEAD_START, time.perf_counter()
    while len(samples) < 6 or (len(samples) < LONGEST_SERIES // 2 and time.perf_counter() - start < budget):
        events = [torch.cuda.Event(enable_timing=True) for _ in range(5)]
        for event in events:
            event.record()  # creates the handle
        torch_private.sleep_on_device(head_start)
        events[0].record()
        core.multiply_tensors(a, b, c, asked, events=tuple(event.cuda_event for event in events[1:4]))
        events[4].record()
        too_short = events[0].query()  # the GPU had begun before all was enqueued
        torch.cuda.synchronize()
        if not too_short:
            samples.append([x.elapsed_time(y) for x, y in itertools.pairwise(events)])
            continue
        head_start *= 2
        if head_start > _LONGEST_HEAD_START:
            raise RuntimeError(
                "stages: the host takes seconds to enqueue a product; they cannot be timed apart from it"
            )
    scale, encode, multiply, reconstruct = map(statistics.median, zip(*samples[2:], strict=True))
    return scale, encode, multiply, reconstruct


def multiply_rate(device: str, plan: Plan, n: int, budget: float = 0.5) -> float:
    """Operations a second, 2 n³ for each plane product, of the multiply stage of n × n × n products by a plan."""
    a, b = operands(device, n)

    def run() -> Report:
        return matmul(a, b, plan=plan, accuracy="scaled", report=True)[1]  # type: ignore[no-any-return]

    used = run().products
    if device == "cuda":
        seconds = 1e-3 * gpu_stages(plan, a, b, budget)[2]
    else:
        seconds = statistics.median(run().seconds["multiply"] for _ in rounds(budget, 3, 50))
    return float(2 * used * n**3 / seconds)
