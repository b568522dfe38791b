"""What the accuracy modes cost on a GPU: scaled (53 bits), standard, correct, one enclosure, beside native FP64.

    python benchmarks/gpu_modes.py [--sizes 1024 2048 4096 8192 16384] [--operands ...] [--modes ...] [--check 4000] [--out FILE]

Operands: normal(0, 1); uniform [0, 1) in multiples of 2^-53, as NumPy has it; rand: torch.rand, of 54 bits; spread over 2^32;
graded: rows by 2^±504, each turned (grading.graded), N <= 4096.
Times as in gpu.py, medians of calls of `ozfp4.matmul`; "x scaled", "x native": time over that of the scaled, the native product
of the same operands in the same run. With --check ENTRIES so many entries of each product, at random, are compared with the real
product rounded once (correct) or with the definition (standard), in Python's integers; exit status 1 if one differs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import ozfp4
from common.gpu import Sampler, total_row
from ozfp4.measure.machine import describe, sentence
from ozfp4.testing import correct_matmul, difference, standard_matmul
from support.grading import graded

Row = dict[str, Any]
Pair = tuple[torch.Tensor, torch.Tensor]
SIZES = (1024, 2048, 4096, 8192, 16384)
LARGEST_GRADED = 4096
EDGE = 24  # of a block of entries that is checked


def _random(n: int, fill: Callable[[torch.Generator], torch.Tensor]) -> Pair:
    generator = torch.Generator("cuda").manual_seed(n)
    return fill(generator), fill(generator)


def operands(kind: str, n: int) -> Pair:
    options: Any = {"dtype": torch.float64, "device": "cuda"}
    if kind == "normal":
        return _random(n, lambda g: torch.randn(n, n, generator=g, **options))
    if kind == "uniform":
        return _random(n, lambda g: torch.floor(torch.rand(n, n, generator=g, **options) * 2**53) / 2**53)
    if kind == "rand":
        return _random(n, lambda g: torch.rand(n, n, generator=g, **options))
    if kind == "spread":
        return _random(
            n,
            lambda g: torch.ldexp(
                1 + torch.rand(n, n, generator=g, **options),
                torch.randint(0, 33, (n, n), generator=g, device="cuda"),
            ),
        )
    a, b = graded(n, 504)
    return torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda()


MODES: dict[str, Callable[[torch.Tensor, torch.Tensor], Any]] = {
    "native": lambda a, b: a @ b,
    "scaled": lambda a, b: ozfp4.matmul(a, b, accuracy="scaled"),
    "standard": lambda a, b: ozfp4.matmul(a, b, accuracy="standard"),
    "correct": lambda a, b: ozfp4.matmul(a, b, accuracy="correct"),
    "enclose": lambda a, b: ozfp4.enclose(a, b),
}


def certified(mode: str, a: torch.Tensor, b: torch.Tensor) -> Row:
    """What the entries rest on, and how many moduli ran."""
    if mode not in ("scaled", "standard", "correct"):
        return {}
    _, report = ozfp4.matmul(a, b, accuracy=mode, report=True)
    row: Row = {"backend": report.backend, "products": report.products}
    if report.certified is not None:
        found = report.certified
        row |= {"exact": found.exact, "depth": found.depth, "result": found.result}
        row |= {"repaired": found.repaired, "repaired exactly": found.repaired_exactly}
    return row


def wrong_entries(
    mode: str, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, entries: int
) -> tuple[int, int]:
    """Entries compared with the reference, and how many differ, in blocks of random rows and columns."""
    rng = np.random.default_rng(entries)
    done = wrong = 0
    while done < entries:
        i, j = (rng.choice(n, min(EDGE, n), replace=False) for n in c.shape)
        x, y = a[i].cpu().numpy(), b[:, j].cpu().numpy()
        expected = correct_matmul(x, y) if mode == "correct" else standard_matmul(x, y)[0]
        found = c[torch.from_numpy(i).cuda()][:, torch.from_numpy(j).cuda()].cpu().numpy()
        done += expected.size
        if difference(found, expected) is not None:
            wrong += int((found.view(np.uint64) != expected.view(np.uint64)).sum())
    return done, wrong


def measure(arguments: argparse.Namespace) -> list[Row]:
    sampler = Sampler()
    rows: list[Row] = []
    for n in arguments.sizes:
        for kind in arguments.operands:
            if kind == "graded" and n > LARGEST_GRADED:
                continue
            a, b = operands(kind, n)
            times: dict[str, float] = {}
            for mode in arguments.modes:
                print(f"N = {n}, {kind}: {mode}", file=sys.stderr, flush=True)
                run = MODES[mode]
                try:
                    row = total_row(mode, n, lambda run=run, a=a, b=b: run(a, b), sampler, arguments.budget)
                    row |= {"operands": kind, **certified(mode, a, b)}
                    if arguments.check and mode in ("standard", "correct"):
                        row["checked"], row["wrong"] = wrong_entries(mode, a, b, run(a, b), arguments.check)
                except (RuntimeError, MemoryError) as error:
                    rows.append(
                        {"N": n, "operands": kind, "method": mode, "skipped": str(error).splitlines()[0]}
                    )
                    continue
                times[mode] = row["ms"]
                for other in ("scaled", "native"):
                    if other in times:
                        row[f"x {other}"] = round(row["ms"] / times[other], 3)
                rows.append(row)
            del a, b
            torch.cuda.empty_cache()
    sampler.close()
    return rows


NAMES = (
    "N", "operands", "method", "ms", "TFLOPS", "x scaled", "x native", "products", "exact", "depth", "result", "repaired",
    "repaired exactly", "checked", "wrong", "skipped",
)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    kinds = ["normal", "uniform", "rand", "spread", "graded"]
    parser.add_argument("--operands", nargs="+", choices=kinds, default=kinds)
    parser.add_argument("--modes", nargs="+", choices=list(MODES), default=list(MODES))
    parser.add_argument("--budget", type=float, default=0.4, help="seconds of measurement for each row")
    parser.add_argument(
        "--check", type=int, default=0, metavar="ENTRIES", help="compare so many entries of each product"
    )
    parser.add_argument("--out", help="write the rows as JSON to this file")
    arguments = parser.parse_args()
    rows = measure(arguments)
    header = describe("cuda")
    print(sentence(header), flush=True)
    print("| " + " | ".join(NAMES) + " |\n" + "|---" * len(NAMES) + "|")
    for row in rows:
        print("| " + " | ".join(str(row.get(name, "")) for name in NAMES) + " |")
    if arguments.out:
        with open(arguments.out, "w", encoding="utf-8") as file:
            json.dump({**header, "rows": rows}, file, indent=1)
    return 1 if any(row.get("wrong") for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
