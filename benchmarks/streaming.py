"""A product of operands that lie on the host, made by a GPU in tiles, compared with the floor of the bus and the products.

    python benchmarks/streaming.py [--quick] [--large a b c] [--limit GIB] [--accuracy NAME] [--chunks MIB ...] [-o FOLDER]

The large matrix is 65536 x 65536, the other two have 4096 rows or columns. It is A, B or the result, which overwrites it.
Columns of each case:

    pageable  as NumPy allocates
    pinned    the same pages after cudaHostRegister, which is timed separately
    floor     the longest of: bytes up over the rate of pinned copies (for pageable memory the lesser of this and the rate at
              which threads copy on the host), bytes down likewise, all products on the device with their operands there
    device    the most that torch held at once beyond what it held before, in GiB

All rates are measured in the same run; of the copies on the host, the best of 8, 16 and 32 MiB at a time. Every result is
checked: blocks of random rows and columns against plain products on the device, bit for bit; exit status 1 if one differs.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

import ozfp4
from common import experiment
from common.experiment import Row
from ozfp4 import _core
from ozfp4._streaming import copies

Array = npt.NDArray[Any]
GIB = 2**30
CORES = ozfp4.get_num_threads()


def in_threads(work: Callable[[Any], object], items: Iterable[Any]) -> None:
    with ThreadPoolExecutor(CORES) as pool:
        list(pool.map(work, items))


def filled(rows: int, columns: int, seed: int) -> Array:
    """Normal numbers: a block of rows again and again, times a power of two of each copy, written by all threads."""
    some = min(rows, max(1, 2**25 // columns))
    generator = torch.Generator("cuda").manual_seed(seed)
    block = torch.randn(some, columns, generator=generator, dtype=torch.float64, device="cuda").cpu().numpy()
    x = np.empty((rows, columns))

    def fill(first: int) -> None:
        part = x[first : first + some]
        np.multiply(block[: len(part)], 2.0 ** (first // some % 7), out=part)

    in_threads(fill, range(0, rows, some))
    return x


def seconds(work: Any) -> float:
    torch.cuda.synchronize()
    began = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - began


def rates_of(x: Array) -> dict[str, float]:
    """Bytes a second of pinned copies to the device and back, and of threads that copy parts of an array to four small buffers,
    by their best size."""
    host = torch.ones(GIB // 8, dtype=torch.float64, pin_memory=True)
    device = host.cuda()
    up = min(seconds(lambda: device.copy_(host, non_blocking=True)) for _ in range(5))
    down = min(seconds(lambda: host.copy_(device, non_blocking=True)) for _ in range(5))
    flat = x.reshape(-1)[: 2**29]

    def copy(step: int, buffers: list[Array]) -> None:
        for first in range(0, flat.size, step):
            part = flat[first : first + step]
            _core.copy_entries(buffers[first // step % 4][: part.size], part)

    taken = []
    for step in (2**20, 2**21, 2**22):  # entries
        buffers = [np.ones(step) for _ in range(4)]
        taken += [seconds(partial(copy, step, buffers)) for _ in range(2)]
    return {"up": GIB / up, "down": GIB / down, "copy": flat.nbytes / min(taken)}


def product_seconds(m: int, n: int, k: int, accuracy: str) -> float:
    """The seconds of the whole product on the device, by tiles of 2048 rows or columns with the other operand prepared."""
    resident, strip = min(m, n, 4096), min(max(m, n), 2048)
    kept = ozfp4.prepare(
        torch.randn(k, resident, dtype=torch.float64, device="cuda"), "right", accuracy=accuracy
    )
    a = torch.randn(strip, k, dtype=torch.float64, device="cuda")
    out = torch.empty(strip, resident, dtype=torch.float64, device="cuda")
    ozfp4.matmul(a, kept, out=out, accuracy=accuracy)
    times = [seconds(lambda: ozfp4.matmul(a, kept, out=out, accuracy=accuracy)) for _ in range(5)]
    return statistics.median(times) * m * n / (strip * resident)


def check(a: Array, b: Array, c: Array, accuracy: str) -> bool:
    """Blocks of 64 random rows and columns."""
    random = np.random.default_rng(1)
    for _ in range(4):
        rows, columns = (np.sort(random.integers(0, extent, 64)) for extent in c.shape)
        x, y = torch.from_numpy(a[rows]).cuda(), torch.from_numpy(b[:, columns]).cuda()
        expected = ozfp4.matmul(x, y, accuracy=accuracy).cpu().numpy()
        if not np.array_equal(c[np.ix_(rows, columns)].view(np.int64), expected.view(np.int64)):
            return False
    return True


def streamed(a: Array, b: Array, out: Array, limit: int, accuracy: str) -> tuple[float, float]:
    """Seconds of a product, and the most GiB on the device."""
    held = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    took = seconds(
        lambda: ozfp4.matmul(a, b, out=out, device="cuda", workspace_limit=limit, accuracy=accuracy)
    )
    return took, (torch.cuda.max_memory_allocated() - held) / GIB


def register(x: Array) -> float:
    """Pin pages in place; seconds that it takes."""
    began = time.perf_counter()
    status = torch.cuda.cudart().cudaHostRegister(x.ctypes.data, x.nbytes, 0)
    if int(status) != 0:
        raise RuntimeError(f"cudaHostRegister: {status}")
    return time.perf_counter() - began


def case(
    large: str, options: argparse.Namespace, few: int, limit: float, big: Array, rates: dict[str, float]
) -> Iterator[Row]:
    """Rows of one product."""
    side, accuracy = len(big), options.accuracy
    if large == "a":
        a, b, c = big, filled(side, few, 2), np.zeros((side, few))
    elif large == "b":
        a, b, c = filled(few, side, 2), big, np.zeros((few, side))
    else:
        a, b, c = filled(side, few, 2), filled(few, side, 3), big
    (m, k), n = a.shape, b.shape[1]
    product = product_seconds(m, n, k, accuracy)
    torch.cuda.empty_cache()
    for kind in ("pageable", "pinned"):
        up, down, pinning = rates["up"], rates["down"], 0.0
        if kind == "pinned":
            pinning = sum(register(x) for x in (a, b, c))
        else:
            up, down = min(up, rates["copy"]), min(down, rates["copy"])
        floor = max((a.nbytes + b.nbytes) / up, c.nbytes / down, product)
        for chunk in options.chunks if kind == "pageable" else [copies.CHUNK / 2**20]:
            copies.CHUNK = int(chunk * 2**20)
            c[::511] = np.nan
            found = [streamed(a, b, c, int(limit * GIB), accuracy) for _ in range(options.repeats)]
            best = min(time for time, _ in found)
            yield {
                "large": large, "memory": kind, "m": m, "n": n, "k": k, "accuracy": accuracy, "chunk MiB": chunk,
                "seconds": round(best, 4), "products alone": round(product, 4), "floor": round(floor, 4),
                "of floor": round(floor / best, 3), "TFLOPS": round(2e-12 * m * n * k / best, 1),
                "pinning": round(pinning, 2), "limit GiB": limit, "device GiB": round(max(x for _, x in found), 2),
                "bits": check(a, b, c, accuracy),
            }  # fmt: skip
        if kind == "pinned":
            for x in (a, b, c):
                torch.cuda.cudart().cudaHostUnregister(x.ctypes.data)


def rows_of(options: argparse.Namespace) -> Iterator[Row]:
    side, few = (8192, 1024) if options.quick else (65536, 4096)
    big = filled(side, side, 1)
    rates = rates_of(big)
    print("GB/s: " + ", ".join(f"{name} {rate / 1e9:.1f}" for name, rate in rates.items()), flush=True)
    for large in options.large:
        yield from case(large, options, few, options.limit or (0.375 if options.quick else 24), big, rates)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quick", action="store_true", help="8192 and 1024 in place of 65536 and 4096")
    parser.add_argument("--large", nargs="+", choices="abc", default=["a"])
    parser.add_argument("--limit", type=float, help="GiB on the device; 24, or 0.375 with --quick")
    parser.add_argument("--accuracy", default="standard")
    parser.add_argument("--chunks", type=float, nargs="+", default=[copies.CHUNK / 2**20])
    parser.add_argument("--repeats", type=int, default=3)
    experiment.add_output_arguments(parser, figures=False)


def run(options: argparse.Namespace) -> int:
    rows = experiment.collect(
        options, "streaming", "Streamed products, seconds", "cuda", rows_of(options), left=2
    )
    return int(not all(row["bits"] for row in rows))


main = experiment.program(__file__, __doc__, add_arguments, run)

if __name__ == "__main__":
    sys.exit(main())
