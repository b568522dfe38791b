"""Measuring from which extent on products gain over a device's own library: for ``ozfp4 exec`` and ``ozfp4.emulate``."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .._api.matmul import matmul
from .._request.library import require_torch
from . import clocks

DTYPES = ("float32", "float64", "complex64", "complex128")
SIZES = (256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192)
MARGIN = 1.1  # native has to take so many times as long as the product
LONGEST = 0.5  # seconds of a native product that is measured
LARGEST_ON_CPU = 4096  # three matrices of complex128 take 0.8 GB
Product = Callable[[], object]


def measure(index: int | None) -> dict[str, int | None]:
    """The least extent of each dtype that gains; None: no size does. `index`: of a CUDA device, which must be torch's current
    one; None: the CPU."""
    device, largest = ("cpu", LARGEST_ON_CPU) if index is None else ("cuda", SIZES[-1])
    return {dtype: _threshold(partial(_products, device, dtype), largest) for dtype in DTYPES}


def _threshold(products: Callable[[int], tuple[Product, Product]], largest: int) -> int | None:
    """By bisection, as the ratio of native to this product grows with each extent: the work for an entry is shared by more
    multiplications."""
    first = _seconds(products(SIZES[0])[0])
    sizes = [n for n in SIZES if first * (n / SIZES[0]) ** 3 <= LONGEST and n <= largest]

    def gains(n: int) -> bool:
        native, ours = products(n)
        return _seconds(ours) * MARGIN <= _seconds(native)

    if not sizes or not gains(sizes[-1]):
        return None
    return sizes[bisect_left(sizes, True, hi=len(sizes) - 1, key=gains)]


def _seconds(product: Product) -> float:
    return min(clocks.call_times(product, LONGEST / 5))


def _products(device: str, dtype: str, n: int) -> tuple[Product, Product]:
    """A product of the device's own library, and this package's."""
    a, b = clocks.operands(device, n, dtype)
    if device == "cpu":
        return lambda: np.matmul(a, b), lambda: matmul(a, b)
    torch = require_torch()

    def finish(multiply: Callable[..., Any]) -> None:
        multiply(a, b)
        torch.cuda.synchronize()

    return partial(finish, torch.matmul), partial(finish, matmul)
