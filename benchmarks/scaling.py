"""Strong and weak scaling of products over the ranks that torchrun started, told and written by rank 0.

Over the GPUs, else over CPU processes; beside it what a model of local products and of what moves says. Every row is compared
with the product of the rank's rows on its own device; exit status 1 where a bit differs.

  torchrun --nproc-per-node 2 benchmarks/scaling.py -o results
  torchrun --nproc-per-node 2 benchmarks/scaling.py --quick --device cpu
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any

from cluster import measure
from cluster.measure import Job, with_model
from cluster.products import Ranks, give_back, host_names
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
from figures import scaling as figures
from ozfp4.cli.errors import InputError
from ozfp4.cli.numbers import positive
from ozfp4.cli.tables import show
from ozfp4.measure.machine import describe, have_cuda, have_torch, sentence

SIZES = {"cuda": (8192, 16384, 32768), "cpu": (512, 1024)}
QUICK_SIZES = {"cuda": (4096, 8192), "cpu": (256,)}
REPEAT, QUICK_REPEAT = 3, 2
TIMEOUT = timedelta(seconds=600)  # those that are in no group of a product wait so long for one
HOW = "torchrun --nproc-per-node 2 benchmarks/scaling.py"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", choices=("cpu", "cuda"), help="default: cuda if torch has it, else cpu")
    parser.add_argument(
        "--sizes", type=positive, nargs="+", metavar="N", help="default 8192 to 32768; on CPUs 512, 1024"
    )
    parser.add_argument(
        "--scaling",
        nargs="+",
        choices=("strong", "weak"),
        default=("strong", "weak"),
        help="N x N x N, or N rows for each rank; default both",
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, few repeats")
    add_output_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Measure on all ranks; print and write on the first."""
    rank, ranks = _place()
    try:
        device, folder = _checked(options, ranks)
    except InputError:
        if rank:  # one complaint is enough
            return 2
        raise
    import torch
    import torch.distributed as dist

    if device == "cuda":
        torch.cuda.set_device(_local_rank())
    dist.init_process_group("nccl" if device == "cuda" else "gloo", timeout=TIMEOUT)
    try:
        where = torch.device("cuda", _local_rank()) if device == "cuda" else torch.device("cpu")
        return _measure(options, folder, rank, ranks, where)
    finally:
        dist.destroy_process_group()


def _place() -> tuple[int, int]:
    """This rank and how many there are; InputError outside torchrun."""
    try:
        return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    except (KeyError, ValueError):
        raise InputError(f"no ranks here; start it with: {HOW}") from None


def _local_rank() -> int:
    return int(os.environ.get("LOCAL_RANK", "0"))


def _checked(options: argparse.Namespace, ranks: int) -> tuple[str, Path | None]:
    """The device and the output folder; InputError with what is missing."""

    if not have_torch():
        raise InputError("torch is not installed")
    import torch

    if not torch.distributed.is_available():
        raise InputError("this build of torch has no torch.distributed")
    if ranks < 2:
        raise InputError(f"{ranks} rank does not scale; start it with: {HOW}")
    device = options.device or ("cuda" if have_cuda() else "cpu")
    if device == "cuda":
        seen = torch.cuda.device_count() if have_cuda() else 0
        here = int(os.environ.get("LOCAL_WORLD_SIZE", ranks))
        if seen < here:
            raise InputError(
                f"--device: cuda: torch sees {seen} GPUs, and {here} ranks are here, each with one"
            )
    return device, prepare_output(options)


def _measure(options: argparse.Namespace, folder: Path | None, rank: int, ranks: int, device: Any) -> int:
    """The exit status: 1 on the first rank where a bit differs."""
    import torch.distributed as dist

    handles = {size: dist.new_group(list(range(size))) for size in measure.group_sizes(ranks)}
    sizes = options.sizes or list((QUICK_SIZES if options.quick else SIZES)[device.type])
    repeat = QUICK_REPEAT if options.quick else REPEAT
    jobs = measure.jobs(sizes, ranks, options.scaling)
    rows: list[Row] = []
    machine = describe(device.type) | {"ranks": ranks}
    if rank == 0:
        print(f"{ranks} ranks of {sentence(machine)}")
    everybody = Ranks(rank, ranks, device, names=host_names())
    with report_at_the_end(lambda: _report(options, folder, machine, rows)) if rank == 0 else nullcontext():
        for job in jobs:
            _one(everybody, handles, job, repeat, rows)
    return int(rank == 0 and any(row.get("bits equal") is False for row in rows))


def _one(everybody: Ranks, handles: dict[int, Any], job: Job, repeat: int, rows: list[Row]) -> None:
    """One row, while those that are not in its group wait."""

    here = measure.on_group(everybody, handles, job)
    if here is not None:
        rows.append(measure.row(here, job, repeat))
        give_back(here.device)
    everybody.wait()


# ---- What is shown and written -----------------------------------------------------------------------------


def _report(options: argparse.Namespace, folder: Path | None, machine: Row, rows: list[Row]) -> None:
    rows = with_model(rows, "cuda" if "cuda" in machine else "cpu")
    if not rows:
        return
    _show_links([row for row in rows if row["kind"] == "links"])
    for kind, title in (
        ("strong", "Strong scaling: N x N x N over all ranks, times faster than on one"),
        ("weak", "Weak scaling: N rows of A for each rank, N x N of B"),
    ):
        _show_products(title, [row for row in rows if row["kind"] in (kind, "one") and "ms" in row])
    for row in rows:
        if "skipped" in row:
            print(
                f"skipped {row['kind']} N = {row['N']}, {row['ranks']} ranks, {_case(row)}: {row['skipped']}"
            )
    for row in rows:
        if row.get("bits equal") is False:
            print(f"BITS DIFFER: {row['kind']} N = {row['N']}, {row['ranks']} ranks, {_case(row)}")
    if folder is not None:
        write_json(folder / "scaling.json", machine, rows=rows)
        write_csv(folder / "scaling.csv", rows)
        print(f"wrote {folder / 'scaling.json'}, {folder / 'scaling.csv'}")
        if not options.no_figures and any("model ms" in row for row in rows):
            draw(folder, [("scaling", figures.measured({"machine": machine, "rows": rows}))])


def _case(row: Row) -> str:
    words = f"a {row['a']}, b {row['b']}"
    return words if row["method"] == "auto" else f"{words}, {row['method']}"


def _show_links(rows: list[Row]) -> None:
    names = ("all-gather GB/s", "all-to-all GB/s", "start us", "memory GB/s")
    lines = [[str(row["ranks"]), *(f"{row[name]:.4g}" for name in names)] for row in rows]
    if lines:
        show("What a rank receives, and copies in its memory", ["ranks", *names], lines)


def _show_products(title: str, rows: list[Row]) -> None:
    lines = []
    for row in rows:
        cells = [str(row["N"]), str(row["ranks"]), f"{row['ms']:.4g}", f"{row['TFLOPS']:.3g}"]
        if "efficiency" in row:
            cells += [f"{row['speed-up']:.2f}", f"{row['efficiency']:.0%}"]
        if "model ms" in row:
            cells += [
                f"{row['received GB']:.3g}",
                f"{row['model ms']:.4g}",
                f"{row['percent']:+.1f} %",
                f"{row['hidden']:.0%}",
            ]
        lines.append(["one rank" if row["kind"] == "one" else _case(row), *cells, *[""] * (10 - len(cells))])
    if any(row["kind"] != "one" for row in rows):
        heads = [
            "",
            "N",
            "ranks",
            "ms",
            "TFLOPS",
            "×",
            "of ranks",
            "received GB",
            "model ms",
            "over model",
            "hidden",
        ]
        show(title, heads, lines)


def main(arguments: Sequence[str] | None = None) -> int:
    return run_program("scaling.py", __doc__, add_arguments, run, arguments)


if __name__ == "__main__":
    sys.exit(main())
