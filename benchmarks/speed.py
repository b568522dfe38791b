"""How fast products are on the CPU: the paper's performance table, and the time of each stage. For GPUs: gpu.py.

GFLOPS = 2 N³ / t of N x N x N products of normal(0, 1) entries, for the compute stage (multiply and reconstruct) and for whole
calls; medians of warm calls. "auto" asks for no backend, and lines below the tables say what it took.
The optimisations one by one are in breakdown.py.

  python benchmarks/speed.py -o results
  python benchmarks/speed.py --sizes 512 1024 --methods II-fp64-least numpy
  python benchmarks/speed.py --accuracy correct
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from common import speed
from common.experiment import (
    Row,
    add_output_arguments,
    draw,
    prepare_output,
    report_at_the_end,
    run_program,
    write_csv,
    write_json,
)
from common.methods import Method, at_hand, select
from figures import speed as figures
from ozfp4.cli.errors import InputError
from ozfp4.cli.numbers import positive
from ozfp4.cli.progress import Progress
from ozfp4.cli.tables import show
from ozfp4.measure.machine import describe, sentence


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--sizes", type=positive, nargs="+", metavar="N", default=speed.CPU_SIZES, help="default 512 to 2048"
    )
    parser.add_argument(
        "--methods", nargs="+", metavar="NAME", help="which to run; default all (an unknown name lists them)"
    )
    parser.add_argument(
        "--accuracy",
        choices=("standard", "correct", "scaled"),
        default="scaled",
        help="of ozfp4's ways; default scaled",
    )
    parser.add_argument("--budget", type=float, default=1.0, help="seconds for each measurement; default 1")
    add_output_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Measure, print, write."""
    if not 0 < options.budget < 1e6:
        raise InputError(f"--budget: {options.budget} is not a positive number of seconds")
    found = at_hand(accuracy=options.accuracy, auto=True)
    here = {name: method for name, method in found.items() if method.device == "cpu"}
    try:
        methods = select(options.methods, here)
    except ValueError as error:
        raise InputError(f"--methods: {error}") from None
    folder = prepare_output(options)
    machine = describe("cpu")
    print(sentence(machine))
    rows: list[Row] = []
    with report_at_the_end(lambda: _report(options, folder, machine, rows, methods)):
        asked = [(n, method) for n in options.sizes for method in methods]
        for done, (n, method) in enumerate(asked):
            with Progress(f"N = {n}, {method.name} ({1 + done} of {len(asked)})") as progress:
                progress.report(done / len(asked))
                rows.append(speed.attempt(method, n, options.budget))
    return 0


# ---- What is shown and written -----------------------------------------------------------------------------


def _report(
    options: argparse.Namespace, folder: Path | None, machine: Row, rows: list[Row], methods: list[Method]
) -> None:
    if not rows:
        return
    _show_speeds(rows, methods)
    _show_stages([row for row in rows if "multiply ms" in row], methods)
    for row in rows:
        if "took" in row:
            print(f"{row['method']}, N = {row['N']}: {row['took']}")
        if "skipped" in row:
            print(f"skipped {row['method']}, N = {row['N']}: {row['skipped']}")
    if folder is None:
        return
    labels = {method.name: method.label for method in methods}
    write_json(folder / "bench.json", machine, labels=labels, rows=rows)
    write_csv(folder / "bench.csv", rows)
    print(f"wrote {folder / 'bench.json'}, {folder / 'bench.csv'}")
    if not options.no_figures and any("skipped" not in row for row in rows):
        results = {"machine": machine, "labels": labels, "rows": rows}
        draw(folder, [("bench", figures.speeds(results))])
        if any("multiply ms" in row for row in rows):
            draw(folder, [("stages", figures.stages(results))])


def _number(x: float) -> str:
    return f"{x:.3g}" if x < 100 else f"{x:.0f}"


def _show_speeds(rows: list[Row], methods: list[Method]) -> None:
    sizes = sorted({row["N"] for row in rows})
    cells = {(row["method"], row["N"]): row for row in rows}
    lines = []
    # Gigaflops where teraflops would begin with zeros.
    factor, unit = (1, "TFLOPS") if max(row.get("TFLOPS", 0) for row in rows) >= 1 else (1000, "GFLOPS")
    for method in methods:
        texts: list[str] = []
        for n in sizes:
            row = cells.get((method.name, n), {})
            names = ("compute TFLOPS", "TFLOPS")
            texts += [
                "-" if "skipped" in row else _number(factor * row[name]) if row else "" for name in names
            ]
        lines.append([method.label, *texts])
    heads = [head for n in sizes for head in (f"{n} comp.", "total")]
    show(f"{unit} = 2 N³ / t of the compute stage and of the whole call", ["", *heads], lines)


def _show_stages(rows: list[Row], methods: list[Method]) -> None:
    if not rows:
        return
    labels = {method.name: method.label for method in methods}
    names = ("scale ms", "encode ms", "multiply ms", "reconstruct ms")
    lines = [
        [labels[row["method"]], str(row["N"]), str(row["products"]), *(f"{row[name]:.4g}" for name in names)]
        for row in rows
    ]
    show("Milliseconds by stage", ["", "N", "products", *(name.removesuffix(" ms") for name in names)], lines)


def main(arguments: Sequence[str] | None = None) -> int:
    return run_program("speed.py", __doc__, add_arguments, run, arguments)


if __name__ == "__main__":
    sys.exit(main())
