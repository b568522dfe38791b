"""Rows of products on a GPU: whole calls and stages, board power and clock.

All times are medians of repeated warm calls on normal(0, 1) float64 tensors; TFLOPS = 2 N³ / t. Nothing here runs without
torch and a CUDA device.
"""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import threading
from collections.abc import Callable, Iterator
from typing import Any

from ozfp4.backends.cuda.promise import promise_of
from ozfp4.measure.clocks import event_times, gpu_stages, operands
from ozfp4.request.library import require_torch
from support.chosen import matmul

from .experiment import Row


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


def batch_for(n: int) -> int:
    """Calls between two events: short products are timed in a row, as a program would issue them."""
    return 20 if n <= 1024 else 5 if n <= 2048 else 1


def total_row(n: int, run: Callable[[], object], budget: float) -> Row:
    """Milliseconds of whole calls, with board power and clock."""
    row: Row = {}
    sampler = Sampler()
    try:
        with sampler.during(row):
            row["ms"] = round(statistics.median(event_times(run, budget, batch_for(n))), 4)
    finally:
        sampler.close()
    return row


def native_row(n: int, budget: float) -> Row:
    """torch's own float64 product."""
    a, b = operands("cuda", n)
    return total_row(n, lambda: a @ b, budget)


def stage_row(n: int, a: Any, b: Any, options: dict[str, Any], budget: float) -> Row:
    """Medians of the four stages of one product, with what ran."""
    _, report = matmul(a, b, report=True, **options)
    promise = promise_of(report.accuracy, single=False)
    scale, encode, multiply, reconstruct = gpu_stages(report.plan, a, b, budget, promise)
    return {
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


def free_memory() -> int:
    """Bytes of device memory that are free."""
    free, _ = require_torch().cuda.mem_get_info()
    return int(free)
