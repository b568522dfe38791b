"""A product of operands that lie on the host, made by a GPU in tiles, beside the floor that the bus and the products allow.

    python benchmarks/streaming.py [--quick] [--large a b c] [--limit GIB] [--accuracy NAME] [--chunks MIB ...]

The large matrix is 65536 x 65536, the other two have 4096 rows or columns. It is A, B or the result, which overwrites it. Of
each case:

    pageable  as NumPy allocates
    pinned    the same pages after cudaHostRegister, whose time is told by itself
    floor     the longest of: bytes up over the rate of pinned copies (for pageable memory the lesser of this and the rate at
              which threads copy on the host), bytes down likewise, all products on the device with their operands there
    device    the most that torch held at once beyond what it held before, in GiB

All rates are measured in the same run. Every result is checked: blocks of random rows and columns against plain products on the
device, bit for bit; exit status 1 if one differs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

import ozfp4
from ozfp4 import _core
from ozfp4.measure.machine import commit, driver
from ozfp4.streaming import copies

Array = npt.NDArray[Any]
GIB = 2**30
CORES = ozfp4.get_num_threads()
BEGAN = time.perf_counter()


def say(text: str) -> None:
    print(f"{time.perf_counter() - BEGAN:6.1f} s  {text}", flush=True)


def in_threads(work: Any, items: Any, threads: int = CORES) -> None:
    with ThreadPoolExecutor(threads) as pool:
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


def bus_rates() -> tuple[float, float]:
    """Bytes a second of pinned copies to the device and back."""
    host = torch.ones(GIB // 8, dtype=torch.float64, pin_memory=True)
    device = host.cuda()
    up = min(seconds(lambda: device.copy_(host, non_blocking=True)) for _ in range(5))
    down = min(seconds(lambda: host.copy_(device, non_blocking=True)) for _ in range(5))
    return GIB / up, GIB / down


def copy_rate(x: Array, chunk: int) -> float:
    """Bytes a second that threads copy from an array into four small buffers in turn."""
    flat = x.reshape(-1)[: 2**29]
    step = chunk // 8
    buffers = [np.ones(step) for _ in range(4)]

    def copy() -> None:
        for first in range(0, flat.size, step):
            part = flat[first : first + step]
            _core.copy_entries(buffers[first // step % 4][: part.size], part)

    return flat.nbytes / min(seconds(copy) for _ in range(2))


def product_seconds(m: int, n: int, k: int, accuracy: str) -> float:
    """Of the whole product on the device, by tiles of 2048 rows or columns with the other operand prepared."""
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


def case(large: str, arguments: argparse.Namespace, big: Array, rates: dict[str, float]) -> bool:
    """One product; whether its bits are right."""
    side, few, accuracy = len(big), arguments.few, arguments.accuracy
    limit = int(arguments.limit * GIB)
    if large == "a":
        a, b, c = big, filled(side, few, 2), np.zeros((side, few))
    elif large == "b":
        a, b, c = filled(few, side, 2), big, np.zeros((few, side))
    else:
        a, b, c = filled(side, few, 2), filled(few, side, 3), big
    (m, k), n = a.shape, b.shape[1]
    product = product_seconds(m, n, k, accuracy)
    up, down = a.nbytes + b.nbytes, c.nbytes
    torch.cuda.empty_cache()
    say(f"{large}: {m} x {n} x {k}, products alone {product:.3f} s")
    good = True
    for kind in ("pageable", "pinned"):
        rate_up, rate_down = rates["up"], rates["down"]
        if kind == "pinned":
            took = sum(register(x) for x in (a, b, c))
            say(f"{large}: cudaHostRegister of {(up + down) / 1e9:.1f} GB in {took:.2f} s")
        else:
            rate_up, rate_down = min(rate_up, rates["copy"]), min(rate_down, rates["copy"])
        floor = max(up / rate_up, down / rate_down, product)
        for chunk in arguments.chunks if kind == "pageable" else [copies.CHUNK / 2**20]:
            copies.CHUNK = int(chunk * 2**20)
            c[::511] = np.nan
            found = [streamed(a, b, c, limit, accuracy) for _ in range(arguments.repeats)]
            right = check(a, b, c, accuracy)
            good = good and right
            best = min(time for time, _ in found)
            row = {
                "large": large, "memory": kind, "m": m, "n": n, "k": k, "accuracy": accuracy,
                "chunk MiB": chunk, "seconds": [round(time, 4) for time, _ in found], "floor": round(floor, 4),
                "of floor": round(floor / best, 3), "TFLOPS": round(2e-12 * m * n * k / best, 1),
                "limit GiB": arguments.limit, "device GiB": round(max(x for _, x in found), 2), "bits": right,
            }  # fmt: skip
            say(json.dumps(row))
        if kind == "pinned":
            for x in (a, b, c):
                torch.cuda.cudart().cudaHostUnregister(x.ctypes.data)
    return good


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="8192 and 1024 in place of 65536 and 4096")
    parser.add_argument("--large", nargs="+", choices="abc", default=["a"])
    parser.add_argument("--limit", type=float, help="GiB on the device; 24, or 0.375 with --quick")
    parser.add_argument("--accuracy", default="standard")
    parser.add_argument("--chunks", type=float, nargs="+", default=[copies.CHUNK / 2**20])
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    side, arguments.few = (8192, 1024) if arguments.quick else (65536, 4096)
    arguments.limit = arguments.limit or (0.375 if arguments.quick else 24)
    say(f"{torch.cuda.get_device_name()}, {driver()}, commit {commit()}, {CORES} threads")
    big = filled(side, side, 1)
    say(f"{big.nbytes / 1e9:.1f} GB filled")
    up, down = bus_rates()
    copied = {chunk: copy_rate(big, chunk * 2**20) for chunk in (8, 16, 32)}
    for chunk, rate in copied.items():
        say(f"host copies, {chunk} MiB at a time: {rate / 1e9:.1f} GB/s")
    rates = {"up": up, "down": down, "copy": max(copied.values())}
    say(f"GB/s: {json.dumps({name: round(rate / 1e9, 1) for name, rate in rates.items()})}")
    good = [case(large, arguments, big, rates) for large in arguments.large]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
