"""The gain of each optimisation: a product from one array operation at a time to the product path, step by step.

    python benchmarks/breakdown.py [--device cpu|cuda] [-n N] [--schemes II I] [-o FOLDER]

The first steps run the stages of array_stages.py, with NumPy on the CPU and torch on a GPU. They take a pass over memory for
each encoded plane, a library GEMM for each plane product, and Garner's reconstruction. The later steps replace them one after
the other by those of the product path. Each stage is timed alone, median of warm runs. The result of the first step is compared
with ozfp4.matmul bit for bit. Steps that replace array operations by compiled code also gain what compiled code gains.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import array_stages
import ozfp4
from common import experiment, speed
from common.experiment import Row
from common.methods import own_methods
from figures import breakdown as figures
from ozfp4._cli import InputError, positive
from ozfp4._measure import clocks

SIZES = {"cpu": 1024, "cuda": 8192}


class Step(NamedTuple):
    """One configuration: the family of the plan, and which implementation encodes, multiplies and reconstructs."""

    label: str
    family: str
    encode: str
    multiply: str
    reconstruct: str


PATH = ("product path",) * 3
STEPS = {
    "II": (
        Step("paper's plan: a pass for each plane, a GEMM for each product, Garner", "paper", "plane", "gemm", "garner"),
        Step("direct CRT", "paper", "plane", "gemm", "direct"),
        Step("all planes in one sweep", "paper", PATH[0], "gemm", "direct"),
        Step("all products in one launch, one pass to reconstruct", "paper", *PATH),
        Step("Karatsuba where it exists", "paper-karatsuba", *PATH),
        Step("plan of least products", "least", *PATH),
    ),
    "I": (
        Step("a pass for each plane, a GEMM for each product", "least", "plane", "gemm", "positional"),
        Step("all planes in one sweep", "least", PATH[0], "gemm", "positional"),
        Step("all products in one launch, one pass to reconstruct", "least", *PATH),
    ),
}  # fmt: skip


def clock(run: Callable[[], object], device: str, budget: float) -> float:
    """Median milliseconds after a warm-up."""
    if device == "cuda":
        return statistics.median(clocks.event_times(run, budget))
    return 1e3 * statistics.median(clocks.call_times(run, budget))


def array_times(scheme: str, n: int, device: str, budget: float) -> dict[str, float]:
    """Milliseconds of every stage of array_stages for the paper's plan, after a check of the whole product."""
    a, b = clocks.operands(device, n)
    family = "paper" if scheme == "II" else "least"
    plan = ozfp4.plan(n, n, n, scheme=scheme, backend="fp4", family=family, accuracy="scaled")
    (ia, sa), (ib, sb) = array_stages.scale(a, 1), array_stages.scale(b, 0)
    planes_a, planes_b = array_stages.encode(ia, plan), array_stages.encode(ib, plan)
    if device == "cuda":
        planes_b = [
            plane.t().contiguous().t() for plane in planes_b
        ]  # K-contiguous, as the INT8 GEMM wants it
    output = array_stages.multiply(planes_a, planes_b, plan)
    ways: dict[str, Callable[[], Any]] = {}
    if scheme == "II":
        ways["garner"] = lambda: array_stages.round_once(array_stages.garner(output, plan), sa, sb)
        ways["direct"] = lambda: array_stages.round_once(array_stages.direct_crt(output, plan), sa, sb)
    else:
        ways["positional"] = lambda: array_stages.round_once(array_stages.positional(output, plan, n), sa, sb)
    expected = ozfp4.matmul(a, b, plan=plan, accuracy="scaled")
    for name, way in ways.items():
        if not bool((way() == expected).all()):
            raise SystemExit(f"scheme {scheme}, {name}: the result differs from ozfp4.matmul")
    ways["plane"] = lambda: [array_stages.encode(x, plan) for x in (ia, ib)]
    ways["gemm"] = lambda: array_stages.multiply(planes_a, planes_b, plan)
    return {name: clock(way, device, budget) for name, way in ways.items()}


def path_row(scheme: str, family: str, n: int, device: str, budget: float) -> Row:
    """Milliseconds of the stages of the product path."""
    options = {"scheme": scheme, "backend": "fp4", "family": family, "accuracy": "scaled"}
    method = next((m for m in own_methods(device) if m.options == options), None)
    if method is None:
        raise InputError(f"no {scheme} fp4 {family} on {device}: see python -m ozfp4 info")
    row = speed.attempt(method, n, budget)
    if "skipped" in row:
        raise InputError(row["skipped"])
    return row


def rows_of(scheme: str, n: int, device: str, budget: float) -> Iterator[Row]:
    """A row for each step: products and the milliseconds of the four stages."""
    arrays = array_times(scheme, n, device, budget)
    paths: dict[str, Row] = {}
    for number, step in enumerate(STEPS[scheme], 1):
        if step.family not in paths:
            paths[step.family] = path_row(scheme, step.family, n, device, budget)
        path = paths[step.family]
        row: Row = {
            "scheme": scheme,
            "N": n,
            "step": number,
            "label": step.label,
            "products": path["products"],
        }
        row["scale ms"] = path["scale ms"]
        for stage in ("encode", "multiply", "reconstruct"):
            way = getattr(step, stage)
            row[f"{stage} by"] = way
            row[f"{stage} ms"] = path[f"{stage} ms"] if way == PATH[0] else round(arrays[way], 4)
        row["ms"] = round(sum(row[f"{stage} ms"] for stage in clocks.STAGES), 4)
        yield row


def show(rows: list[Row]) -> None:
    """One table for each scheme."""
    for scheme in dict.fromkeys(row["scheme"] for row in rows):
        here = [row for row in rows if row["scheme"] == scheme]
        experiment.show_rows(
            f"Scheme {scheme}, N = {here[0]['N']}, ms",
            [
                {
                    "step": f"{row['step']}. {row['label']}",
                    "products": row["products"],
                    **{stage: row[f"{stage} ms"] for stage in clocks.STAGES},
                    "sum": row["ms"],
                    "times faster than 1": here[0]["ms"] / row["ms"],
                }
                for row in here
            ],
        )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    experiment.add_device_argument(parser)
    parser.add_argument(
        "-n", type=positive, help="extent of the matrices; default 1024, on a GPU 8192 as in the paper"
    )
    parser.add_argument("--schemes", nargs="+", choices=list(STEPS), default=list(STEPS))
    experiment.add_budget_argument(parser, 4.0)
    experiment.add_output_arguments(parser)


def run(options: argparse.Namespace) -> int:
    device = experiment.device_of(options)
    machine = experiment.begin(options, device)
    rows: list[Row] = []
    with experiment.report_at_the_end(lambda: report(options, machine, rows)):
        for scheme in options.schemes:
            for row in rows_of(scheme, options.n or SIZES[device], device, options.budget):
                print(f"scheme {scheme}, step {row['step']}: {row['ms']:.4g} ms", file=sys.stderr, flush=True)
                rows.append(row)
    return 0


def report(options: argparse.Namespace, machine: Row, rows: list[Row]) -> None:
    show(rows)
    experiment.write_results(options, "breakdown", machine, {"rows": rows}, rows, _figures)


def _figures(results: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    yield "breakdown", figures.breakdown(results)


main = experiment.program(__file__, __doc__, add_arguments, run)

if __name__ == "__main__":
    sys.exit(main())
