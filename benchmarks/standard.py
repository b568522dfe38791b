"""What the accuracies cost on a GPU on matrices that people multiply (real_matrices.py), beside native FP64.

    python benchmarks/standard.py [--sizes 2048 4096] [--kinds WORD ...] [--modes ...] [--seconds 1] [--check 2000] [--out FILE]

Times by CUDA events, medians of calls that follow each other in turns, so that all modes see the same clock. "scaled" has 57
bits, as many as "standard" takes; "chains": the share of the entries that "standard" makes by chains of fused multiply-adds;
"native's": of how many entries "standard" has the bits of the native product, which on Hopper is the chain.
With --check ENTRIES about so many entries are compared with the CPU's; exit status 1 where one differs.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import standard_rows
import torch
from standard_rows import Column, Row

import ozfp4
from ozfp4.measure.machine import commit, driver

MODES: dict[str, Callable[..., Any]] = {
    "native": lambda a, b, out: torch.matmul(a, b, out=out),
    "scaled": lambda a, b, out: ozfp4.matmul(a, b, accuracy="scaled", bits=57, out=out),
    "standard": lambda a, b, out: ozfp4.matmul(a, b, out=out),
    "correct": lambda a, b, out: ozfp4.matmul(a, b, accuracy="correct", out=out),
}
MOST_TURNS = 50
SLOW = 0.1  # seconds of one call, which is then not repeated


def seconds_of(call: Callable[[], Any]) -> float:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    call()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) * 1e-3


def times(a: torch.Tensor, b: torch.Tensor, modes: list[str], budget: float) -> dict[str, float]:
    """The median of each mode, in milliseconds."""
    out = torch.empty(a.shape[0], b.shape[1], dtype=a.dtype, device=a.device)
    calls = {mode: (lambda mode=mode: MODES[mode](a, b, out)) for mode in modes}
    first = {}
    for mode, call in calls.items():
        seconds_of(call)
        first[mode] = seconds_of(call)
    found = {mode: [first[mode]] for mode in modes}
    repeated = [mode for mode in modes if first[mode] < SLOW]
    turns = min(MOST_TURNS, int(budget / max(1e-6, sum(first[mode] for mode in repeated))) + 1)
    for _ in range(turns):
        for mode in repeated:
            found[mode].append(seconds_of(calls[mode]))
    return {mode: 1e3 * statistics.median(values) for mode, values in found.items()}


def is_right(c: torch.Tensor, a: np.ndarray, b: np.ndarray, entries: int) -> bool:
    """Whether a block of rows and columns has the CPU's bits."""
    rng, edge = np.random.default_rng(1), max(1, round(entries**0.5))
    rows, columns = (np.sort(rng.choice(len(c), min(edge, len(c)), replace=False)) for _ in range(2))
    expected = ozfp4.matmul(a[rows], b[:, columns])
    found = c.cpu().numpy()[np.ix_(rows, columns)]
    return bool(np.array_equal(found.view(np.int64), expected.view(np.int64)))


def measure(a: np.ndarray, b: np.ndarray, asked: argparse.Namespace) -> Row:
    # Memory orders as NumPy has them: a transposed view stays one.
    x, y = (
        torch.from_numpy(v.T.copy()).cuda().T if v.flags.f_contiguous and not v.flags.c_contiguous
        else torch.from_numpy(np.ascontiguousarray(v)).cuda()
        for v in (a, b)
    )  # fmt: skip
    c, report = ozfp4.matmul(x, y, report=True)
    native = torch.matmul(x, y)
    row: Row = times(x, y, asked.modes, asked.seconds)
    row["chains"] = report.certified.chains / c.numel()
    row["natives"] = float((c == native).double().mean().item())
    row["right"] = is_right(c, a, b, asked.check) if asked.check else None
    return row


def main() -> None:
    parser = standard_rows.arguments(__doc__, [2048, 4096])
    parser.add_argument("--modes", nargs="+", choices=list(MODES), default=list(MODES))
    parser.add_argument("--seconds", type=float, default=1.0, help="of repetitions, for each kind")
    parser.add_argument("--check", type=int, default=2000)
    asked = parser.parse_args()
    device = torch.cuda.get_device_name()
    print(device, driver(), commit())
    others = [mode for mode in asked.modes if mode != "native" and "native" in asked.modes]
    columns = [
        *standard_rows.times(asked.modes, 3),
        *(standard_rows.ratio("/ native", 8, mode, "native") for mode in others),
        Column("chains", 10, lambda row: f"{100 * row['chains']:.3f} %"),
        Column("natives", 9, lambda row: f"{100 * row['natives']:.2f} %"),
        Column("", 5, lambda row: {None: "", True: "right", False: "WRONG"}[row["right"]]),
    ]
    rows = standard_rows.run(asked, device, lambda a, b: measure(a, b, asked), columns)
    sys.exit(any(row["right"] is False for row in rows))


if __name__ == "__main__":
    main()
