"""How fast products are: the paper's performance table, and the time of each stage, on the CPU or on a GPU.

TFLOPS = 2 N³ / t of N x N x N products of normal(0, 1) entries, for the compute stage (multiply and reconstruct) and for whole
calls. Times are medians of warm calls, on a GPU by CUDA events. "auto" names no backend; lines below the tables give its choice.
On a GPU also native FP64 and cuBLAS's emulation, and GEMMul8 if its preload library is named, each in a separate process.
The optimisations one by one are in breakdown.py.

  python benchmarks/speed.py -o results
  python benchmarks/speed.py --device cpu --sizes 512 1024 --methods II-fp64-least numpy
  python benchmarks/speed.py --accuracy correct
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

from common import experiment, speed
from common.experiment import Row
from common.methods import Method, add_gemmul8_argument, add_methods_argument, at_hand, select
from figures import speed as figures
from ozfp4._cli.display import show
from ozfp4._measure.clocks import STAGES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    experiment.add_device_argument(parser)
    experiment.add_sizes_argument(parser, "default 512 to 2048; GPU 1024 to 16384")
    add_methods_argument(parser)
    parser.add_argument(
        "--accuracy",
        choices=("standard", "correct", "scaled"),
        default="scaled",
        help="of ozfp4's ways; default scaled",
    )
    add_gemmul8_argument(parser)
    experiment.add_budget_argument(parser)
    experiment.add_output_arguments(parser)


def run(options: argparse.Namespace) -> int:
    device = experiment.device_of(options)
    found = at_hand(options.gemmul8, options.accuracy, auto=True)
    methods = select(options.methods, {name: m for name, m in found.items() if m.device == device})
    machine = experiment.begin(options, device)
    rows: list[Row] = []
    asked = [(n, method) for n in options.sizes or speed.SIZES[device] for method in methods]
    with experiment.report_at_the_end(lambda: _report(options, machine, rows, methods)):
        for n, method in experiment.in_turn(asked, lambda pair: f"N = {pair[0]}, {pair[1].name}"):
            rows.append(speed.attempt(method, n, options.budget))
    return 0


def _report(options: argparse.Namespace, machine: Row, rows: list[Row], methods: list[Method]) -> None:
    if not rows:
        return
    labels = {method.name: method.label for method in methods}
    _show_speeds(rows, labels)
    stages = [f"{stage} ms" for stage in STAGES]
    experiment.show_rows(
        "Stages",
        [
            {"": labels[row["method"]], **{name: row[name] for name in ("N", "products", *stages)}}
            for row in rows
            if "multiply ms" in row
        ],
    )
    for row in rows:
        if "took" in row:
            print(f"{row['method']}, N = {row['N']}: {row['took']}")
    experiment.show_skipped(rows, labels)
    experiment.write_results(options, "bench", machine, {"labels": labels, "rows": rows}, rows, _figures)


def _figures(results: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    if any("ms" in row for row in results["rows"]):
        yield "bench", figures.speeds(results)
    if any("multiply ms" in row for row in results["rows"]):
        yield "stages", figures.stages(results)


def _show_speeds(rows: list[Row], labels: dict[str, str]) -> None:
    sizes = sorted({row["N"] for row in rows})
    factor, unit = figures.unit_of(rows)
    cells = {(row["method"], row["N"]): row for row in rows}
    lines = []
    for name, label in labels.items():
        found = [cells.get((name, n), {}) for n in sizes]
        speeds = [row.get(kind) for row in found for kind in ("compute TFLOPS", "TFLOPS")]
        lines.append([label, *("-" if x is None else f"{factor * x:.3g}" for x in speeds)])
    heads = [head for n in sizes for head in (f"{n} comp.", "total")]
    show(f"{unit} = 2 N³ / t of the compute stage and of the whole call", ["", *heads], lines)


main = experiment.program(__file__, __doc__, add_arguments, run)

if __name__ == "__main__":
    sys.exit(main())
