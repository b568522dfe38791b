"""The bandwidth of memory, measured."""

from __future__ import annotations

import statistics
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import ozfp4
from ozfp4._measure.clocks import event_times
from ozfp4._request.library import require_torch


def copy_bandwidth(device: str, size: int = 2**27) -> float:
    """Bytes a second, read plus written, of a copy: of 4 GiB on a GPU, on the CPU of `size` bytes by each of all threads."""
    if device == "cuda":
        torch = require_torch()
        x = torch.empty(2**29, dtype=torch.float64, device="cuda").normal_()
        y = torch.empty_like(x)
        return 2e3 * float(x.nbytes) / statistics.median(event_times(lambda: y.copy_(x), 0.3))
    threads = ozfp4.get_num_threads()
    pairs = [(np.ones(size // 8), np.zeros(size // 8)) for _ in range(threads)]
    taken = []
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(7):
            start = time.perf_counter()
            list(pool.map(lambda pair: np.copyto(pair[1], pair[0]), pairs))  # releases the interpreter's lock
            taken.append(time.perf_counter() - start)
    return 2 * threads * size / statistics.median(taken[1:])
