"""Times of products on a GPU: whole calls and stages, without the host's.

All times are medians of repeated warm calls on normal(0, 1) float64 tensors; TFLOPS = 2 N³ / t. Nothing here runs without
torch and a CUDA device.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from ozfp4._measure.clocks import event_times, gpu_stages, operands
from ozfp4._request.library import require_torch
from support.chosen import matmul

from .experiment import Row


def batch_for(n: int) -> int:
    """Calls between two events: short products are timed in a row, as a program would issue them."""
    return 20 if n <= 1024 else 5 if n <= 2048 else 1


def call_ms(n: int, run: Callable[[], object], budget: float) -> float:
    """Milliseconds of whole calls of an n × n × n product."""
    return round(statistics.median(event_times(run, budget, batch_for(n))), 4)


def native_ms(n: int, budget: float) -> float:
    """Milliseconds of torch's own float64 product."""
    a, b = operands("cuda", n)
    return call_ms(n, lambda: a @ b, budget)


def stage_row(n: int, a: Any, b: Any, options: dict[str, Any], budget: float) -> Row:
    """Medians of the four stages of one product, with what ran."""
    _, report = matmul(a, b, report=True, **options)
    scale, encode, multiply, reconstruct = gpu_stages(report.plan, a, b, budget, report.accuracy)
    return {
        "products": report.products,
        "kernel": report.kernel,
        "scale ms": round(scale, 4),
        "encode ms": round(encode, 4),
        "multiply ms": round(multiply, 4),
        "reconstruct ms": round(reconstruct, 4),
        "multiply TOPS": round(2 * report.products * n**3 / multiply / 1e9),
        "workspace GiB": round(report.workspace / 2**30, 2),
    }


def free_memory() -> int:
    """Bytes of device memory that are free."""
    free, _ = require_torch().cuda.mem_get_info()
    return int(free)
