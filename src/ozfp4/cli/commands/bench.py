"""Measure how fast products are: the paper's performance table and the time of each stage.

TFLOPS = 2 N³ / t of N x N x N products of normal(0, 1) entries, for the compute stage (multiply and reconstruct) and for whole
calls; medians of warm calls. "auto" asks for no backend, and lines below the tables say what it took. On a GPU also native
FP64, cuBLAS's emulation, and GEMMul8 if its preload library is named.
The optimisations one by one are in benchmarks/breakdown.py.

  ozfp4 bench -o results                 on the GPU if torch has one, else on the CPU (--device chooses)
  ozfp4 bench --sizes 512 1024 --methods II-fp64-least numpy
  ozfp4 bench --accuracy correct
  torchrun --nproc-per-node 2 -m ozfp4 bench --distributed -o results
                                         strong and weak scaling over the GPUs, else over CPU processes, and what a model of
                                         local products and of what moves says
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..distributed import run as scaling
from ..errors import InputError
from ..experiment import (
    add_output_arguments,
    draw,
    positive,
    prepare_output,
    report_at_the_end,
    rows_file,
    say_resumed,
)
from ..progress import Progress
from ..tables import show

if TYPE_CHECKING:
    from ...bench.methods import Method
    from ...bench.rows import Row, RowStore


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``ozfp4 bench``."""
    parser.add_argument("--device", choices=("cpu", "cuda"), help="default: cuda if torch has it, else cpu")
    parser.add_argument(
        "--sizes", type=positive, nargs="+", metavar="N", help="default 512 to 2048; GPU 1024 to 16384"
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
    parser.add_argument("--gemmul8", metavar="LIBRARY", help="GEMMul8's preload library, for a GPU")
    parser.add_argument("--budget", type=float, default=1.0, help="seconds for each measurement; default 1")
    parser.add_argument(
        "--distributed",
        action="store_true",
        help="scaling over the ranks that torchrun started; nothing else",
    )
    parser.add_argument(
        "--scaling",
        nargs="+",
        choices=("strong", "weak"),
        default=("strong", "weak"),
        help="with --distributed: N x N x N, or N rows for each rank; default both",
    )
    parser.add_argument("--quick", action="store_true", help="with --distributed: small sizes, few repeats")
    add_output_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Measure, print, write."""
    from ...bench import speed
    from ...bench.methods import at_hand, select
    from ...bench.rows import RowStore
    from ...measure.machine import describe, have_cuda, sentence

    if not 0 < options.budget < 1e6:
        raise InputError(f"--budget: {options.budget} is not a positive number of seconds")
    if options.distributed:
        return scaling(options)
    if options.quick:
        raise InputError("--quick: is for --distributed; --sizes and --budget shorten this one")
    if options.gemmul8 is not None and not Path(options.gemmul8).is_file():
        raise InputError(f"--gemmul8: no such file: {options.gemmul8}")
    device = options.device or ("cuda" if have_cuda() else "cpu")
    if device == "cuda" and not have_cuda():
        raise InputError("--device: cuda: torch sees no GPU")
    found = at_hand(options.gemmul8, options.accuracy, auto=True)
    here = {name: method for name, method in found.items() if method.device == device}
    try:
        methods = select(options.methods, here)
    except ValueError as error:
        raise InputError(f"--methods: {error}") from None
    sizes = options.sizes or list(speed.GPU_SIZES if device == "cuda" else speed.CPU_SIZES)
    folder = prepare_output(options)
    machine = describe(device)
    settings = {"device": device, "budget": options.budget, "accuracy": options.accuracy}
    store = RowStore(rows_file(options, folder, "bench"), settings, machine, ("N", "method"))
    say_resumed(store.resumed)
    print(sentence(machine))
    with report_at_the_end(lambda: _report(options, folder, store, methods)):
        left = [(n, m) for n in sizes for m in methods if store.get(N=n, method=m.name) is None]
        for done, (n, method) in enumerate(left):
            with Progress(f"N = {n}, {method.name} ({1 + done} of {len(left)})") as progress:
                progress.report(done / len(left))
                store.add(speed.attempt(method, n, options.budget))
    return 0


# ---- What is shown and written -----------------------------------------------------------------------------


def _report(options: argparse.Namespace, folder: Path | None, store: RowStore, methods: list[Method]) -> None:
    rows = [row for row in store if row["method"] in {method.name for method in methods}]
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
    from ...bench.rows import write_csv, write_json

    labels = {method.name: method.label for method in methods}
    write_json(folder / "bench.json", store.machine, labels=labels, rows=rows)
    write_csv(folder / "bench.csv", rows)
    print(f"wrote {folder / 'bench.json'}, {folder / 'bench.csv'}")
    if not options.no_figures and any("skipped" not in row for row in rows):
        from ...bench.figures import speed as figures

        results = {"machine": store.machine, "labels": labels, "rows": rows}
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
