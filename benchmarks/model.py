"""Predict running times by the paper's model, 2 Q N³ / R + D / beta, and compare with what this machine does.

R (rate of the plane products, from a shorter plan) and beta (copy bandwidth) are measured here; then every method is measured
and set against the prediction. The paper's own table is recomputed from its constants. Other devices are projected from
nominal rates, marked as modelled; a table and the map say which ratios of rates make which method win, the last table what
bounds products over many GPUs.

  python benchmarks/model.py -o results        on the CPU, or on the GPU if torch has one (--device chooses)
  python benchmarks/model.py --no-measure      only the tables that need no measurement
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cluster import projections as scaling
from common import paper_model, speed
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
from common.methods import REFUSALS, Method, gpu_backends, own_methods, reason, select
from common.paper_model import Contender, break_even, contenders, deviation, predict, projection, traffic
from figures import model as figures
from figures import scaling as scaling_figures
from ozfp4.cli.errors import InputError
from ozfp4.cli.numbers import fraction, positive
from ozfp4.cli.progress import Progress
from ozfp4.cli.tables import show
from ozfp4.cost.peaks import ATTAINED
from ozfp4.cost.rates import DEVICES
from ozfp4.measure.calibrate import short_plan
from ozfp4.measure.clocks import copy_bandwidth, multiply_rate
from ozfp4.measure.machine import describe, have_cuda, sentence
from ozfp4.plans.plan import make_plan

DEFAULT_METHODS = ("II-fp4-least", "II-fp4-paper", "II-int8-least", "II-fp64-least")
PROJECTED_N = 16384
FP8_SHARES = (0.5, 0.75)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", choices=("cpu", "cuda"), help="default: cuda if torch has it, else cpu")
    parser.add_argument(
        "--sizes", type=positive, nargs="+", metavar="N", help="default 512 to 2048; GPU 1024 to 16384"
    )
    parser.add_argument("--methods", nargs="+", metavar="NAME", help="default: scheme II in every alphabet")
    parser.add_argument("--budget", type=float, default=1.0, help="seconds for each measurement; default 1")
    parser.add_argument("--no-measure", action="store_true", help="only what follows from constants")
    parser.add_argument(
        "--attained",
        type=fraction,
        default=ATTAINED,
        help="of nominal peaks, for projections; default 0.65, the paper's",
    )
    add_output_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Measure, predict, print, write."""
    if not 0 < options.budget < 1e6:
        raise InputError(f"--budget: {options.budget} is not a positive number of seconds")
    device, methods = ("", []) if options.no_measure else _chosen(options)
    folder = prepare_output(options)
    _show_paper()
    machine = {} if options.no_measure else describe(device)
    rows: list[Row] = []
    if methods:
        print(f"\nthis machine: {sentence(machine)}")
        with report_at_the_end(lambda: _show_measured(rows, methods)):
            _measure(options, device, methods, rows)
    _finish(options, folder, machine, rows, methods)
    return 0


# ---- The paper's table -------------------------------------------------------------------------------------


def _show_paper() -> None:
    rows = [
        [
            str(row["N"]), f"{row['products ms']:.2f}", f"{row['reconstruct ms']:.2f}", f"{row['compute ms']:.2f}",
            f"{row['percent']:+.1f} %", f"+{row['paper percent']} %", f"{row['preprocess factor']:.2f}",
        ]
        for row in paper_model.paper_rows()
    ]  # fmt: skip
    show(
        "The paper's RTX PRO 6000, OzII-FP4: its table recomputed (R = 1408 TFLOPS, beta = 1490 GB/s, Q = 75)",
        [
            "N",
            "2QN³/R ms",
            "reconstruct ms",
            "measured ms",
            "over model",
            "paper prints",
            "preprocessing × bound",
        ],
        rows,
    )
    advantage = paper_model.PAPER_PRODUCTS["GEMMul8-FP8"] * 2 / paper_model.PAPER_PRODUCTS["OzII-FP4"]
    print(
        f"advantage over GEMMul8-FP8 by products and nominal rates: {advantage:.2f} (paper: {paper_model.PAPER_ADVANTAGE})"
    )
    for method, (least, most) in paper_model.PAPER_ATTAINED.items():
        found = [paper_model.paper_attained(method, n) for n in paper_model.PAPER_DEVIATIONS]
        print(
            f"{method} attains {min(found):.0f} to {max(found):.0f} % of its nominal peak (paper: {least} to {most} %)"
        )


# ---- This machine ------------------------------------------------------------------------------------------


def _chosen(options: argparse.Namespace) -> tuple[str, list[Method]]:
    """The device to measure and its methods; InputError where they are not there."""

    gpu = options.device != "cpu" and have_cuda() and bool(gpu_backends())
    device = options.device or ("cuda" if gpu else "cpu")
    if device == "cuda" and not gpu:
        raise InputError("--device: cuda: no GPU that this build has kernels for (see ozfp4 info)")
    own = {method.name.removeprefix("cuda-"): method for method in own_methods(device)}
    try:
        methods = select(options.methods or [name for name in DEFAULT_METHODS if name in own], own)
    except ValueError as error:
        raise InputError(f"--methods: {error}") from None
    return device, methods


def _measure(options: argparse.Namespace, device: str, methods: list[Method], rows: list[Row]) -> None:
    sizes = options.sizes or (speed.GPU_SIZES if device == "cuda" else speed.CPU_SIZES)
    with Progress("bandwidth") as progress:
        bandwidth = copy_bandwidth(device)
        progress.report(1.0)
    asked = [(n, method) for n in sizes for method in methods]
    for done, (n, method) in enumerate(asked):
        with Progress(f"N = {n}, {method.name} ({1 + done} of {len(asked)})") as progress:
            progress.report(done / len(asked))
            rows.append(_row(method, n, bandwidth, options.budget))


def _row(method: Method, n: int, bandwidth: float, budget: float) -> Row:

    scheme, backend, family = (method.options[name] for name in ("scheme", "backend", "family"))
    try:
        row = speed.measure(method, n, budget)
        if "skipped" in row:
            return row
        rate = multiply_rate(method.device, short_plan(scheme, backend, n), n, budget / 2)
    except REFUSALS as error:
        return {"N": n, "method": method.name, "skipped": reason(error)}
    plan = make_plan(scheme, backend, family, 53, n)
    times = predict(row["products"], n, rate, bandwidth, traffic(plan))
    preprocess = row["scale ms"] + row["encode ms"]
    return row | {
        "rate": rate,
        "bandwidth": bandwidth,
        "preprocess ms": round(preprocess, 4),
        "model compute ms": round(1e3 * times.compute, 4),
        "model preprocess ms": round(1e3 * times.preprocess, 4),
        "percent": round(deviation(row["compute ms"], 1e3 * times.compute), 2),
        "preprocess factor": round(preprocess / (1e3 * times.preprocess), 2),
    }


def _show_measured(rows: list[Row], methods: list[Method]) -> None:
    labels = {method.name: method.label for method in methods}
    if not rows:
        return
    lines = []
    for row in rows:
        if "skipped" not in row:
            lines.append([
                labels[row["method"]], str(row["N"]), str(row["products"]), f"{row['rate'] / 1e12:.4g}",
                f"{row['model compute ms']:.4g}", f"{row['compute ms']:.4g}", f"{row['percent']:+.1f} %",
                f"{row['model preprocess ms']:.3g}", f"{row['preprocess ms']:.3g}", f"{row['preprocess factor']:.1f}",
            ])  # fmt: skip
    show(
        "Predicted and measured",
        [
            "",
            "N",
            "products",
            "R TOPS",
            "compute: model ms",
            "measured",
            "over model",
            "D / beta ms",
            "measured",
            "×",
        ],
        lines,
    )
    for row in rows:
        if "skipped" in row:
            print(f"skipped {labels[row['method']]}: {row['skipped']}")
    bandwidths = [row["bandwidth"] for row in rows if "bandwidth" in row]
    if bandwidths:
        print(
            f"beta = {bandwidths[-1] / 1e9:.4g} GB/s, by a copy; R by a plan of half the products, at each N"
        )


# ---- Other machines ----------------------------------------------------------------------------------------


def _projections(attained: float) -> tuple[list[Row], list[Contender]]:

    field = contenders(PROJECTED_N)
    rows = [
        {"device": device.name, "method": c.name, "products": c.products,
         "TFLOPS": float(f"{projection(c, device, PROJECTED_N, attained):.4g}"), "status": "modelled"}
        for device in DEVICES for c in field
    ]  # fmt: skip
    return rows, field


def _finish(
    options: argparse.Namespace, folder: Path | None, about: Row, measured: list[Row], methods: list[Method]
) -> None:
    rows, field = _projections(options.attained)
    _show_projections(rows, field, options.attained)
    _show_break_even(field)
    _show_scaling()
    if folder is None:
        return

    facts = {"n": PROJECTED_N, "attained": options.attained}
    labels = {method.name: method.label for method in methods}
    tables: dict[str, Any] = {
        "labels": labels,
        "paper": paper_model.paper_rows(),
        "measured": measured,
        "projection": facts,
        "projections": rows,
        "scaling": scaling.rows(),
    }
    write_json(folder / "model.json", about, **tables)
    kinds = ("paper", "measured", "projections", "scaling")
    write_csv(folder / "model.csv", [{"table": name, **row} for name in kinds for row in tables[name]])
    print(f"wrote {folder / 'model.json'}, {folder / 'model.csv'}")
    if options.no_figures:
        return

    results = {"machine": about, **tables}
    if any("skipped" not in row for row in measured):
        draw(folder, [("model", figures.predicted_and_measured(results))])
    best = [c for c in field if c.name in ("FP4 least", "INT8", "FP8 published", "native FP64")]
    draw(
        folder,
        [
            ("projections", figures.projections(results)),
            ("winners", figures.winners_map(best, FP8_SHARES, PROJECTED_N)),
            ("scaling-modelled", scaling_figures.modelled()),
        ],
    )


def _show_projections(rows: list[Row], field: list[Contender], attained: float) -> None:
    lines = []
    for device in dict.fromkeys(row["device"] for row in rows):
        cells = {row["method"]: row["TFLOPS"] for row in rows if row["device"] == device}
        best = max(cells, key=lambda name: cells[name])
        lines.append([device, *(f"{v:.3g}" if v else "-" for v in cells.values()), best])
    show(
        f"MODELLED TFLOPS of whole products, N = {PROJECTED_N}, at {attained:.0%} of nominal rates (nothing of this is measured)",
        ["", *(f"{c.name} ({c.products})" for c in field), "first"],
        lines,
    )
    print("(products) in the worst case for the data; without an FP4 unit limbs run as INT8;")
    print("FP8: the published method's products, this package has no such backend")


def _show_break_even(field: list[Contender]) -> None:

    others = [c for c in field if c.name in ("INT8", "FP8 published", "native FP64")]
    lines = [
        [c.name, *(f"{break_even(c, other):.2f}" for other in others)] for c in field if c.alphabet == "fp4"
    ]
    show(
        "Break-even: FP4 wins where its unit is more than so many times faster than",
        ["", *(other.name for other in others)],
        lines,
    )


def _show_scaling() -> None:

    times = ("moving ms", "encode ms", "products ms")
    lines = [
        [row["GPU"], str(row["ranks"]), row["mesh"], *(f"{row[name]:.3g}" for name in times),
         f"{row['efficiency']:.0%}", f"{row['hidden efficiency']:.0%}", row["waits for"], str(row["links bound up to"])]
        for row in scaling.rows()
    ]  # fmt: skip
    heads = [
        "",
        "GPUs",
        "mesh",
        *times,
        "of a GPU alone",
        "if hidden",
        "gathers wait for",
        "links bound up to N",
    ]
    title = f"MODELLED products over many GPUs, N = {scaling.SHOWN} (nothing of this is measured)"
    show(title, heads, lines)


def main(arguments: Sequence[str] | None = None) -> int:
    return run_program("model.py", __doc__, add_arguments, run, arguments)


if __name__ == "__main__":
    sys.exit(main())
