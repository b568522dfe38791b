"""Predict running times by the paper's model, 2 Q N³ / R + D / beta, and compare with what this machine does.

R (rate of the plane products, from a shorter plan) and beta (copy bandwidth) are measured here; then every method is measured
and set against the prediction. The paper's own table is recomputed from its constants. Other devices are projected from
nominal rates, marked as modelled; a table and the map say which ratios of rates make which method win.

  python benchmarks/model.py -o results        on the CPU, or on the GPU if torch has one (--device chooses)
  python benchmarks/model.py --no-measure      only the tables that need no measurement
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

from common import experiment, paper_model, speed
from common.bandwidth import copy_bandwidth
from common.device_rates import ATTAINED, DEVICES
from common.experiment import Row
from common.methods import REFUSALS, Method, own_methods, reason, select
from common.numbers import fraction
from common.paper_model import Contender, break_even, contenders, deviation, predict, projection, traffic
from figures import model as figures
from ozfp4._cli import InputError
from ozfp4._cli.display import show
from ozfp4._measure.calibrate import short_plan
from ozfp4._measure.clocks import multiply_rate
from ozfp4._measure.machine import describe, sentence
from ozfp4._plans.plan import make_plan

DEFAULT_METHODS = ("II-fp4-least", "II-fp4-paper", "II-int8-least", "II-fp64-least")
PROJECTED_N = 16384
FP8_SHARES = (0.5, 0.75)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    experiment.add_device_argument(parser)
    experiment.add_sizes_argument(parser, "default 512 to 2048; GPU 1024 to 16384")
    parser.add_argument("--methods", nargs="+", metavar="NAME", help="default: scheme II in every alphabet")
    experiment.add_budget_argument(parser)
    parser.add_argument("--no-measure", action="store_true", help="only what follows from constants")
    parser.add_argument(
        "--attained",
        type=fraction,
        default=ATTAINED,
        help="of nominal peaks, for projections; default 0.65, the paper's",
    )
    experiment.add_output_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Measure, predict, print, write."""
    device, methods = ("", []) if options.no_measure else _chosen(options)
    experiment.prepare_output(options)
    _show_paper()
    machine = {} if options.no_measure else describe(device)
    rows: list[Row] = []
    if methods:
        print(f"\nthis machine: {sentence(machine)}")
        with experiment.report_at_the_end(lambda: _show_measured(rows, methods)):
            _measure(options, device, methods, rows)
    _finish(options, machine, rows, methods)
    return 0


# ---- The paper's table -------------------------------------------------------------------------------------


def _show_paper() -> None:
    experiment.show_rows(
        "The paper's RTX PRO 6000, OzII-FP4: its table recomputed (R = 1408 TFLOPS, beta = 1490 GB/s, Q = 75)",
        [
            {
                "N": row["N"],
                "2QN³/R ms": f"{row['products ms']:.2f}",
                "reconstruct ms": f"{row['reconstruct ms']:.2f}",
                "measured ms": f"{row['compute ms']:.2f}",
                "over model": f"{row['percent']:+.1f} %",
                "paper prints": f"+{row['paper percent']} %",
                "preprocessing × bound": f"{row['preprocess factor']:.2f}",
            }
            for row in paper_model.paper_rows()
        ],
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
    device = experiment.device_of(options)
    own = {method.name.removeprefix("cuda-"): method for method in own_methods(device)}
    if not own:
        raise InputError(f"--device: {device}: this build has no kernels for it (see ozfp4 info)")
    return device, select(options.methods or [name for name in DEFAULT_METHODS if name in own], own)


def _measure(options: argparse.Namespace, device: str, methods: list[Method], rows: list[Row]) -> None:
    bandwidth = copy_bandwidth(device)
    asked = [(n, method) for n in options.sizes or speed.SIZES[device] for method in methods]
    for n, method in experiment.in_turn(asked, lambda pair: f"N = {pair[0]}, {pair[1].name}"):
        rows.append(_row(method, n, bandwidth, options.budget))


def _row(method: Method, n: int, bandwidth: float, budget: float) -> Row:
    scheme, backend, family = (method.options[name] for name in ("scheme", "backend", "family"))
    try:
        row = speed.measure(method, n, budget)
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
    measured = [row for row in rows if "skipped" not in row]
    experiment.show_rows(
        "Predicted and measured",
        [
            {
                "": labels[row["method"]],
                "N": row["N"],
                "products": row["products"],
                "R TOPS": row["rate"] / 1e12,
                "compute: model ms": row["model compute ms"],
                "measured": row["compute ms"],
                "over model": f"{row['percent']:+.1f} %",
                "D / beta ms": row["model preprocess ms"],
                "preprocessing ms": row["preprocess ms"],
                "×": row["preprocess factor"],
            }
            for row in measured
        ],
    )
    experiment.show_skipped(rows, labels)
    if measured:
        beta = measured[-1]["bandwidth"] / 1e9
        print(f"beta = {beta:.4g} GB/s, by a copy; R by a plan of half the products, at each N")


# ---- Other machines ----------------------------------------------------------------------------------------


def _projections(attained: float) -> tuple[list[Row], list[Contender]]:
    field = contenders(PROJECTED_N)
    rows = [
        {"device": device.name, "method": c.name, "products": c.products,
         "TFLOPS": float(f"{projection(c, device, PROJECTED_N, attained):.4g}"), "status": "modelled"}
        for device in DEVICES for c in field
    ]  # fmt: skip
    return rows, field


def _finish(options: argparse.Namespace, about: Row, measured: list[Row], methods: list[Method]) -> None:
    rows, field = _projections(options.attained)
    _show_projections(rows, field, options.attained)
    _show_break_even(field)
    experiment.show_rows(
        f"MODELLED: Rubin's TI16, no hardware and no compiler, beside cuBLAS's {paper_model.RUBIN_DGEMM} TFLOPS",
        paper_model.ti16_rows(),
    )
    tables: dict[str, Any] = {
        "labels": {method.name: method.label for method in methods},
        "paper": paper_model.paper_rows(),
        "measured": measured,
        "projection": {"n": PROJECTED_N, "attained": options.attained},
        "projections": rows,
    }
    kinds = ("paper", "measured", "projections")
    of_all = [{"table": name, **row} for name in kinds for row in tables[name]]
    experiment.write_results(options, "model", about, tables, of_all, _figures)


def _figures(_: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    best = ("FP4 least", "INT8", "FP8 published", "native FP64")
    field = [contender for contender in contenders(PROJECTED_N) if contender.name in best]
    yield "winners", figures.winners_map(field, FP8_SHARES, PROJECTED_N)


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
    print("FP8: the published method's products, and those of our search; this package has no such backend")


def _show_break_even(field: list[Contender]) -> None:
    others = [c for c in field if c.name in ("INT8", "FP8 published", "native FP64")]
    experiment.show_rows(
        "Break-even: FP4 wins where its unit is more than so many times faster than",
        [
            {"": c.name, **{other.name: f"{break_even(c, other):.2f}" for other in others}}
            for c in field
            if c.alphabet == "fp4"
        ],
    )


main = experiment.program(__file__, __doc__, add_arguments, run)

if __name__ == "__main__":
    sys.exit(main())
