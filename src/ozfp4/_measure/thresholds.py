"""Measuring from which extent on products gain over a device's own library: for ``ozfp4 exec`` and ``ozfp4.emulate``."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from .._api.matmul import matmul
from .._request.library import require_torch
from . import clocks
from .kept import NEVER

DTYPES = ("float32", "float64", "complex64", "complex128")
SIZES = (256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192)
MARGIN = 1.1  # native has to take so many times as long as ours
LONGEST = 0.5  # seconds of a native product that is measured
LARGEST_ON_CPU = 4096  # three matrices of complex128 take 0.8 GB
Product = Callable[[], object]


def measure(index: int | None) -> dict[str, int | None]:
    """The least extent of each dtype that gains; None: no size does. `index`: of a CUDA device, which must be torch's current
    one; None: the CPU."""
    device, clock = ("cpu", time.perf_counter) if index is None else ("cuda", _gpu_clock)
    return {dtype: _threshold(partial(_products, device, dtype), clock, index is None) for dtype in DTYPES}


def _threshold(
    products: Callable[[int], tuple[Product, Product]], clock: Callable[[], float], on_cpu: bool
) -> int | None:
    """By bisection, as ours gains with each extent on native: what is done for an entry is shared by more multiplications."""
    native, _ = products(SIZES[0])
    first = _seconds(native, clock)
    sizes = [
        n for n in SIZES if first * (n / SIZES[0]) ** 3 <= LONGEST and not (on_cpu and n > LARGEST_ON_CPU)
    ]

    def gains(n: int) -> bool:
        native, ours = products(n)
        return _seconds(ours, clock) * MARGIN <= _seconds(native, clock)

    low, high = 0, len(sizes)  # sizes below low do not gain, those from high on do, or are not measured
    if not sizes or not gains(sizes[-1]):
        return None
    high -= 1
    while low < high:
        middle = (low + high) // 2
        if gains(sizes[middle]):
            high = middle
        else:
            low = middle + 1
    return sizes[high]


def _seconds(product: Product, clock: Callable[[], float]) -> float:
    """The least of three, after one that may test its kernel; of a long one the first."""
    product()
    best = float("inf")
    for _ in range(3):
        began = clock()
        product()
        best = min(best, clock() - began)
        if best > LONGEST / 5:
            break
    return best


def _products(device: str, dtype: str, n: int) -> tuple[Product, Product]:
    """A product of the device's own library, and ours."""
    a, b = clocks.operands(device, n, dtype)
    native = np.matmul if device == "cpu" else require_torch().matmul
    return lambda: native(a, b), lambda: matmul(a, b)


def _gpu_clock() -> float:
    require_torch().cuda.synchronize()
    return time.perf_counter()


def rows(found: dict[str, int | None]) -> list[list[str]]:
    """A row for each dtype: its name, its extent."""
    return [[dtype, NEVER if extent is None else str(extent)] for dtype, extent in found.items()]
