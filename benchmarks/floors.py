"""How far products are from their floors on a GPU, and which kernel takes the rest.

    python benchmarks/floors.py [--only N] [--out FILE]

Replayed from a CUDA graph, accuracy "scaled", normal(0, 1) operands; microseconds. Floors of a product of m × k by k × n with u
moduli: its multiply-adds, u m k n at the rate of the multiply stage of 8192 in this run; its bytes, operands read and the result
written at the rate of a copy; the same of the stages, which write residues and read them.
Kernels: of a replay by torch's profiler; they overlap, so that their sum may exceed the whole.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import torch

import ozfp4
from ozfp4.measure.calibrate import last_problem
from ozfp4.measure.clocks import copy_bandwidth, graph_seconds, operands
from ozfp4.measure.machine import describe, sentence

# m, k, n, matrices, dtype
SHAPES = [
    *((n, n, n, 1, "float64") for n in (512, 768, 1024, 1536, 2048, 3072, 4096, 8192, 16384)),
    (8192, 8192, 8192, 1, "float32"),
    (16384, 128, 16384, 1, "float64"), (16384, 256, 16384, 1, "float64"), (16384, 512, 16384, 1, "float64"),
    (8192, 8192, 64, 1, "float64"), (8192, 64, 8192, 1, "float64"), (8192, 8192, 1, 1, "float64"),
    (128, 16384, 128, 1, "float64"), (4000, 200, 4000, 1, "float64"),
    (256, 256, 256, 256, "float64"), (128, 128, 128, 1024, "float64"), (64, 64, 64, 4096, "float64"),
]  # fmt: skip


def kernels(run: Callable[[], object]) -> dict[str, float]:
    """Microseconds of each kind of kernel of one call."""
    run()
    torch.cuda.synchronize()
    calls = 5
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(calls):
            run()
        torch.cuda.synchronize()
    found: defaultdict[str, float] = defaultdict(float)
    for event in profile.key_averages():
        match = re.search(r"(\w+)_kernel\b", event.key)
        found[match[1] if match else event.key[-40:]] += event.self_device_time_total / calls
    return {name: round(time, 1) for name, time in found.items() if time > 0.05}


def int8_rate() -> float:
    """Multiply-adds of INT8 a second: those of the multiply stage of 8192, which no library's INT8 product reaches here."""
    a, b = operands("cuda", 8192)

    def product() -> object:
        return ozfp4.matmul(a, b, accuracy="scaled", backend="int8")

    _, report = ozfp4.matmul(a, b, accuracy="scaled", backend="int8", report=True)
    return 1e6 * float(report.products) * 8192**3 / kernels(product)["gemm"]


def row(m: int, k: int, n: int, matrices: int, dtype: str, rate: float, bandwidth: float) -> dict[str, Any]:
    kind = getattr(torch, dtype)
    stack = () if matrices == 1 else (matrices,)
    a = torch.randn(*stack, m, k, dtype=kind, device="cuda")
    b = torch.randn(*stack, k, n, dtype=kind, device="cuda")
    c = torch.empty(*stack, m, n, dtype=kind, device="cuda")
    series = 4e-2 if m * n * k * matrices > 2**31 else 2e-3

    def product() -> object:
        return ozfp4.matmul(a, b, out=c, accuracy="scaled")

    _, report = ozfp4.matmul(a, b, accuracy="scaled", report=True)
    moduli, about = report.products, last_problem(product).describe()
    read, written = matrices * (m * k + k * n), matrices * m * n
    size = a.element_size()
    whole = size * (read + written)
    return {
        "shape": f"{m} × {k} × {n}" + (f", {matrices}" if matrices > 1 else ""),
        "dtype": dtype,
        "moduli": moduli,
        "way": next((way for way in ("direct", "thin", "tiles") if about[way]), f"stages, {about['tile']}"),
        "native": round(1e6 * graph_seconds(lambda: torch.matmul(a, b, out=c), series=series), 1),
        "ours": round(1e6 * graph_seconds(product, series=series), 1),
        "floor: multiply": round(1e6 * moduli * matrices * m * n * k / rate, 1),
        "bytes": round(1e6 * whole / bandwidth, 1),
        "of stages": round(1e6 * (whole + 2 * moduli * (read + written)) / bandwidth, 1),
        "kernels": kernels(product),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", type=int, metavar="N", help="the first N shapes")
    parser.add_argument("--out", metavar="FILE")
    options = parser.parse_args()
    machine = describe("cuda")
    print(sentence(machine), flush=True)
    rate, bandwidth = int8_rate(), copy_bandwidth("cuda")
    print(f"INT8 {2e-12 * rate:.0f} TOPS, copy {1e-9 * bandwidth:.0f} GB/s", flush=True)
    rows = []
    for shape in SHAPES[: options.only]:
        rows.append(row(*shape, rate, bandwidth))
        print("| " + " | ".join(str(value) for value in rows[-1].values()) + " |", flush=True)
    if options.out is not None:
        with open(options.out, "w") as file:
            json.dump(
                {**machine, "int8 multiply-adds a second": rate, "bytes a second": bandwidth, "us": rows},
                file,
                indent=1,
            )


if __name__ == "__main__":
    main()
