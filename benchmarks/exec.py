"""Costs and gains of `ozfp4 exec`: the same program plain and under it, alternately, each in a separate process.

    python benchmarks/exec.py [--programs NAME ...] [--quick] [--repeats N] [-o FOLDER]

Programs, of torch on a GPU: large products alone (8192), products of 64 to 8192, and factorisations (eigh, qr, solve and cholesky
of 4096 and 8192). A program repeats all its work several times and prints the seconds of each time. The first is not counted, as
cuBLAS, cuSOLVER and exec start up in it. Ratios are of the least seconds; none should be below 0.98. --quick: half the sizes.

"whole process, wall" counts from start to end: also the start of `ozfp4 exec`, self-tests, its measurements, the first time of
all work, and the start of torch. Last comes a program that does nothing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import experiment
from common.experiment import Row

PROGRAM = """
import json, sys, time
import torch
kind, scale, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
torch.manual_seed(0)
new = lambda n: torch.randn(n, n, dtype=torch.float64, device="cuda")

def factorisations():
    parts = {}
    for n in (4096 // scale, 8192 // scale):
        a, b = new(n), new(n)[:, :64]
        definite = a @ a.mT + n * torch.eye(n, dtype=torch.float64, device="cuda")
        parts[f"qr {n}"] = lambda a=a: torch.linalg.qr(a)
        parts[f"solve {n}"] = lambda a=a, b=b: torch.linalg.solve(a, b)
        parts[f"cholesky {n}"] = lambda x=definite: torch.linalg.cholesky(x)
        parts[f"eigh {n}"] = lambda x=definite: torch.linalg.eigh(x)
    return parts

def products():
    parts = {}
    for n in (64, 128, 256, 512, 1024, 2048, 4096 // scale, 8192 // scale):
        a, b = new(n), new(n)
        calls = max(1, min(500, 2**33 // n**3))
        parts[f"{calls} of {n}"] = lambda a=a, b=b, calls=calls: [a @ b for _ in range(calls)]
    return parts

def large():
    a, b = new(8192 // scale), new(8192 // scale)
    return {"10 products": lambda: [a @ b for _ in range(10)]}

parts = {"factorisations": factorisations, "products": products, "large": large}[kind]()
seconds = {name: [] for name in parts}
for _ in range(rounds + 1):
    for name, call in parts.items():
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        seconds[name].append(time.perf_counter() - start)
print(json.dumps({name: min(taken[1:]) for name, taken in seconds.items()}))
"""
WHOLE = "whole process, wall"
KINDS = ("large", "products", "factorisations", "nothing")


def run(kind: str, before: list[str], scale: int, rounds: int) -> dict[str, float]:
    """Seconds of each part, and of all that the process took."""
    program = (
        [sys.executable, "-c", PROGRAM, kind, str(scale), str(rounds)] if kind != "nothing" else ["true"]
    )
    start = time.perf_counter()
    done = subprocess.run([*before, *program], capture_output=True, text=True, check=False)
    wall = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"{kind}: {done.stderr[-2000:]}")
    return {**json.loads(done.stdout or "{}"), WHOLE: wall}


def rows_of(kind: str, scale: int, repeats: int, rounds: int) -> list[Row]:
    plain: dict[str, float] = {}
    under: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        before = [sys.executable, "-m", "ozfp4", "exec", "--report", str(report), "--"]
        for _ in range(repeats):
            report.unlink(missing_ok=True)  # the counts are of one process
            for found, command in ((plain, []), (under, before)):
                for name, seconds in run(kind, command, scale, rounds).items():
                    found[name] = min(seconds, found.get(name, seconds))
        processes = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    caught, left = (sum(process[key] for process in processes) for key in ("caught", "left"))
    print(f"{kind}: {caught} products caught, {left} left")
    for found in (plain, under):
        whole = found.pop(WHOLE)
        if found:
            found["all"] = sum(found.values())
        found[WHOLE] = whole
    return [
        {
            "program": kind,
            "part": name,
            "plain ms": 1e3 * seconds,
            "exec ms": 1e3 * under[name],
            "times as fast": round(seconds / under[name], 3),
        }
        for name, seconds in plain.items()
    ]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--programs", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--quick", action="store_true", help="half the sizes")
    parser.add_argument("--repeats", type=int, default=2, help="processes of each kind")
    parser.add_argument("--rounds", type=int, default=3, help="times that each does its work")
    experiment.add_output_arguments(parser, figures=False)


def run_all(options: argparse.Namespace) -> int:
    scale = 2 if options.quick else 1
    every = (
        row for kind in options.programs for row in rows_of(kind, scale, options.repeats, options.rounds)
    )
    experiment.collect(options, "exec", "Plain and under ozfp4 exec", "cuda", every, left=2)
    return 0


main = experiment.program(__file__, __doc__, add_arguments, run_all)

if __name__ == "__main__":
    sys.exit(main())
