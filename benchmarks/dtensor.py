"""A small product of DTensors beside torch's own.

    torchrun --nproc-per-node 2 benchmarks/dtensor.py [--sizes 64 256] [--blocks 20] [--most 2.0]
    ... --backend gloo                                  # on CPUs

Microseconds a call on rank 0: "host us" from call to call, "us" with the wait for the device. Exit status 1 where ozfp4.matmul of
the first size takes more than --most times what torch.mm takes.
"""

from __future__ import annotations

import argparse
import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.tensor import init_device_mesh

from ozfp4.bench.scaling.dtensors import dtensor_rows


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 256])
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--most", type=float, default=2.0)
    parser.add_argument("--backend", default="nccl", choices=["nccl", "gloo"])
    asked = parser.parse_args()
    on_gpu = asked.backend == "nccl"
    if on_gpu:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group(asked.backend)
    mesh = init_device_mesh("cuda" if on_gpu else "cpu", (dist.get_world_size(),))
    rows = [row for n in asked.sizes for row in dtensor_rows(mesh, n, asked.blocks)]
    if dist.get_rank() == 0:
        print(f"torch {torch.__version__}, {mesh}")
        for row in rows:
            print("  ".join(f"{name} {value}" for name, value in row.items()), flush=True)
    dist.barrier()
    dist.destroy_process_group()
    return int(is_over(rows, asked.most))


def is_over(rows: list[dict[str, object]], most: float) -> bool:
    """Whether our product of the first size is over the bar."""
    return float(str(rows[1]["x torch"])) > most


if __name__ == "__main__":
    sys.exit(main())
