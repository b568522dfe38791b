"""The CPU's stages by their numbers of threads, against a copy of memory by as many.

    python benchmarks/cpu_stages.py [--sizes 1024 2048 4096] [--threads 1 2 ...] [--accuracy scaled] [--backend fp64]
                                    [--runs 5] [--json FILE]

For each N (of N x N x N) and number of threads the least of several runs: milliseconds of each stage; of scale, encode and
reconstruct the GB/s of what they must read and write, once, and that over the GB/s of a plain copy; of multiply, which folds the
sums of each tile as it goes, the GFLOPS of its plane products; of repair, where --accuracy has one, the time alone; and each
stage's speed-up over one thread, beside that of additions that touch no memory at all: more than these gain the machine does not
give, whose processors may share cores with others or have a slower clock when all work. Runs of all numbers of threads take
turns, so that what else the machine does hits all of them.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

# Read when NumPy and SciPy load their BLAS: its threads are to sleep where they do not work.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

import numpy as np

import ozfp4
from ozfp4.backends import cpu

Row = dict[str, Any]
STAGES = ("scale", "encode", "multiply", "reconstruct", "repair")
COPY_BYTES = 1 << 28
ADDITIONS = 1 << 25  # some 20 ms


def copy_seconds(threads: int) -> float:
    """Of COPY_BYTES, by threads that copy a part each; both arrays were touched before."""
    source, to = np.ones(COPY_BYTES // 8), np.zeros(COPY_BYTES // 8)
    cuts = [source.size * i // threads for i in range(threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        seconds = []
        for _ in range(5):
            start = time.perf_counter()
            list(
                pool.map(
                    lambda i: np.copyto(to[cuts[i] : cuts[i + 1]], source[cuts[i] : cuts[i + 1]]),
                    range(threads),
                )
            )
            seconds.append(time.perf_counter() - start)
    return min(seconds)


def addition_seconds(threads: int) -> float:
    """Of ADDITIONS by each thread, of one number in memory."""
    ones = np.broadcast_to(np.float64(1), ADDITIONS)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda _: None, range(threads)))
        start = time.perf_counter()
        list(pool.map(lambda _: np.add.reduce(ones), range(threads)))
        return time.perf_counter() - start


def stage_bytes(n: int, report: ozfp4.Report) -> dict[str, float]:
    """What each stage must read and write."""
    plan, used = report.plan, report.products / report.plan.products
    entry = 8 if report.backend == "fp64" else 1
    residue = {"fp64": 4, "int8": 1, "fp4": 1}[report.backend]
    groups = len({term.modulus for term in plan.terms}) * used
    planes = (plan.planes_a + plan.planes_b) * used * entry
    return {
        "scale": 16 * n * n,
        "encode": (16 + planes) * n * n,
        "reconstruct": (8 + groups * residue) * n * n,
    }


def measure(n: int, threads: list[int], runs: int, asked: dict[str, Any]) -> list[Row]:
    rng = np.random.default_rng(n)
    a, b, out = rng.standard_normal((n, n)), rng.standard_normal((n, n)), np.zeros((n, n))
    least: dict[int, dict[str, float]] = {t: {} for t in threads}
    for run in range(runs + 1):
        for t in threads:
            ozfp4.set_num_threads(t)
            start = time.perf_counter()
            _, report = ozfp4.matmul(a, b, out=out, report=True, **asked)
            seconds = {**report.seconds, "whole": time.perf_counter() - start}
            seconds["additions"] = addition_seconds(t)
            if run > 0:
                least[t] = {stage: min(s, least[t].get(stage, s)) for stage, s in seconds.items()}
    ozfp4.set_num_threads(None)
    moved = stage_bytes(n, report)
    rows = []
    for t in threads:
        copied = 2 * COPY_BYTES / copy_seconds(t)
        row: Row = {"N": n, "threads": t, "copy GB/s": copied / 1e9, "whole ms": 1e3 * least[t]["whole"]}
        row["additions speed-up"] = t / threads[0] * least[threads[0]]["additions"] / least[t]["additions"]
        for stage in filter(least[t].get, STAGES):  # without those that took no time
            taken = least[t][stage]
            row[f"{stage} ms"] = 1e3 * taken
            if stage == "multiply":
                row["multiply GFLOPS"] = 2e-9 * report.products * n**3 / taken
            elif stage in moved:
                row[f"{stage} GB/s"] = moved[stage] / taken / 1e9
                row[f"{stage} of copy"] = moved[stage] / taken / copied
            row[f"{stage} speed-up"] = least[threads[0]].get(stage, 0.0) / taken
        rows.append(row)
    return rows


def print_row(row: Row) -> None:
    parts = [
        f"N {row['N']}, {row['threads']} threads: copy {row['copy GB/s']:.1f} GB/s, whole {row['whole ms']:.1f} ms, "
        f"additions x {row['additions speed-up']:.2f}"
    ]
    for stage in (stage for stage in STAGES if f"{stage} ms" in row):
        rate = ""
        if stage == "multiply":
            rate = f"{row['multiply GFLOPS']:.0f} GFLOPS"
        elif f"{stage} GB/s" in row:
            rate = f"{row[f'{stage} GB/s']:.1f} GB/s ({row[f'{stage} of copy']:.2f} of the copy)"
        parts.append(f"  {stage:11} {row[f'{stage} ms']:8.2f} ms  {rate:32} x {row[f'{stage} speed-up']:.2f}")
    print("\n".join(parts), flush=True)


def main() -> None:
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    powers = [2**i for i in range(cpus.bit_length()) if 2**i < cpus]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[1024, 2048, 4096])
    parser.add_argument("--threads", type=int, nargs="+", default=[*powers, cpus])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--accuracy", default="scaled")
    parser.add_argument("--backend", default="fp64")
    parser.add_argument("--json", metavar="FILE")
    asked = parser.parse_args()
    rows = []
    for n in asked.sizes:
        found = measure(n, asked.threads, asked.runs, {"accuracy": asked.accuracy, "backend": asked.backend})
        for row in found:
            print_row(row)
        rows += found
    if asked.json:
        with open(asked.json, "w", encoding="utf-8") as file:
            json.dump(
                {"device": cpu.name(), "rows": rows},
                file,
            )


if __name__ == "__main__":
    main()
