"""Clocks for a GPU: CUDA events around whole calls and between the stages, board power and clock, copy bandwidth.

All times are medians of repeated warm calls on normal(0, 1) float64 tensors; TFLOPS = 2 N³ / t. Nothing here runs without
torch and a CUDA device.
"""

from __future__ import annotations

import contextlib
import itertools
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from ..api.matmul import matmul
from ..backends.cuda import launch
from ..backends.cuda.promise import PLAIN, Promise, promise_of
from ..dispatch import on_cuda
from ..plans.plan import Plan
from ..request.operands import matmul_shape
from .rows import Row

LONGEST_SERIES = 200
REPLAYS = 9  # of a CUDA graph


def _torch() -> Any:
    return import_module("torch")


class Sampler:
    """Board power in watts and SM clock in MHz, sampled in the background through nvidia-smi."""

    def __init__(self) -> None:
        self.samples: list[tuple[float, float]] = []
        self._process: subprocess.Popen[str] | None = None
        query = ["--query-gpu=power.draw,clocks.sm", "--format=csv,noheader,nounits", "-lms", "50", "-i", "0"]
        with contextlib.suppress(OSError):
            self._process = subprocess.Popen(["nvidia-smi", *query], stdout=subprocess.PIPE, text=True)
            self._reader = threading.Thread(target=self._read, daemon=True)
            self._reader.start()

    def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with contextlib.suppress(ValueError):
                power, clock = line.split(",")
                self.samples.append((float(power), float(clock)))

    @contextlib.contextmanager
    def during(self, row: Row) -> Iterator[None]:
        """Put the medians of W and MHz during the block into `row`."""
        start = len(self.samples)
        yield
        taken = self.samples[start + 1 :] or self.samples[-1:]
        if taken:
            row["W"] = round(statistics.median(p for p, _ in taken))
            row["MHz"] = round(statistics.median(c for _, c in taken))

    def close(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._reader.join()  # which ends with the process's output
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process = None


def event_times(run: Callable[[], object], budget: float, batch: int = 1) -> list[float]:
    """Milliseconds per call, `batch` calls between two events, after a warm-up of a third of `budget` seconds."""
    torch = _torch()
    run()
    torch.cuda.synchronize()
    start = time.perf_counter()
    while time.perf_counter() - start < budget / 3:
        run()
        torch.cuda.synchronize()
    times: list[float] = []
    start = time.perf_counter()
    while time.perf_counter() - start < budget or len(times) < 5:
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        for _ in range(batch):
            run()
        last.record()
        torch.cuda.synchronize()
        times.append(first.elapsed_time(last) / batch)
        if len(times) >= LONGEST_SERIES:
            break
    return times


def milliseconds(what: Callable[[], object]) -> float:
    """Of one run, between two events of the current stream."""
    torch = _torch()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    what()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end))


def graph_seconds(run: Callable[[], object], *, series: float = 2e-3, most_calls: int = 20) -> float:
    """Of one call, replayed from a CUDA graph of as many as take `series` seconds, 2 to `most_calls`: what the host takes is not
    in it. The median of REPLAYS."""
    torch = _torch()

    run()
    run()
    count = max(2, min(most_calls, int(1e3 * series / max(milliseconds(run), 1e-3))))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(count):
            run()
    graph.replay()
    return 1e-3 * statistics.median(milliseconds(graph.replay) for _ in range(REPLAYS)) / count


def operands(n: int) -> tuple[Any, Any]:
    """A pair of seeded n × n float64 tensors, normal(0, 1)."""
    torch = _torch()
    generator = torch.Generator("cuda").manual_seed(n)
    options = {"dtype": torch.float64, "device": "cuda", "generator": generator}
    return torch.randn(n, n, **options), torch.randn(n, n, **options)


def batch_for(n: int) -> int:
    """Calls between two events: short products are timed in a row, as a program would issue them."""
    return 20 if n <= 1024 else 5 if n <= 2048 else 1


def total_row(name: str, n: int, run: Callable[[], object], sampler: Sampler | None, budget: float) -> Row:
    """Milliseconds and TFLOPS of whole calls."""
    row: Row = {"N": n, "method": name}
    with sampler.during(row) if sampler else contextlib.nullcontext():
        ms = statistics.median(event_times(run, budget, batch_for(n)))
    return row | {"ms": round(ms, 4), "TFLOPS": round(2 * n**3 / ms / 1e9, 1)}


def native_row(n: int, budget: float) -> Row:
    """torch's own float64 product, with board power and clock."""
    sampler = Sampler()
    try:
        a, b = operands(n)
        return total_row("native", n, lambda: a @ b, sampler, budget)
    finally:
        sampler.close()


# Clocks that the GPU is kept busy for while the host enqueues a product: else its first stage would hold the host's time.
# Doubled for as long as the GPU is through before the host.
_HEAD_START = 2_000_000
_LONGEST_HEAD_START = 2**33  # some seconds


def stage_medians(
    plan: Plan, a: Any, b: Any, budget: float, promise: Promise = PLAIN
) -> tuple[float, float, float, float]:
    """Milliseconds of scale, encode, multiply and reconstruct of one product of two n × n tensors, without the host's time;
    what is repaired counts as reconstruct.

    RuntimeError where the host needs seconds to enqueue a product.
    """
    torch = _torch()
    n = a.shape[0]
    shape = matmul_shape(tuple(a.shape), tuple(b.shape))
    c = torch.empty(n, n, dtype=torch.float64, device="cuda")
    variant = on_cuda.serving_variant(plan, a.device.index)
    samples: list[list[float]] = []
    head_start = _HEAD_START
    start = time.perf_counter()
    while time.perf_counter() - start < budget or len(samples) < 6:
        events = [torch.cuda.Event(enable_timing=True) for _ in range(5)]
        for event in events:
            event.record()  # creates the handle
        torch.cuda._sleep(head_start)
        events[0].record()
        handles = (events[1].cuda_event, events[2].cuda_event, events[3].cuda_event)
        launch.run(plan, variant, a, b, c, shape, launch.UNLIMITED, handles, promise=promise)
        events[4].record()
        too_short = events[0].query()  # the GPU had begun before all was enqueued
        torch.cuda.synchronize()
        if too_short:
            head_start *= 2
            if head_start > _LONGEST_HEAD_START:
                raise RuntimeError(
                    "stages: the host takes seconds to enqueue a product; they cannot be timed apart from it"
                )
            continue
        samples.append([x.elapsed_time(y) for x, y in itertools.pairwise(events)])
        if len(samples) >= LONGEST_SERIES // 2:
            break
    scale, encode, multiply, reconstruct = (
        statistics.median(column) for column in zip(*samples[2:], strict=True)
    )
    return scale, encode, multiply, reconstruct


def stage_row(name: str, n: int, a: Any, b: Any, options: dict[str, Any], budget: float) -> Row:
    """Medians of the four stages of one product, with what ran."""
    _, report = matmul(a, b, report=True, **options)
    promise = promise_of(report.accuracy, single=False)
    scale, encode, multiply, reconstruct = stage_medians(report.plan, a, b, budget, promise)
    return {
        "N": n,
        "method": name,
        "products": report.products,
        "kernel": report.kernel,
        "scale ms": round(scale, 4),
        "encode ms": round(encode, 4),
        "multiply ms": round(multiply, 4),
        "reconstruct ms": round(reconstruct, 4),
        "host": "apart",  # its time is in none of them
        "multiply TOPS": round(2 * report.products * n**3 / multiply / 1e9),
        "workspace GiB": round(report.workspace / 2**30, 2),
    }


def copy_bandwidth(budget: float = 0.3) -> float:
    """GB/s of a device-to-device copy of 4 GiB, bytes read plus bytes written."""
    torch = _torch()
    x = torch.empty(2**29, dtype=torch.float64, device="cuda").normal_()
    y = torch.empty_like(x)
    return float(2 * x.nbytes / statistics.median(event_times(lambda: y.copy_(x), budget)) / 1e6)


def free_memory() -> int:
    """Bytes of device memory that are free."""
    free, _ = _torch().cuda.mem_get_info()
    return int(free)
