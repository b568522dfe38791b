"""The CPU's figures as tables: time against np.matmul, and import time.

    python benchmarks/cpu.py [time] [kernels] [integers] [calls] [modes] [import] [--sizes N ...] [--json FILE]
    python benchmarks/cpu.py kernels modes --sizes 4096 8192

--sizes: of the sections that have them, time to modes, in place of their own.

Times are medians of runs that alternate between the methods, so that what else the machine does hits all of them; the
ratios are within one run with the same threads. NumPy and SciPy each bring an OpenBLAS whose threads spin for some 25 ms
after a product and would take the CPUs of the method measured next: OPENBLAS_THREAD_TIMEOUT=4 sends them to sleep at once,
unless the caller has set it.
"""

from __future__ import annotations

import argparse
import functools
import inspect
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

# Read when NumPy and SciPy load their BLAS, so before them.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

import numpy as np

import ozfp4
from common.turns import medians
from ozfp4 import _core, stages
from ozfp4._options import Options
from support.grading import graded

Row = dict[str, Any]


def fmpz_product(a: np.ndarray, b: np.ndarray) -> Callable[[], object]:
    """python-flint's product of the very integers that ozfp4 multiplies; their conversion is not timed."""
    import flint

    flint.ctx.threads = ozfp4.info().threads
    x = flint.fmpz_mat(stages.scale(a, "a").integers.tolist())
    y = flint.fmpz_mat(stages.scale(b, "b").integers.tolist())
    return lambda: x * y


def time_rows(sizes: tuple[int, ...] = (512, 1024, 2048)) -> list[Row]:
    rows = []
    for n in sizes:
        rng = np.random.default_rng(n)
        a, b = rng.standard_normal((n, n)), rng.standard_normal((n, n))
        methods: dict[str, Callable[[], object]] = {"np.matmul": lambda a=a, b=b: np.matmul(a, b)}
        for backend in ("fp64", "int8", "fp4"):
            methods[backend] = lambda a=a, b=b, backend=backend: ozfp4.matmul(
                a, b, backend=backend, accuracy="scaled"
            )
        methods["scheme I fp64"] = lambda a=a, b=b: ozfp4.matmul(
            a, b, scheme="I", backend="fp64", accuracy="scaled"
        )
        if n <= 512:
            methods["flint fmpz_mat"] = fmpz_product(a, b)
        seconds = medians(methods, 3 if n > 1024 else 7)
        for name, taken in seconds.items():
            products = ""
            if name in ("fp64", "int8", "fp4"):
                products = ozfp4.matmul(a, b, backend=name, accuracy="scaled", report=True)[1].products
            rows.append(
                {
                    "N": n,
                    "method": name,
                    "products": products,
                    "ms": round(1e3 * taken, 1),
                    "times np.matmul": round(taken / seconds["np.matmul"], 2),
                }
            )
    return rows


def kernel_rows(sizes: tuple[int, ...] = (256, 512, 1024, 2048, 4096)) -> list[Row]:
    """Every kernel that multiplies planes, by their names; those of an INT8 unit against FP32, which serves elsewhere."""
    settings = [setting for _, setting in _core.byte_kernels() if setting != "portable"]
    rows = []
    for n in sizes:
        rng = np.random.default_rng(n)
        a, b = rng.standard_normal((n, n)), rng.standard_normal((n, n))
        methods: dict[str, Callable[[], object]] = {"np.matmul": lambda a=a, b=b: np.matmul(a, b)}
        ways = [("int8", setting) for setting in settings] + [("fp64", "sgemm")]
        if n <= 2048:
            ways += [("fp4", setting) for setting in settings] + [("int8", "sgemm")]
        for backend, setting in ways:

            def product(a: Any = a, b: Any = b, backend: str = backend, setting: str = setting) -> None:
                with _core.ForcedKernel(setting):
                    ozfp4.matmul(a, b, backend=backend, accuracy="scaled")

            methods[f"{backend}, {'dgemm' if backend == 'fp64' else setting}"] = product
        seconds = medians(methods, 3 if n > 1024 else 9)
        for name, taken in seconds.items():
            ratio = round(taken / seconds["np.matmul"], 2)
            rows.append({"N": n, "method": name, "ms": round(1e3 * taken, 2), "times np.matmul": ratio})
    return rows


def integer_rows(sizes: tuple[int, ...] = (512, 1024)) -> list[Row]:
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
            methods: dict[str, Callable[[], object]] = {
                "np.matmul": lambda a=a, b=b: np.matmul(a, b),
                "ozfp4": lambda a=a, b=b: ozfp4.matmul(a, b),
                "ozfp4, fp64": lambda a=a, b=b: ozfp4.matmul(a, b, backend="fp64"),
            }
            seconds = medians(methods, 5)
            for name, taken in seconds.items():
                rows.append(
                    {
                        "N": n,
                        "operands": kind,
                        "method": name,
                        "ms": round(1e3 * taken, 1),
                        "times faster than np.matmul": round(seconds["np.matmul"] / taken, 1),
                    }
                )
    return rows


def least_us(call: Callable[[], object], batches: int = 400) -> float:
    """Microseconds of this thread a call, in the least of many batches, each so short that most are not interrupted: what else
    runs here is not counted."""
    start = time.thread_time_ns()
    call()
    batch = max(1, 500_000 // (time.thread_time_ns() - start))
    taken = []
    for _ in range(batches):
        start = time.thread_time_ns()
        for _ in range(batch):
            call()
        taken.append(time.thread_time_ns() - start)
    return min(taken) / batch / 1e3


def call_rows(sizes: tuple[int, ...] = (8, 64)) -> list[Row]:
    """What a call costs beside what the core does with the very arguments that it gets; on one thread."""
    rows = []
    for n in sizes:
        rng = np.random.default_rng(n)
        x, y = rng.standard_normal((2, n, n))
        integers = rng.integers(-999, 1000, (2, n, n))
        cases = {"float64": (x, y), "int64": tuple(integers), "complex128": (x + 1j * y, y - 1j * x)}
        for kind, (a, b) in cases.items():
            if kind == "int64":
                out, asked = np.empty((n, n), np.int64), Options(accuracy="scaled")
                call = functools.partial(_core.multiply_integers, a, b, out, asked, 64)
            else:
                call = functools.partial(_core.multiply_plain, a, b, None, "standard", {})
            whole, core = least_us(functools.partial(ozfp4.matmul, a, b)), least_us(call)
            rows.append(
                {
                    "N": n,
                    "operands": kind,
                    "call, us": round(whole, 1),
                    "core, us": round(core, 1),
                    "beside, us": round(whole - core, 1),
                }
            )
    return rows


def mode_rows(sizes: tuple[int, ...] = (512, 1024, 2048), graded_up_to: int = 1024) -> list[Row]:
    """The accuracy modes on their ordinary and their worst operands: rows graded by 2^±504, each turned."""
    rows = []
    for n in sizes:
        rng = np.random.default_rng(n)
        cases = {
            "normal": (rng.standard_normal((n, n)), rng.standard_normal((n, n))),
            "uniform": (rng.random((n, n)), rng.random((n, n))),
        }
        if n <= graded_up_to:
            cases["graded"] = graded(n, 504)
        for kind, (a, b) in cases.items():
            methods: dict[str, Callable[[], object]] = {"np.matmul": lambda a=a, b=b: np.matmul(a, b)}
            for mode in ("scaled", "standard", "correct"):
                methods[mode] = lambda a=a, b=b, mode=mode: ozfp4.matmul(a, b, accuracy=mode)
            methods["enclose"] = lambda a=a, b=b: ozfp4.enclose(a, b)
            seconds = medians(methods, 3 if n > 1024 or kind == "graded" else 7)
            for name, taken in seconds.items():
                found = None
                if name in ("standard", "correct"):
                    found = ozfp4.matmul(a, b, accuracy=name, report=True)[1].certified
                rows.append(
                    {
                        "N": n,
                        "operands": kind,
                        "method": name,
                        "ms": round(1e3 * taken, 1),
                        "times scaled": round(taken / seconds["scaled"], 2),
                        "times np.matmul": round(taken / seconds["np.matmul"], 2),
                        "repaired": "" if found is None else found.repaired + found.repaired_exactly,
                    }
                )
    return rows


def import_rows() -> list[Row]:
    code = "import numpy, time; t = time.perf_counter(); import ozfp4; print(time.perf_counter() - t)"
    seconds = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
        for _ in range(5)
    ]
    return [{"import ozfp4 after numpy, ms": round(1e3 * statistics.median(seconds), 1)}]


def print_table(title: str, rows: list[Row]) -> None:
    """A Markdown table."""
    names = list(rows[0])
    cells = [names, *([str(row[name]) for name in names] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(names))]
    print(f"\n{title}")
    for number, line in enumerate(cells):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |")
        if number == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")


SECTIONS: dict[str, tuple[str, Callable[..., list[Row]]]] = {
    "import": ("Import", import_rows),
    "time": ("Time, normal(0,1) float64, N x N x N", time_rows),
    "kernels": ("Kernels, normal(0,1) float64, N x N x N", kernel_rows),
    "integers": ("Integers, N x N x N", integer_rows),
    "calls": ("Small products, N x N x N (set OZFP4_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1)", call_rows),
    "modes": ("Accuracy modes, float64, N x N x N", mode_rows),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sections", metavar="SECTION", nargs="*", help=f"default all: {', '.join(SECTIONS)}")
    parser.add_argument(
        "--sizes", metavar="N", type=int, nargs="+", help="of products, in the sections that have sizes"
    )
    parser.add_argument("--json", help="also write the rows to this file")
    arguments = parser.parse_args()
    for name in arguments.sections:
        if name not in SECTIONS:
            parser.error(f"{name}: there is no such section; there are {', '.join(SECTIONS)}")
    names = arguments.sections or list(SECTIONS)
    sized = [name for name in names if "sizes" in inspect.signature(SECTIONS[name][1]).parameters]
    if arguments.sizes and not sized:
        parser.error(f"--sizes: {', '.join(names)} have none")
    print(ozfp4.info())
    results = {}
    for name in names:
        title, measure = SECTIONS[name]
        own = {"sizes": tuple(arguments.sizes)} if arguments.sizes and name in sized else {}
        results[name] = measure(**own)
        print_table(title, results[name])
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"device": ozfp4.info().backends[0].device, **results}, file, indent=1)


if __name__ == "__main__":
    main()
