"""Products over several GPUs: bits of small ones over all layouts, then times of large ones beside one GPU.

    torchrun --nproc-per-node 2 benchmarks/distributed.py [--check 400] [--sizes 32768] [--repeat 5] [--results rows] [--out FILE]
    ... --backend gloo --sizes 512                      # on CPUs

Each row is n x n x n by one pair of layouts: milliseconds of the slowest rank from a barrier to the end of what its device does,
medians; "one": the same product on one GPU in the same run; "moving": what it takes to move the operands alone, and its share of
the whole, most of which is hidden under products where pieces travel ahead. A layout that a method does not serve is skipped and
says why. Exit status 1 where a bit differs.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from datetime import timedelta

import torch
import torch.distributed as dist

from ozfp4.bench.provenance import commit
from ozfp4.bench.scaling.products import Ranks, give_back, host_names, scaling_rows, small_rows
from ozfp4.bench.scaling.small import check


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", type=int, default=400, help="small products whose bits are compared")
    parser.add_argument("--sizes", type=int, nargs="*", default=[32768])
    parser.add_argument("--results", nargs="*", default=["rows"], choices=["rows", "columns", "replicated"])
    parser.add_argument("--methods", nargs="*", default=["auto"], choices=["auto", "redistribute", "reduce"])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--backend", default="nccl", choices=["nccl", "gloo"])
    parser.add_argument("--out", help="where to write the rows, as JSON")
    return parser.parse_args()


def main() -> int:
    asked = arguments()
    on_gpu = asked.backend == "nccl"
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(device)
    dist.init_process_group(asked.backend, timeout=timedelta(seconds=300))
    ranks = Ranks(dist.get_rank(), dist.get_world_size(), device, names=host_names())
    wrong = check(ranks.rank, ranks.size, device, range(asked.check))
    for line in wrong:
        print("WRONG", line, flush=True)
    is_wrong = ranks.slowest(float(len(wrong))) > 0
    rows = small_rows(ranks, 64, 50)
    for n in asked.sizes:
        for result in asked.results:
            for method in asked.methods:
                rows += scaling_rows(ranks, n, asked.repeat, method, result)
                give_back(device)
    if ranks.rank == 0:
        print(f"{asked.check} small products: {'bits DIFFER' if is_wrong else 'all bits equal'}")
        for row in rows:
            print(json.dumps(row))
        if asked.out:
            name = torch.cuda.get_device_name(device) if on_gpu else "cpu"
            with open(asked.out, "w", encoding="utf-8") as file:
                json.dump(
                    {"commit": commit(), "device": name, "ranks": ranks.size, "rows": rows}, file, indent=1
                )
    dist.destroy_process_group()
    return int(is_wrong or not all(row.get("bits equal", True) for row in rows))


if __name__ == "__main__":
    sys.exit(main())
