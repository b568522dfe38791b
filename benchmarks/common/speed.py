"""How long products take: whole calls and the four stages, on the CPU and on a GPU by one interface.

The *compute stage* is multiply and reconstruct, as in the paper; scale and encode are its preprocessing.
"""

from __future__ import annotations

import os
import statistics

from ozfp4._measure.clocks import STAGES, operands
from ozfp4._measure.machine import have_cuda
from ozfp4._plans.plan import Plan, make_plan
from ozfp4._report import Report
from ozfp4._request.library import require_torch
from support.chosen import matmul

from . import gpu
from .experiment import Row
from .methods import REFUSALS, Method, reason
from .turns import repeats_for, seconds_of

SIZES = {"cpu": (512, 1024, 2048), "cuda": (1024, 2048, 4096, 8192, 16384)}
OWN = ("ozfp4", "auto")  # kinds of methods that tell of their stages on a CPU


def free_memory() -> int | None:
    """Bytes of main memory that programs can still have; None where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return 1024 * int(line.split()[1])
        return int(os.sysconf("SC_AVPHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE"))
    except (OSError, ValueError, AttributeError):
        return None


def why_too_large(method: Method, n: int, free: int | None = None) -> str | None:
    """None if an n × n × n product fits the memory of the method's device, `free` bytes or what it has free now; else one clause
    that says what is missing."""
    need = 24 * n * n  # A, B and C
    if method.kind in OWN:
        need += 2**30 if method.device == "cpu" else 2 * _plan(method, n).planes_a * n * n
    if free is None and method.device == "cuda":
        free = int(gpu.free_memory())
    elif free is None:
        free = free_memory()
    if free is None or need <= free:
        return None
    return f"N = {n} needs about {need / 2**30:.1f} GiB, {free / 2**30:.1f} GiB are free"


def _plan(method: Method, n: int) -> Plan:
    path = ("scheme", "backend", "family")
    of_auto = dict(zip(path, ("II", "int8", "least"), strict=True))  # its planes are the largest
    scheme, backend, family = (method.options.get(name, of_auto[name]) for name in path)
    return make_plan(scheme, backend, family, 53, n)


def measure(method: Method, n: int, budget: float = 1.0) -> Row:
    """One row of the performance table for n × n × n products, measured for `budget` seconds after a warm-up.

    Columns: N, method; ms and TFLOPS, 2 N³ / t, of the whole call; compute ms and compute TFLOPS of multiply and reconstruct.
    Methods without stages have the whole call there. Our own methods add products and the milliseconds of each stage, and "auto"
    the chosen path. Raises the errors of the method, and MemoryError before it runs where it does not fit.
    """
    missing = why_too_large(method, n)
    if missing is not None:
        raise MemoryError(missing)
    found = (_on_gpu if method.device == "cuda" else _on_cpu)(method, n, budget)
    compute = found.get("multiply ms", 0.0) + found.get("reconstruct ms", 0.0) or found["ms"]
    return {
        "N": n,
        "method": method.name,
        **found,
        "compute ms": round(compute, 4),
        "TFLOPS": float(f"{2 * n**3 / found['ms'] / 1e9:.4g}"),
        "compute TFLOPS": float(f"{2 * n**3 / compute / 1e9:.4g}"),
    }


def attempt(method: Method, n: int, budget: float) -> Row:
    """The row of :func:`measure`, or the reason why there is none under "skipped"."""
    try:
        return measure(method, n, budget)
    except REFUSALS as error:
        return {"N": n, "method": method.name, "skipped": reason(error)}
    finally:
        if method.device == "cuda" and have_cuda():
            require_torch().cuda.empty_cache()  # other processes measure on this GPU, too


def _on_cpu(method: Method, n: int, budget: float) -> Row:
    a, b = operands("cpu", n)
    stages: list[dict[str, float]] = []
    products, took = None, ""

    def run() -> None:
        nonlocal products, took
        if method.kind in OWN:
            _, report = matmul(a, b, report=True, **method.options)
            stages.append(report.seconds)
            products, took = report.products, what_ran(report)
        else:
            method.multiply(a, b)

    warm = seconds_of(run)
    stages.clear()
    taken = [seconds_of(run) for _ in range(repeats_for(warm, budget))]
    row: Row = {"ms": round(1e3 * statistics.median(taken), 4)}
    if stages:
        row["products"] = products
        for stage in STAGES:
            row[f"{stage} ms"] = round(1e3 * statistics.median(s[stage] for s in stages), 4)
    return row | ({"took": took} if method.kind == "auto" else {})


def what_ran(report: Report) -> str:
    """The backend and what multiplied: planes, machine words or limbs of eight bits."""
    return f"{report.backend}, {report.kernel}"


def _on_gpu(method: Method, n: int, budget: float) -> Row:
    if method.peer is not None:
        return {"ms": method.peer.milliseconds(n, budget)}
    if method.kind == "native":
        return {"ms": gpu.native_ms(n, budget)}
    a, b = operands("cuda", n)
    options = method.options
    row: Row = {"ms": gpu.call_ms(n, lambda: matmul(a, b, **options), budget)}
    if method.kind == "auto":
        return row | {"took": what_ran(matmul(a, b, report=True, **options)[1])}
    return row | gpu.stage_row(n, a, b, options, budget / 2)
