"""What the accuracies cost on a CPU on matrices that people multiply (real_matrices.py), beside np.matmul.

    python benchmarks/standard_cpu.py [--sizes 1024 2048] [--kinds WORD ...] [--turns 5] [--out FILE]

Least times of calls that follow each other in turns, in milliseconds. "scaled" has 57 bits, as many as "standard" takes. Behind
the times: standard over native, over scaled, and over both together; correct over native and over scaled; then the shares of the
entries of "standard" that are exact, certified by depth and by magnitudes, and chains of fused multiply-adds.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import real_matrices

import ozfp4
from ozfp4.backends.cpu import name as processor
from ozfp4.bench.provenance import commit
from ozfp4.bench.timing import REST

Row = dict[str, Any]
MODES: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
    "native": np.matmul,
    "scaled": lambda a, b: ozfp4.matmul(a, b, accuracy="scaled", bits=57),
    "standard": ozfp4.matmul,
    "correct": lambda a, b: ozfp4.matmul(a, b, accuracy="correct"),
}
SHARES = ("exact", "depth", "magnitude", "chains")
SLOW = 2.0  # seconds of a call, which is then not repeated


def measure(name: str, a: np.ndarray, b: np.ndarray, turns: int) -> Row:
    found: dict[str, list[float]] = {mode: [] for mode in MODES}
    for turn in range(turns + 1):  # the first one warms up
        modes = list(MODES)
        for mode in modes[turn % 4 :] + modes[: turn % 4]:  # none is always behind the same one
            multiply = MODES[mode]
            if found[mode] and found[mode][0] > SLOW:
                continue
            time.sleep(REST)  # until the threads of a BLAS have gone to sleep
            start = time.perf_counter()
            multiply(a, b)
            seconds = time.perf_counter() - start
            if turn > 0 or seconds > SLOW:
                found[mode].append(seconds)
    least = {mode: 1e3 * min(values) for mode, values in found.items()}
    certified = ozfp4.matmul(a, b, report=True)[1].certified
    shares = {share: getattr(certified, share) / (len(a) * b.shape[1]) for share in SHARES}
    return {"kind": name, "n": len(a), **least, **shares}


def line(row: Row) -> str:
    native, scaled = row["native"], row["scaled"]
    ratios = [row["standard"] / x for x in (native, scaled, native + scaled)]
    ratios += [row["correct"] / x for x in (native, scaled)]
    cells = [f"{row['kind']:34s}", f"{row['n']:5d}", *(f"{row[mode]:9.1f}" for mode in MODES)]
    return " ".join(
        [
            *cells,
            *(f"{ratio:7.2f}" for ratio in ratios),
            *(f"{100 * row[share]:9.4g}" for share in SHARES),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[1024, 2048])
    parser.add_argument(
        "--kinds", nargs="+", default=[""], help="those whose names contain one of these words"
    )
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    print(processor(), commit())
    heads = [*(f"{mode:>9s}" for mode in MODES), "s/nat  ", "s/sca  ", "s/both ", "c/nat  ", "c/sca  "]
    print(" ".join([f"{'kind':34s}", f"{'n':>5s}", *heads, *(f"{share + ' %':>9s}" for share in SHARES)]))
    rows = []
    for n in asked.sizes:
        for name, a, b in real_matrices.pairs(n):
            if any(word in name for word in asked.kinds):
                rows.append(measure(name, a, b, asked.turns))
                print(line(rows[-1]), flush=True)
    if asked.out:
        asked.out.write_text(json.dumps({"device": processor(), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
