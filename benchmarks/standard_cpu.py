"""What the accuracies cost on a CPU on matrices that people multiply (real_matrices.py), beside np.matmul.

    python benchmarks/standard_cpu.py [--sizes 1024 2048] [--kinds WORD ...] [--turns 5] [--out FILE]

Least times of calls that follow each other in turns, in milliseconds. "scaled" has 57 bits, as many as "standard" takes. Behind
the times: standard over native, over scaled, and over both together; correct over native and over scaled; then the shares of the
entries of "standard" that are exact, certified by depth and by magnitudes, and chains of fused multiply-adds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import standard_rows
from standard_rows import Column, Row

import ozfp4
from ozfp4.backends.cpu import name as processor
from ozfp4.bench.timing import REST
from ozfp4.measure.machine import commit

MODES: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
    "native": np.matmul,
    "scaled": lambda a, b: ozfp4.matmul(a, b, accuracy="scaled", bits=57),
    "standard": ozfp4.matmul,
    "correct": lambda a, b: ozfp4.matmul(a, b, accuracy="correct"),
}
SHARES = ("exact", "depth", "magnitude", "chains")
SLOW = 2.0  # seconds of a call, which is then not repeated


def measure(a: np.ndarray, b: np.ndarray, turns: int) -> Row:
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
    return {**least, **shares}


def main() -> None:
    parser = standard_rows.arguments(__doc__, [1024, 2048])
    parser.add_argument("--turns", type=int, default=5)
    asked = parser.parse_args()
    print(processor(), commit())
    columns = [
        *standard_rows.times(MODES, 1),
        standard_rows.ratio("s/nat", 7, "standard", "native"),
        standard_rows.ratio("s/sca", 7, "standard", "scaled"),
        standard_rows.ratio("s/both", 7, "standard", "native", "scaled"),
        standard_rows.ratio("c/nat", 7, "correct", "native"),
        standard_rows.ratio("c/sca", 7, "correct", "scaled"),
        *(Column(f"{share} %", 11, lambda row, share=share: f"{100 * row[share]:.4g}") for share in SHARES),
    ]
    standard_rows.run(asked, processor(), lambda a, b: measure(a, b, asked.turns), columns)


if __name__ == "__main__":
    main()
