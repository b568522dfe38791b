"""Programs on real matrices, plain and within ``ozfp4.emulate``: what each mode makes of a whole program.

    python benchmarks/programs.py [--device cpu] [--size N] [--points N] [--only NAME ...] [--repeats N]

A Gaussian process, the Newton-Schulz iteration, powers of a Markov chain's transition matrix, McWeeny's
purification of a density matrix, a Kalman filter's covariances. Milliseconds, medians of repeats in which
plain, "fastest" and "always" take turns, by CUDA events or the clock, after warm-ups in which times are
measured and places with many chains are found; the first turn of "fastest" by itself; ratios to plain; how
many products a repeat of "fastest" caught and left. --size: of the matrices, 2048 on a GPU and 512 on a CPU;
--points: of the Gaussian process, 6000 and the size. CUDA where there is a GPU, unless the CPU is asked for.
Exit status 1 on a GPU where a program takes more than a tenth longer by "fastest".
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import ozfp4
from ozfp4.measure import clocks
from ozfp4.measure.machine import commit

Program = Callable[[], torch.Tensor]
ALLOWED = 1.1
MODES = ("plain", "fastest", "always")
REAL = torch.float64


def kernel(x: torch.Tensor, y: torch.Tensor, scale: float) -> torch.Tensor:
    return torch.exp(-((x[:, None] - y[None, :]) ** 2) / (2 * scale**2))


def identity(n: int, device: str) -> torch.Tensor:
    return torch.eye(n, dtype=REAL, device=device)


def entries(*shape: int, device: str) -> torch.Tensor:
    return torch.randn(shape, dtype=REAL, generator=torch.Generator().manual_seed(sum(shape))).to(device)


def gaussian_process(n: int, device: str) -> Program:
    """Of n points: the kernel, its Cholesky factor and inverse, the covariance at as many others."""
    x = torch.linspace(0, 1, n, dtype=REAL, device=device)
    others = x + 0.5 / n

    def run() -> torch.Tensor:
        prior = kernel(x, x, 0.05) + 1e-4 * identity(n, device)
        inverse = torch.cholesky_inverse(torch.linalg.cholesky(prior))
        cross = kernel(others, x, 0.05)
        gain = cross @ inverse
        return prior - gain @ cross.mT

    return run


def newton_schulz(n: int, device: str) -> Program:
    """A covariance's square root and its inverse: 12 steps of the coupled iteration, that of a matrix's sign."""
    x = torch.linspace(0, 1, n, dtype=REAL, device=device)
    start = kernel(x, x, 0.02) + 0.1 * identity(n, device)
    start = start / torch.linalg.matrix_norm(start)

    def run() -> torch.Tensor:
        root, inverse = start, identity(n, device)
        for _ in range(12):
            step = 1.5 * identity(n, device) - 0.5 * (inverse @ root)
            root, inverse = root @ step, step @ inverse
        return inverse

    return run


def markov_chain(n: int, device: str) -> Program:
    """A walk among n places, which prefers near ones: 2, 4, ..., 256 steps, and where 64 starts lead."""
    places = torch.arange(n, dtype=REAL, device=device)
    weights = torch.exp(-(places[:, None] - places[None, :]).abs() / 4)
    transition = weights / weights.sum(1, keepdim=True)
    starts = torch.nn.functional.one_hot(torch.arange(64, device=device) * (n // 64), n).to(REAL)

    def run() -> torch.Tensor:
        power = transition
        for _ in range(8):
            power = power @ power
        return starts @ power

    return run


def purification(n: int, device: str) -> Program:
    """The density matrix of a chain of n sites with a gap: 16 steps of 3 P^2 - 2 P^3."""
    sites = torch.arange(n, device=device)
    hop = torch.where(sites % 2 == 0, 1.0, 0.4).to(REAL)[:-1]
    energies = torch.diag(hop, 1) + torch.diag(hop, -1) + 0.2 * torch.diag((-1.0) ** sites.to(REAL))
    start = 0.5 * identity(n, device) - 0.3 * energies

    def run() -> torch.Tensor:
        density = start
        for _ in range(16):
            square = density @ density
            density = 3 * square - 2 * (square @ density)
        return density

    return run


def kalman_filter(n: int, device: str) -> Program:
    """The covariance of n states over 6 steps, a quarter of them observed, in Joseph's form."""
    places = torch.linspace(0, 1, n, dtype=REAL, device=device)
    step = identity(n, device) + 0.1 / n**0.5 * entries(n, n, device=device)
    noise = 0.01 * kernel(places, places, 0.02)
    seen = identity(n, device)[::4]
    error = 0.1 * identity(len(seen), device)
    start = kernel(places, places, 0.1) + 0.01 * identity(n, device)

    def run() -> torch.Tensor:
        covariance = start
        for _ in range(6):
            covariance = step @ covariance @ step.mT + noise
            cross = covariance @ seen.mT
            gain = torch.linalg.solve(seen @ cross + error, cross.mT).mT
            rest = identity(n, device) - gain @ seen
            covariance = rest @ covariance @ rest.mT + gain @ error @ gain.mT
        return covariance

    return run


PROGRAMS = {
    "Gaussian process": gaussian_process,
    "Newton-Schulz": newton_schulz,
    "Markov chain": markov_chain,
    "purification": purification,
    "Kalman filter": kalman_filter,
}


def milliseconds(run: Program, device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
        return clocks.milliseconds(run)
    began = time.perf_counter()
    run()
    return 1e3 * (time.perf_counter() - began)


def row_of(name: str, n: int, device: str, repeats: int, warm_ups: int) -> dict[str, Any]:
    run = PROGRAMS[name](n, device)
    scopes: dict[str, Any] = {mode: ozfp4.emulate(mode=mode) for mode in MODES[1:]}
    taken: dict[str, list[float]] = {mode: [] for mode in MODES}
    before = (0, 0)
    for turn in range(warm_ups + repeats):
        if turn == warm_ups:
            before = scopes["fastest"].summary.caught, scopes["fastest"].summary.left
        for mode in MODES:
            with scopes.get(mode, contextlib.nullcontext()):
                taken[mode].append(milliseconds(run, device))
    found = {mode: statistics.median(times[warm_ups:]) for mode, times in taken.items()}
    summary = scopes["fastest"].summary
    return {
        "program": name, "size": n, **{mode: round(found[mode], 3) for mode in MODES},
        **{f"{mode} / plain": round(found[mode] / found["plain"], 3) for mode in MODES[1:]},
        "first fastest": round(taken["fastest"][0], 3),
        "caught": (summary.caught - before[0]) / repeats, "left": (summary.left - before[1]) / repeats,
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cuda", "cpu"))
    parser.add_argument("--size", type=int)
    parser.add_argument("--points", type=int)
    parser.add_argument("--only", nargs="+", choices=list(PROGRAMS), default=list(PROGRAMS))
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--warm-ups", type=int, default=3)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    device = asked.device or ("cuda" if torch.cuda.is_available() else "cpu")
    on_gpu = device == "cuda"
    size = asked.size or (2048 if on_gpu else 512)
    points = asked.points or (6000 if on_gpu else size)
    name = torch.cuda.get_device_name() if on_gpu else "CPU"
    print(f"{name}, torch {torch.__version__}, ozfp4 {ozfp4.__version__}, commit {commit()}", flush=True)
    rows = []
    for program in asked.only:
        n = points if program == "Gaussian process" else size
        rows.append(row_of(program, n, device, asked.repeats, asked.warm_ups))
        print(" ".join(f"{key}={value}" for key, value in rows[-1].items()), flush=True)
    if asked.out:
        asked.out.write_text(json.dumps({"device": name, "commit": commit(), "rows": rows}, indent=1))
    return 1 if on_gpu and any(row["fastest / plain"] > ALLOWED for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
