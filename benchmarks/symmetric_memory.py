"""Another GPU's half of an operand by torch's symmetric memory, beside NCCL's all-gather of it.

    export NCCL_NVLS_ENABLE=0 TORCH_SYMM_MEM_DISABLE_MULTICAST=1
    torchrun --nproc-per-node 2 benchmarks/symmetric_memory.py [--sizes N ...]

GB a second that a rank receives of an N x N float64 matrix, of which each rank has the same number of rows; medians over CUDA
events of the slowest rank.

    gather   NCCL's all_gather_into_tensor
    peer     copies from the other ranks' symmetric memory, where the rows lie already
    whole    these with what an operand needs that lies elsewhere: its copy into symmetric memory, and a barrier on either side

What arrived is compared bit for bit.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Callable

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symmetric

from ozfp4.bench.provenance import commit, driver

REPEATS = 20


def milliseconds(work: Callable[[], None], device: torch.device) -> float:
    """The median of what the slowest rank takes, from a barrier on."""
    found = []
    for _ in range(3 + REPEATS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        dist.barrier()
        start.record()
        work()
        end.record()
        end.synchronize()
        slowest = torch.tensor(start.elapsed_time(end), dtype=torch.float64, device=device)
        dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
        found.append(float(slowest))
    return statistics.median(found[3:])


def measure(n: int, device: torch.device) -> dict[str, float]:
    rank, ranks = dist.get_rank(), dist.get_world_size()
    rows = n // ranks
    generator = torch.Generator(device).manual_seed(rank)
    own = torch.randn(rows, n, dtype=torch.float64, device=device, generator=generator)
    gathered, copied = (
        torch.full((ranks, rows, n), float("nan"), dtype=own.dtype, device=device) for _ in "ab"
    )
    shared = symmetric.empty((rows, n), dtype=own.dtype, device=device)
    handle = symmetric.rendezvous(shared, dist.group.WORLD.group_name)
    others = [(peer, handle.get_buffer(peer, (rows, n), own.dtype)) for peer in range(ranks) if peer != rank]

    def gather() -> None:
        dist.all_gather_into_tensor(gathered.view(-1, n), own)

    def peer() -> None:
        for other, rows_there in others:
            copied[other].copy_(rows_there)

    def whole() -> None:
        shared.copy_(own)
        handle.barrier()
        peer()
        handle.barrier()

    received = 8 * n * rows * (ranks - 1)
    rates = {work.__name__: received / milliseconds(work, device) / 1e6 for work in (gather, whole, peer)}
    copied[rank].copy_(own)
    if not torch.equal(gathered, copied):
        raise RuntimeError(f"N = {n}: the two ways brought different bits")
    return rates


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[8192, 16384, 32768])
    asked = parser.parse_args()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    if dist.get_rank() == 0:
        print(
            f"{torch.cuda.get_device_name(device)}, {driver()}, torch {torch.__version__}, commit {commit()}"
        )
    for n in asked.sizes:
        rates = measure(n, device)
        if dist.get_rank() == 0:
            print(
                f"N = {n}: " + ", ".join(f"{name} {rate:.0f} GB/s" for name, rate in rates.items()),
                flush=True,
            )
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
