"""The cost of the accuracies on matrices that people multiply (common/real_matrices.py), beside the library's own product.

    python benchmarks/standard.py [--device cpu|cuda] [--sizes N ...] [--kinds WORD ...] [--modes ...] [--check 2000] [--out FILE]

Milliseconds of calls that follow each other in turns: on the CPU the least, on a GPU the median, by CUDA events. "scaled" has 57
bits, as many as "standard" takes. Behind the times: each mode over native, and the shares of the entries of "standard" that are
exact, certified by depth and by magnitudes (the CPU counts them), and chains of fused multiply-adds.
On a GPU about --check entries are compared with the CPU's; exit status 1 where one differs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import ozfp4
from common import real_matrices
from common.turns import REST
from ozfp4.measure.clocks import milliseconds
from ozfp4.measure.machine import describe, sentence
from support import chosen

MODES: dict[str, Callable[[Any, Any], Any]] = {
    "native": lambda a, b: a @ b,
    "scaled": lambda a, b: chosen.matmul(a, b, accuracy="scaled", bits=57),
    "standard": ozfp4.matmul,
    "correct": lambda a, b: ozfp4.matmul(a, b, accuracy="correct"),
}
SHARES = ("exact", "depth", "magnitude", "chains")
SIZES = {"cpu": [1024, 2048], "cuda": [2048, 4096]}
SLOW = {"cpu": 2e3, "cuda": 1e2}  # milliseconds of a call, which is then not repeated


def on_cpu(call: Callable[[], object]) -> float:
    time.sleep(REST)  # until the threads of a BLAS have gone to sleep
    start = time.perf_counter()
    call()
    return 1e3 * (time.perf_counter() - start)


def times(a: Any, b: Any, asked: argparse.Namespace) -> dict[str, float]:
    """Milliseconds of each mode."""
    clock, typical = (on_cpu, min) if asked.device == "cpu" else (milliseconds, statistics.median)
    found: dict[str, list[float]] = {mode: [] for mode in asked.modes}
    for turn in range(asked.turns + 1):  # the first one warms up
        first = turn % len(asked.modes)
        for mode in asked.modes[first:] + asked.modes[:first]:  # none is always behind the same one
            if found[mode] and found[mode][0] > SLOW[asked.device]:
                continue
            taken = clock(lambda mode=mode: MODES[mode](a, b))
            if turn > 0 or taken > SLOW[asked.device]:
                found[mode].append(taken)
    return {mode: typical(values) for mode, values in found.items()}


def tensor(x: np.ndarray) -> Any:
    """On the GPU, in NumPy's order of memory: a transposed view stays one."""
    import torch

    if x.flags.f_contiguous and not x.flags.c_contiguous:
        return torch.from_numpy(x.T.copy()).cuda().T
    return torch.from_numpy(np.ascontiguousarray(x)).cuda()


def is_right(c: Any, a: np.ndarray, b: np.ndarray, entries: int) -> bool:
    """Whether a block of rows and columns has the CPU's bits."""
    rng, edge = np.random.default_rng(1), max(1, round(entries**0.5))
    rows, columns = (np.sort(rng.choice(len(c), min(edge, len(c)), replace=False)) for _ in range(2))
    expected = ozfp4.matmul(a[rows], b[:, columns])
    found = c.cpu().numpy()[np.ix_(rows, columns)]
    return bool(np.array_equal(found.view(np.int64), expected.view(np.int64)))


def row_of(name: str, a: np.ndarray, b: np.ndarray, asked: argparse.Namespace) -> dict[str, Any]:
    x, y = (a, b) if asked.device == "cpu" else (tensor(a), tensor(b))
    c, report = ozfp4.matmul(x, y, report=True)
    counted = {share: getattr(report.certified, share) for share in SHARES}
    shares = {share: count / (len(a) * b.shape[1]) for share, count in counted.items() if count is not None}
    row = {"kind": name, "n": len(a), **times(x, y, asked), **shares}
    if asked.device == "cuda" and asked.check:
        row["right"] = is_right(c, a, b, asked.check)
    return row


def text_of(row: dict[str, Any], modes: list[str]) -> str:
    cells = [f"{row['kind']:34s}{row['n']:6d}", *(f"{row[mode]:10.3f}" for mode in modes)]
    if "native" in modes:
        cells += [f"{row[mode] / row['native']:8.2f}" for mode in modes if mode != "native"]
    cells += [f"{share} {100 * row[share]:.4g} %" for share in SHARES if share in row]
    return " ".join(cells) + ("" if row.get("right", True) else "  WRONG")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--sizes", type=int, nargs="+", help="multiples of 8")
    parser.add_argument(
        "--kinds", nargs="+", default=[""], help="those whose names contain one of these words"
    )
    parser.add_argument("--modes", nargs="+", choices=list(MODES), default=list(MODES))
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--check", type=int, default=2000)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    machine = describe(asked.device)
    print(sentence(machine))
    print(" ".join([f"{'ms, then over native':40s}", *(f"{mode:>10s}" for mode in asked.modes)]))
    rows: list[dict[str, Any]] = []
    for n in asked.sizes or SIZES[asked.device]:
        for name, a, b in real_matrices.pairs(n):
            if any(word in name for word in asked.kinds):
                rows.append(row_of(name, a, b, asked))
                print(text_of(rows[-1], asked.modes), flush=True)
    if asked.out:
        asked.out.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")
    return int(any(row.get("right") is False for row in rows))


if __name__ == "__main__":
    sys.exit(main())
