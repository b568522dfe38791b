"""Costs and gains of ``ozfp4.emulate()`` for single products of many shapes.

    python benchmarks/emulate.py [--quick] [--device cpu|cuda] [--only shapes calls] [-o FOLDER]

Shapes: times of products with and without the scope alternately, medians; the first call in it is not timed.
Products named near identity have the identity with noise of 2^-40 as their right operand. Nearly all of their entries are
repaired, which shows in the first product: torch makes the others itself.
Calls: the same of every way to call a small product, and of other operations, which show the scope's time on the host. A call is
worse where the scope takes more than 5 % and more than 5 us longer; exit status 1 on a GPU if one is. The worst are listed
last. --quick: sizes to 4096, fewer calls, under a minute on an H200. On a CPU sizes are small.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch

import ozfp4
from common import experiment
from common.experiment import Row

ALLOWED = 0.05  # and
ALLOWED_SECONDS = 5e-6
PARTS = ("shapes", "calls")
LISTED = 8  # of the worst


class Shape(NamedTuple):
    kind: str
    stack: int
    m: int
    n: int
    k: int

    @property
    def text(self) -> str:
        return f"{self.stack} times " * (self.stack > 1) + f"{self.m} × {self.n} × {self.k}"


NEAR_IDENTITY = "near identity"


def shapes(largest: int) -> list[Shape]:
    """Squares, skinny, long, odd, vectors, stacks: those of bmm and of matmul; and what is slow by its entries."""
    found = [
        Shape("square", 1, n, n, n)
        for n in (16, 32, 64, 128, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 8192, 16384)
    ]
    found += [Shape("odd", 1, n, n + 1, n - 1) for n in (17, 101, 777, 1027, 2050, 3001, 4999, 9001)]
    for n in (256, 1024, 4096, 16384):
        found += [Shape("skinny", 1, n, s, n) for s in (1, 16, 128)]
        found += [Shape("flat", 1, s, n, n) for s in (16, 128)]
        found += [Shape("outer", 1, n, n, s) for s in (16, 128, 512)]
        found += [Shape("long", 1, s, s, n) for s in (16, 256)]
    # torch makes several operations of a product of stacks, of which bmm is one.
    stacks = ((4, 16), (1000, 16), (256, 64), (64, 256), (16, 1024), (4, 2048))
    found += [Shape(kind, s, n, n, n) for kind in ("bmm", "stack") for s, n in stacks]
    found += [Shape(NEAR_IDENTITY, 1, n, n // 4, n) for n in (256, 1024, 4096, 8192)]
    return [
        shape
        for shape in found
        if max(shape[2:]) <= largest and shape.stack * shape.m * shape.k <= largest**2
    ]


def entries(shape: tuple[int, ...], device: str) -> torch.Tensor:
    generator = torch.Generator(device).manual_seed(sum(shape))
    return torch.randn(shape, dtype=torch.float64, device=device, generator=generator)


def near_identity(rows: int, columns: int, device: str) -> torch.Tensor:
    """As what `solve` finds for the first columns of a matrix itself."""
    identity = torch.eye(rows, columns, dtype=torch.float64, device=device)
    return identity + 2.0**-40 * entries((rows, columns), device)


def series(run: Callable[[], object], count: int, device: str) -> float:
    """Seconds a call, of `count` calls in a row, until the device is through."""
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    wait()
    began = time.perf_counter()
    for _ in range(count):
        run()
    wait()
    return (time.perf_counter() - began) / count


def product_row(shape: Shape, device: str, budget: float) -> Row:
    stack = (shape.stack,) if shape.stack > 1 else ()
    a, b = entries((*stack, shape.m, shape.k), device), entries((*stack, shape.k, shape.n), device)
    if shape.kind == NEAR_IDENTITY:
        b = near_identity(shape.k, shape.n, device)
    # By their names, which a scope replaces.
    run = (lambda: torch.bmm(a, b)) if shape.kind == "bmm" else (lambda: torch.matmul(a, b))
    return timed_row(shape.kind, shape.text, run, device, budget)


def calls(device: str) -> dict[str, Callable[[], object]]:
    """Small products in every way of torch, and operations that are no products."""
    a, stack, v = entries((64, 64), device), entries((4, 64, 64), device), entries((64,), device)
    layer = torch.nn.Linear(64, 64, dtype=torch.float64, device=device)
    wanted, single = a.clone().requires_grad_(), a.float()
    return {
        "a @ b": lambda: a @ a,
        "a.mm": lambda: a.mm(a),
        "mv": lambda: torch.mv(a, v),
        "dot": lambda: torch.dot(v, v),
        "addmm": lambda: torch.addmm(v, a, a, beta=0.5),
        "addmm by names": lambda: torch.addmm(v, mat1=a, mat2=a),
        "baddbmm": lambda: torch.baddbmm(stack, stack, stack),
        "@ of stacks": lambda: stack @ stack,
        "stack @ one": lambda: stack @ a,
        "nn.Linear": lambda: layer(a),
        "einsum": lambda: torch.einsum("ij,jk->ik", a, a),
        "einsum of one": lambda: torch.einsum("ii->i", a),
        "tensordot": lambda: torch.tensordot(a, a, dims=([1], [0])),
        "a @ b with gradients": lambda: wanted @ a,
        "forward and backward": lambda: (wanted @ a).sum().backward(),
        "a + b": lambda: a + a,
        "relu": lambda: torch.relu(a),
        "slice": lambda: a[:8, 1:],
        "a.shape": lambda: a.shape,
        "float32 @": lambda: single @ single,
    }


def timed_row(kind: str, text: str, run: Callable[[], object], device: str, budget: float) -> Row:
    scope = ozfp4.emulate()
    with scope:
        run()
        run()
    run()
    once = series(run, 1, device)
    count = max(1, min(50, int(budget / 14 / max(once, 1e-9))))
    native, within = [], []
    for _ in range(7):
        run()  # the first call after a scope is entered or left finds what Python remembers of torch's names gone
        native.append(series(run, count, device))
        with scope:
            run()
            within.append(series(run, count, device))
    without, inside = statistics.median(native), statistics.median(within)
    rows = scope.summary.rows
    return {
        "kind": kind, "what": text, "native ms": round(1e3 * without, 4),
        "scope ms": round(1e3 * inside, 4), "ratio": round(inside / without, 3), "us more": round(1e6 * (inside - without), 1),
        "caught": bool(scope.summary.caught), "why": rows[0].reason if rows else "no product",
    }  # fmt: skip


def is_worse(row: Row) -> bool:
    return bool(row["ratio"] > 1 + ALLOWED and row["us more"] > 1e6 * ALLOWED_SECONDS)


def rows_of(options: argparse.Namespace, device: str) -> Iterator[Row]:
    budget = 0.05 if options.quick else 0.3
    largest = 256 if device == "cpu" else 4096 if options.quick else 16384
    for shape in shapes(largest) if "shapes" in options.only else ():
        yield product_row(shape, device, budget)
    for name, run in calls(device).items() if "calls" in options.only else ():
        yield timed_row("call", name, run, device, budget)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    experiment.add_device_argument(parser)
    parser.add_argument("--quick", action="store_true", help="sizes to 4096, fewer calls")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    experiment.add_output_arguments(parser, figures=False)


def run_all(options: argparse.Namespace) -> int:
    device = experiment.device_of(options)
    rows = experiment.collect(options, "emulate", "Milliseconds", device, rows_of(options, device), left=2)
    worse = [row for row in rows if is_worse(row)]
    caught = sum(row["caught"] for row in rows)
    print(f"{len(rows)} rows, {caught} caught, {len(worse)} worse by more than 5 % and 5 us")
    for name in ("us more", "ratio"):
        experiment.show_rows(
            f"Worst by {name}", sorted(rows, key=lambda row: -float(row[name]))[:LISTED], left=2
        )
    return int(device == "cuda" and bool(worse))


main = experiment.program(__file__, __doc__, add_arguments, run_all)

if __name__ == "__main__":
    sys.exit(main())
