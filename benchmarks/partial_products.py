"""Products whose operands are cut along K over several GPUs, by both ways: times beside one GPU, bits of both compared.

    torchrun --nproc-per-node 2 benchmarks/partial_products.py [--shapes 32768x32768x32768 2048x1048576x2048] [--repeat 3]
    ... --backend gloo --shapes 300x5000x300            # on CPUs

Each line is m x K x n: milliseconds of the slowest rank from a barrier to the end of what its device does, medians. "one": a
product of the same shape on one GPU, of operands of the same distribution. Exit status 1 where the ways differ in a bit.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

import ozfp4
import ozfp4.distributed
from ozfp4.distributed.layout import chunk_sizes

METHODS = ("reduce", "redistribute")


def milliseconds(device: Any, run: Callable[[], Any], repeat: int) -> float:
    """The median over repetitions, each that of the slowest rank."""
    found = []
    for _ in range(repeat + 1):
        wait(device)
        dist.barrier()
        began = time.perf_counter()
        run()
        wait(device)
        seconds = torch.tensor(time.perf_counter() - began, device=device)
        dist.all_reduce(seconds, dist.ReduceOp.MAX)
        found.append(1e3 * seconds.item())
    return statistics.median(found[1:])


def wait(device: Any) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def on_one(device: Any, shape: tuple[int, int, int], accuracy: str, repeat: int) -> float:
    """Milliseconds on each GPU by itself, or infinity where its memory is too small."""
    m, k, n = shape
    found, fits = float("inf"), torch.ones((), device=device)
    operands: list[Any] = []
    try:
        operands = [
            torch.randn((m, k), dtype=torch.float64, device=device),
            torch.randn((k, n), dtype=torch.float64, device=device),
        ]
        ozfp4.matmul(*operands, accuracy=accuracy)
    except (MemoryError, torch.cuda.OutOfMemoryError):
        fits.zero_()
    dist.all_reduce(fits, dist.ReduceOp.MIN)
    if fits.item():
        found = milliseconds(device, lambda: ozfp4.matmul(*operands, accuracy=accuracy), repeat)
    return found


def on_all(
    device: Any, shape: tuple[int, int, int], accuracy: str, repeat: int
) -> tuple[dict[str, float], bool]:
    """Milliseconds by each way, and whether all ranks have the same bits by both."""
    m, k, n = shape
    own = chunk_sizes(k, dist.get_world_size())[dist.get_rank()]
    torch.manual_seed(dist.get_rank())
    a = torch.randn((m, own), dtype=torch.float64, device=device)
    b = torch.randn((own, n), dtype=torch.float64, device=device)
    times, results = {}, []
    for method in METHODS:

        def run(method: str = method) -> Any:
            return ozfp4.distributed.matmul(
                a, b, layout=("columns", "rows"), method=method, accuracy=accuracy
            )

        results.append(run())
        times[method] = milliseconds(device, run, repeat)
        if device.type == "cuda":
            torch.cuda.empty_cache()
    same = torch.tensor(
        torch.equal(*(x.view(torch.int64) for x in results)), dtype=torch.int32, device=device
    )
    dist.all_reduce(same, dist.ReduceOp.MIN)
    return times, bool(same.item())


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shapes", nargs="*", default=["32768x32768x32768", "2048x1048576x2048"])
    parser.add_argument("--accuracies", nargs="*", default=["standard", "correct"])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--backend", default="nccl", choices=["nccl", "gloo"])
    asked = parser.parse_args()
    device = torch.device("cpu")
    if asked.backend == "nccl":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    dist.init_process_group(asked.backend, timeout=timedelta(seconds=300))
    status = 0
    for text in asked.shapes:
        m, k, n = (int(extent) for extent in text.split("x"))
        for accuracy in asked.accuracies:
            one = on_one(device, (m, k, n), accuracy, asked.repeat)
            if device.type == "cuda":
                torch.cuda.empty_cache()
            times, same = on_all(device, (m, k, n), accuracy, asked.repeat)
            status |= not same
            if dist.get_rank() == 0:
                ways = ", ".join(f"{name} {ms:.1f} ms ({one / ms:.2f} x one)" for name, ms in times.items())
                print(f"{text} {accuracy}: one {one:.1f} ms, {ways}, same bits {same}", flush=True)
            if device.type == "cuda":
                torch.cuda.empty_cache()
    dist.destroy_process_group()
    return status


if __name__ == "__main__":
    raise SystemExit(main())
