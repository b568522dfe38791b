"""The CPU's figures compared with np.matmul: kernels, integers, small products and their parts, import.

    python benchmarks/cpu.py [SECTION ...] [--sizes N ...] [--threads N] [-o FOLDER]
    python benchmarks/cpu.py kernels --sizes 4096 8192

All accuracies and operands are in modes.py, all schemes and families in speed.py.

Times of kernels and integers are medians of runs that alternate between the methods, so that other load of the machine hits all
of them. Ratios are within one run with the same threads. Times of small products are lower deciles of repeated calls. Threads of
OpenBLAS spin for 25 ms after a product and would take the CPUs of the method that is measured next.
OPENBLAS_THREAD_TIMEOUT=4, unless the caller has set it, sends them to sleep at once.
"""

from __future__ import annotations

import argparse
import functools
import inspect
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

# Read when NumPy and SciPy load their BLAS, so before them.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
if "--threads" in sys.argv:
    threads = sys.argv[sys.argv.index("--threads") + 1]
    for variable in ("OZFP4_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = threads

import numpy as np

import ozfp4
from common import experiment
from common.experiment import Row
from common.turns import Calls, medians
from ozfp4 import _core
from ozfp4._cli import positive
from ozfp4.testing import forced_on_cpu

ACCURACIES = ("scaled", "standard", "correct")
STAGES = ("scale", "encode", "multiply", "reconstruct", "repair")
SMALL = (8, 16, 32, 64, 96, 128, 192, 256, 384, 512)
SKINNY = (
    (64, 64, 8),
    (256, 256, 8),
    (1024, 256, 8),
    (8, 256, 256),
    (8, 256, 1024),
    (1, 256, 256),
    (256, 256, 1),
    (1, 4096, 1),
)


def squares(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    return rng.standard_normal((n, n)), rng.standard_normal((n, n))


def in_turns(about: Row, calls: Calls, repeats: int) -> list[Row]:
    """A row for each method, the first one of which the ratios are to."""
    seconds = medians(calls, repeats)
    first = next(iter(calls))
    return [
        {
            **about,
            "method": name,
            "ms": round(1e3 * taken, 2),
            f"times {first}": round(taken / seconds[first], 2),
        }
        for name, taken in seconds.items()
    ]


def kernel_rows(sizes: Sequence[int] = (256, 512, 1024, 2048, 4096)) -> list[Row]:
    """Every kernel that multiplies planes, by their names; those of an INT8 unit against FP32, which CPUs without one use."""
    settings = [setting for _, setting in _core.byte_kernels() if setting != "portable"]

    def product(a: Any, b: Any, backend: str, setting: str) -> None:
        with _core.ForcedKernel(setting):
            ozfp4.matmul(a, b, backend=backend, accuracy="scaled")

    rows = []
    for n in sizes:
        a, b = squares(n)
        calls: dict[str, Callable[[], object]] = {"np.matmul": functools.partial(np.matmul, a, b)}
        ways = [("int8", setting) for setting in settings] + [("fp64", "sgemm")]
        if n <= 2048:
            ways += [("fp4", setting) for setting in settings] + [("int8", "sgemm")]
        for backend, setting in ways:
            name = f"{backend}, {'dgemm' if backend == 'fp64' else setting}"
            calls[name] = functools.partial(product, a, b, backend, setting)
        rows += in_turns({"N": n}, calls, 3 if n > 1024 else 9)
    return rows


def integer_rows(sizes: Sequence[int] = (512, 1024)) -> list[Row]:
    """Integers of full range and small ones, against NumPy's own product, which has no BLAS, and against moduli."""
    rows = []
    for n in sizes:
        rng = np.random.default_rng(n)
        cases = {
            "int64, full range": rng.integers(-(2**63), 2**63 - 1, (2, n, n), endpoint=True),
            "int64, below 1000": rng.integers(-999, 1000, (2, n, n)),
            "int32, full range": rng.integers(-(2**31), 2**31, (2, n, n), np.int32),
            "int8, full range": rng.integers(-128, 128, (2, n, n), np.int8),
        }
        for kind, (a, b) in cases.items():
            calls = {
                "np.matmul": functools.partial(np.matmul, a, b),
                "ozfp4": functools.partial(ozfp4.matmul, a, b),
                "ozfp4, fp64": functools.partial(ozfp4.matmul, a, b, backend="fp64"),
            }
            rows += in_turns({"N": n, "operands": kind}, calls, 5)
    return rows


# ---- Small products ----------------------------------------------------------------------------------------


def times_of(call: Callable[[], object], seconds: float = 0.2) -> list[float]:
    """Microseconds of repeated calls, the least first."""
    call()
    start = time.perf_counter()
    call()
    count = max(5, min(2000, int(seconds / (time.perf_counter() - start))))
    times = []
    for _ in range(count):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e6)
    return sorted(times)


def decile(call: Callable[[], object]) -> float:
    times = times_of(call)
    return round(times[len(times) // 10], 1)


def small_rows(sizes: Sequence[int] = SMALL, ways: Sequence[str | None] = (None,)) -> list[Row]:
    """Microseconds of each accuracy, by each way, next to np.matmul; then of few rows or columns, and vectors."""
    rows = []
    for m, k, n in (*((n, n, n) for n in sizes), *SKINNY):
        rng = np.random.default_rng(0)
        a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
        row: Row = {"m × k × n": f"{m} × {k} × {n}", "np.matmul": decile(functools.partial(np.matmul, a, b))}
        for way in ways:
            for accuracy in ACCURACIES:
                call = functools.partial(ozfp4.matmul, a, b, accuracy=accuracy)
                if way is None:
                    row[accuracy] = decile(call)
                    row[f"{accuracy} ×"] = round(row[accuracy] / row["np.matmul"], 1)
                else:
                    with forced_on_cpu(words=way == "words", limbs=way == "limbs"):
                        row[f"{accuracy}, {way}"] = decile(call)
        rows.append(row)
    return rows


def way_rows(sizes: Sequence[int] = SMALL) -> list[Row]:
    """In words, by limbs and by planes: what `ways_that_pay` in csrc/cpu/words/product.cpp rests on."""
    return small_rows(sizes, ("words", "limbs", "planes"))


def part_rows(sizes: Sequence[int] = SMALL) -> list[Row]:
    """Where the time of a repeated call goes: the least and the median of many, of np.matmul too; the time outside the core's
    stages, and the least of each stage."""
    rows = []
    for n in sizes:
        a, b = squares(n)
        reference = statistics.median(times_of(functools.partial(np.matmul, a, b)))
        for accuracy in ACCURACIES:
            times = times_of(functools.partial(ozfp4.matmul, a, b, accuracy=accuracy))
            reports = [
                ozfp4.matmul(a, b, accuracy=accuracy, report=True)[1] for _ in range(300 if n <= 128 else 20)
            ]
            each = {stage: min(x.seconds.get(stage, 0.0) for x in reports) * 1e6 for stage in STAGES}
            row = {"N": n, "accuracy": accuracy, "least": times[0], "median": statistics.median(times)}
            row |= {"np.matmul": reference, **each, "beside": times[0] - sum(each.values())}
            rows.append({**row, "kernel": reports[0].kernel})
    return rows


def import_rows() -> list[Row]:
    code = "import numpy, time; t = time.perf_counter(); import ozfp4; print(time.perf_counter() - t)"
    seconds = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
        for _ in range(5)
    ]
    return [{"import ozfp4 after numpy, ms": round(1e3 * statistics.median(seconds), 1)}]


SECTIONS: dict[str, tuple[str, Callable[..., list[Row]]]] = {
    "import": ("Import", import_rows),
    "kernels": ("Kernels, normal(0,1) float64, N x N x N", kernel_rows),
    "integers": ("Integers, N x N x N", integer_rows),
    "small": ("Small products, microseconds", small_rows),
    "ways": ("Small products in words, by limbs and by planes, microseconds", way_rows),
    "parts": ("Parts of small products, microseconds", part_rows),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sections", metavar="SECTION", nargs="*", help=f"default all: {', '.join(SECTIONS)}")
    experiment.add_sizes_argument(parser, "of products, in the sections that have sizes")
    parser.add_argument("--threads", type=positive, help="of ozfp4 and of the BLAS; default as they choose")
    experiment.add_output_arguments(parser, figures=False)


def run(options: argparse.Namespace) -> int:
    for name in options.sections:
        if name not in SECTIONS:
            raise experiment.InputError(f"{name}: there is no such section; there are {', '.join(SECTIONS)}")
    machine = experiment.begin(options, "cpu")
    print(ozfp4.info())
    tables: dict[str, list[Row]] = {}
    for name in options.sections or SECTIONS:
        title, measure = SECTIONS[name]
        has_sizes = options.sizes and "sizes" in inspect.signature(measure).parameters
        tables[name] = measure(options.sizes) if has_sizes else measure()
        experiment.show_rows(title, tables[name], left=2)
    rows = [{"section": name, **row} for name, table in tables.items() for row in table]
    experiment.write_results(options, "cpu", machine, tables, rows)
    return 0


main = experiment.program(__file__, __doc__, add_arguments, run)

if __name__ == "__main__":
    sys.exit(main())
