"""Strong and weak scaling of products over the ranks that torchrun started; rank 0 prints and writes it.

Over the GPUs, else over CPU processes; next to it the model of local products and moving data. Every row is compared
with the product of the rank's rows on its own device; exit status 1 where a bit differs.

  torchrun --nproc-per-node 2 benchmarks/scaling.py -o results
  torchrun --nproc-per-node 2 benchmarks/scaling.py --quick --device cpu
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import nullcontext
from datetime import timedelta
from typing import Any

from cluster import measure
from cluster.measure import Job, with_model
from cluster.products import Ranks, give_back, host_names
from common import experiment
from common.experiment import Row
from ozfp4._cli import InputError
from ozfp4._measure.machine import describe, have_cuda, have_torch, sentence

SIZES = {"cuda": (8192, 16384, 32768), "cpu": (512, 1024)}
QUICK_SIZES = {"cuda": (4096, 8192), "cpu": (256,)}
REPEAT, QUICK_REPEAT = 3, 2
TIMEOUT = timedelta(seconds=600)  # those that are in no group of a product wait so long for one
HOW = "torchrun --nproc-per-node 2 benchmarks/scaling.py"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    experiment.add_device_argument(parser)
    experiment.add_sizes_argument(parser, "default 8192 to 32768; on CPUs 512, 1024")
    parser.add_argument(
        "--scaling",
        nargs="+",
        choices=("strong", "weak"),
        default=("strong", "weak"),
        help="N x N x N, or N rows for each rank; default both",
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, few repeats")
    experiment.add_output_arguments(parser, figures=False)


def run(options: argparse.Namespace) -> int:
    """Measure on all ranks; print and write on the first."""
    try:
        rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    except (KeyError, ValueError):
        raise InputError(f"no ranks here; start it with: {HOW}") from None
    try:
        name = _checked(options, ranks)
    except InputError:
        if rank:  # one complaint is enough
            return 2
        raise
    import torch
    import torch.distributed as dist

    device = (
        torch.device(name, int(os.environ.get("LOCAL_RANK", "0"))) if name == "cuda" else torch.device(name)
    )
    if name == "cuda":
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if name == "cuda" else "gloo", timeout=TIMEOUT)
    try:
        return _measure(options, Ranks(rank, ranks, device, names=host_names()))
    finally:
        dist.destroy_process_group()


def _checked(options: argparse.Namespace, ranks: int) -> str:
    """The device; InputError with what is missing."""
    if not have_torch():
        raise InputError("torch is not installed")
    import torch

    if not torch.distributed.is_available():
        raise InputError("this build of torch has no torch.distributed")
    if ranks < 2:
        raise InputError(f"{ranks} rank does not scale; start it with: {HOW}")
    seen, here = (
        torch.cuda.device_count() if have_cuda() else 0,
        int(os.environ.get("LOCAL_WORLD_SIZE", ranks)),
    )
    if options.device == "cuda" and seen < here:
        raise InputError(f"--device: cuda: torch sees {seen} GPUs, and {here} ranks are here, each with one")
    device = experiment.device_of(options)
    experiment.prepare_output(options)
    return device


def _measure(options: argparse.Namespace, everybody: Ranks) -> int:
    """The exit status: 1 on the first rank where a bit differs."""
    import torch.distributed as dist

    rank, ranks, device = everybody.rank, everybody.size, everybody.device.type
    handles = {size: dist.new_group(list(range(size))) for size in measure.group_sizes(ranks)}
    sizes = options.sizes or list((QUICK_SIZES if options.quick else SIZES)[device])
    repeat = QUICK_REPEAT if options.quick else REPEAT
    rows: list[Row] = []
    machine = describe(device) | {"ranks": ranks}
    if rank == 0:
        print(f"{ranks} ranks of {sentence(machine)}")
    report = (
        experiment.report_at_the_end(lambda: _report(options, machine, rows)) if rank == 0 else nullcontext()
    )
    with report:
        for job in measure.jobs(sizes, ranks, options.scaling):
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


def _report(options: argparse.Namespace, machine: Row, rows: list[Row]) -> None:
    rows = with_model(rows, "cuda" if "cuda" in machine else "cpu")
    links = ("ranks", "all-gather GB/s", "all-to-all GB/s", "start us", "memory GB/s")
    experiment.show_rows(
        "What a rank receives, and copies in its memory",
        [{name: row[name] for name in links} for row in rows if row["kind"] == "links"],
    )
    for kind, title in (
        ("strong", "Strong scaling: N x N x N over all ranks, times faster than on one"),
        ("weak", "Weak scaling: N rows of A for each rank, N x N of B"),
    ):
        here = [row for row in rows if row["kind"] in (kind, "one") and "ms" in row]
        if any(row["kind"] == kind for row in here):
            experiment.show_rows(title, map(_shown, here))
    for row in rows:
        where = f"{row['kind']} N = {row['N']}, {row['ranks']} ranks, {_case(row)}"
        if "skipped" in row:
            print(f"skipped {where}: {row['skipped']}")
        if row.get("bits equal") is False:
            print(f"BITS DIFFER: {where}")
    experiment.write_results(options, "scaling", machine, {"rows": rows}, rows)


def _case(row: Row) -> str:
    words = f"a {row['a']}, b {row['b']}"
    return words if row["method"] == "auto" else f"{words}, {row['method']}"


def _shown(row: Row) -> Row:
    cells: Row = {"": "one rank" if row["kind"] == "one" else _case(row)}
    cells |= {name: row[name] for name in ("N", "ranks", "ms", "TFLOPS")}
    if "efficiency" in row:
        cells |= {"×": f"{row['speed-up']:.2f}", "of ranks": f"{row['efficiency']:.0%}"}
    if "model ms" in row:
        cells |= {"received GB": row["received GB"], "model ms": row["model ms"]}
        cells |= {"over model": f"{row['percent']:+.1f} %", "hidden": f"{row['hidden']:.0%}"}
    return cells


main = experiment.program(__file__, __doc__, add_arguments, run)

if __name__ == "__main__":
    sys.exit(main())
