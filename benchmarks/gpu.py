"""Products on a GPU: total and by stage, beside native FP64 and the emulations that the machine has.

    python benchmarks/gpu.py [--sizes 1024 2048 4096 8192 16384] [--methods ...] [--out results.json]

Times are CUDA events, warm, the median of repeated calls of `ozfp4.matmul` from Python on normal(0,1) float64 tensors;
TFLOPS = 2 N^3 / t. Board power and clock are sampled while each row runs. cuBLAS's FP64 emulation is measured in a process
of its own, by cuBLAS's environment variables; GEMMul8 likewise when --gemmul8 names its preload library. Nothing here is
a test.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import platform
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

import ozfp4
from ozfp4 import _device
from ozfp4._shapes import matmul_shape

Row = dict[str, Any]
SIZES = (1024, 2048, 4096, 8192, 16384)
OWN = {
    "int8": {"backend": "int8"},
    "fp4 least": {"backend": "fp4"},
    "fp4 paper": {"backend": "fp4", "family": "paper"},
    "scheme I fp4": {"scheme": "I", "backend": "fp4"},
    "scheme I int8": {"scheme": "I", "backend": "int8"},
}
CUBLAS_FIXED = {
    "CUBLAS_EMULATE_DOUBLE_PRECISION": "1",
    "CUBLAS_EMULATION_STRATEGY": "eager",
    "CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT": "55",
}
CUBLAS_DYNAMIC = {"CUBLAS_EMULATE_DOUBLE_PRECISION": "1", "CUBLAS_EMULATION_STRATEGY": "eager"}


class Sampler:
    """Board power in watts and SM clock in MHz, sampled in the background through nvidia-smi."""

    def __init__(self) -> None:
        self.samples: list[tuple[float, float]] = []
        self._process: subprocess.Popen[str] | None = None
        with contextlib.suppress(OSError):
            self._process = subprocess.Popen(
                ["nvidia-smi", "--query-gpu=power.draw,clocks.sm", "--format=csv,noheader,nounits", "-lms", "50", "-i", "0"],
                stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
            threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with contextlib.suppress(ValueError):
                power, clock = line.split(",")
                self.samples.append((float(power), float(clock)))

    @contextlib.contextmanager
    def during(self, row: Row) -> Iterator[None]:
        start = len(self.samples)
        yield
        taken = self.samples[start + 1 :] or self.samples[-1:]
        if taken:
            row["W"] = round(statistics.median(p for p, _ in taken))
            row["MHz"] = round(statistics.median(c for _, c in taken))

    def close(self) -> None:
        if self._process is not None:
            self._process.terminate()


def event_times(run: Callable[[], object], budget: float, batch: int = 1) -> list[float]:
    """Milliseconds per call, `batch` calls between two events, after a warm-up of a third of `budget` seconds."""
    run()
    torch.cuda.synchronize()
    start = time.perf_counter()
    while time.perf_counter() - start < budget / 3:
        run()
        torch.cuda.synchronize()
    times = []
    start = time.perf_counter()
    while time.perf_counter() - start < budget or len(times) < 5:
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        for _ in range(batch):
            run()
        last.record()
        torch.cuda.synchronize()
        times.append(first.elapsed_time(last) / batch)
        if len(times) >= 200:
            break
    return times


def operands(n: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator("cuda").manual_seed(n)
    a = torch.randn(n, n, dtype=torch.float64, device="cuda", generator=generator)
    return a, torch.randn(n, n, dtype=torch.float64, device="cuda", generator=generator)


def batch_for(n: int) -> int:
    """Calls between two events: short products are timed in a row, as a program would issue them."""
    return 20 if n <= 1024 else 5 if n <= 2048 else 1


def total_row(name: str, n: int, run: Callable[[], object], sampler: Sampler, budget: float) -> Row:
    row: Row = {"N": n, "method": name}
    with sampler.during(row):
        ms = statistics.median(event_times(run, budget, batch_for(n)))
    row |= {"ms": round(ms, 4), "TFLOPS": round(2 * n**3 / ms / 1e9, 1)}
    return row


def stage_row(
    name: str, n: int, a: torch.Tensor, b: torch.Tensor, options: dict[str, str], budget: float
) -> Row:
    """Medians of the four stages of one product."""
    _, report = ozfp4.matmul(a, b, report=True, **options)
    shape = matmul_shape(tuple(a.shape), tuple(b.shape))
    c = torch.empty(n, n, dtype=torch.float64, device="cuda")
    samples: list[list[float]] = []
    start = time.perf_counter()
    while time.perf_counter() - start < budget or len(samples) < 6:
        events = [torch.cuda.Event(enable_timing=True) for _ in range(5)]
        for event in events:
            event.record()  # creates the handle
        events[0].record()
        _device.run(report.plan, a, b, c, shape, _device.UNLIMITED, tuple(e.cuda_event for e in events[1:4]))
        events[4].record()
        torch.cuda.synchronize()
        samples.append([x.elapsed_time(y) for x, y in itertools.pairwise(events)])
        if len(samples) >= 100:
            break
    scale, encode, multiply, reconstruct = (
        statistics.median(column) for column in zip(*samples[2:], strict=True)
    )
    return {
        "N": n, "method": name, "products": report.products, "kernel": report.kernel,
        "scale ms": round(scale, 4), "encode ms": round(encode, 4), "multiply ms": round(multiply, 4),
        "reconstruct ms": round(reconstruct, 4), "multiply TOPS": round(2 * report.products * n**3 / multiply / 1e9),
        "workspace GiB": round(report.workspace / 2**30, 2),
    }  # fmt: skip


def copy_bandwidth() -> float:
    """GB/s of a device-to-device copy, bytes read plus bytes written."""
    x = torch.empty(2**29, dtype=torch.float64, device="cuda").normal_()
    y = torch.empty_like(x)
    return 2 * x.nbytes / statistics.median(event_times(lambda: y.copy_(x), 0.3)) / 1e6


def peer_rows(name: str, sizes: list[int], environment: dict[str, str], budget: float) -> list[Row]:
    """torch's float64 matmul in a process of its own with these environment variables."""
    command = [
        sys.executable,
        __file__,
        "--methods",
        "native",
        "--budget",
        str(budget),
        "--rows-only",
        "--sizes",
        *map(str, sizes),
    ]
    outcome = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if outcome.returncode != 0:
        reason = outcome.stderr.strip().splitlines()[-1:] or ["no output"]
        return [{"N": "-", "method": name, "skipped": reason[0]}]
    return [{**row, "method": name} for row in json.loads(outcome.stdout)["totals"]]


def driver() -> str:
    """Driver version and power limit as nvidia-smi prints them."""
    query = ["nvidia-smi", "--query-gpu=driver_version,power.limit", "--format=csv,noheader", "-i", "0"]
    return subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip()


def progress(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    sampler = Sampler()
    totals: list[Row] = []
    stages: list[Row] = []
    methods = arguments.methods
    for n in arguments.sizes:
        a, b = operands(n)
        if "native" in methods:
            progress(f"N = {n}: native")
            totals.append(total_row("native", n, lambda a=a, b=b: a @ b, sampler, arguments.budget))
        for name, options in OWN.items():
            if name not in methods or (name.startswith("scheme I") and n < 2048):
                continue
            progress(f"N = {n}: {name}")
            try:
                totals.append(
                    total_row(
                        name,
                        n,
                        lambda a=a, b=b, o=options: ozfp4.matmul(a, b, **o),
                        sampler,
                        arguments.budget,
                    )
                )
                stages.append(stage_row(name, n, a, b, options, arguments.budget / 2))
            except (RuntimeError, MemoryError) as error:  # say why the row is missing, keep the others
                totals.append({"N": n, "method": name, "skipped": str(error).splitlines()[0]})
        del a, b
        torch.cuda.empty_cache()
    sampler.close()
    if not arguments.rows_only:
        for name, environment in (
            ("cuBLAS emulation, 55 bits", CUBLAS_FIXED),
            ("cuBLAS emulation, dynamic", CUBLAS_DYNAMIC),
        ):
            if "cublas" in methods:
                progress(name)
                totals += peer_rows(name, arguments.sizes, environment, arguments.budget)
        if arguments.gemmul8:
            environment = {
                "LD_PRELOAD": arguments.gemmul8,
                "GEMMUL8_NUM_MOD_D": "15",
                "GEMMUL8_FASTMODE_D": "0",
            }
            totals += peer_rows("GEMMul8, 15 moduli", arguments.sizes, environment, arguments.budget)
    return {
        "device": torch.cuda.get_device_name(0),
        "driver": driver(),
        "date": time.strftime("%Y-%m-%d"),
        "torch": torch.__version__, "cuda": torch.version.cuda, "python": platform.python_version(), "ozfp4": ozfp4.__version__,
        "copy GB/s": None if arguments.rows_only else round(copy_bandwidth()),
        "totals": totals, "stages": stages,
    }  # fmt: skip


def markdown(results: dict[str, Any]) -> str:
    """TFLOPS by method and size, then the stages."""
    sizes = sorted({row["N"] for row in results["totals"] if isinstance(row["N"], int)})
    lines = [
        f"{results['device']}, driver {results['driver']}, torch {results['torch']}, CUDA {results['cuda']}, {results['date']}; "
        f"copy {results['copy GB/s']} GB/s",
        "",
        "| TFLOPS = 2 N^3 / t | " + " | ".join(map(str, sizes)) + " |",
        "|---" * (len(sizes) + 1) + "|",
    ]
    for method in dict.fromkeys(row["method"] for row in results["totals"]):
        cells = {row["N"]: row for row in results["totals"] if row["method"] == method}
        lines.append(
            f"| {method} | " + " | ".join(str(cells.get(n, {}).get("TFLOPS", "-")) for n in sizes) + " |"
        )
        skipped = [row["skipped"] for row in cells.values() if "skipped" in row]
        if skipped:
            lines.append(f"| ({skipped[0]}) |" + " |" * len(sizes))
    lines += [
        "",
        "| N | method | products | scale | encode | multiply | reconstruct ms | multiply TOPS | workspace GiB |",
        "|---" * 9 + "|",
    ]
    for row in results["stages"]:
        names = (
            "N",
            "method",
            "products",
            "scale ms",
            "encode ms",
            "multiply ms",
            "reconstruct ms",
            "multiply TOPS",
            "workspace GiB",
        )
        lines.append("| " + " | ".join(str(row[name]) for name in names) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument(
        "--methods", nargs="+", choices=["native", "cublas", *OWN], default=["native", "cublas", *OWN]
    )
    parser.add_argument("--budget", type=float, default=0.6, help="seconds of measurement for each row")
    parser.add_argument("--gemmul8", help="GEMMul8's preload library")
    parser.add_argument("--out", help="write the rows as JSON to this file")
    parser.add_argument("--rows-only", action="store_true", help="print the rows as JSON and nothing else")
    arguments = parser.parse_args()
    results = measure(arguments)
    if arguments.out:
        with open(arguments.out, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    print(json.dumps(results) if arguments.rows_only else markdown(results))


if __name__ == "__main__":
    main()
