"""What a small product of DTensors takes beside torch's: most of it is the host's way to the local product."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from ...api.matmul import matmul
from ...distributed.matmul import matmul as distributed_matmul
from ...request.library import require_torch
from ..rows import Row

WARM = 20  # calls before the first one that is timed
BLOCK = 50  # calls between two looks at the clock


def dtensor_rows(mesh: Any, n: int = 64, blocks: int = 20, dtype: Any = None) -> list[Row]:
    """Microseconds of a product of n by n DTensors, rows by replicated, on a mesh of one dimension: the host's from call to call,
    and with the wait for the device at the end of each block; medians of blocks on this rank. "x torch": as times torch.mm's.

    Parameters
    ----------
    mesh : DeviceMesh
        Of one dimension; all its ranks call this.
    n : int
        Rows and columns.
    blocks : int
        How many blocks of calls are timed.
    dtype : torch.dtype, optional
        By default float64.
    """
    torch = require_torch()
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    generator = torch.Generator().manual_seed(n)
    device = mesh.device_type
    a, b = (
        torch.randn(n, n, generator=generator, dtype=dtype or torch.float64, device="cpu").to(device)
        for _ in range(2)
    )
    x, y = distribute_tensor(a, mesh, [Shard(0)]), distribute_tensor(b, mesh, [Replicate()])
    part, whole = x.to_local(), y.to_local()
    methods: dict[str, Callable[[], object]] = {
        "torch.mm, DTensors": lambda: torch.mm(x, y),
        "ozfp4.matmul, DTensors": lambda: matmul(x, y),
        "torch.ops.ozfp4.matmul, DTensors": lambda: torch.ops.ozfp4.matmul(x, y),
        "ozfp4.distributed.matmul, DTensors": lambda: distributed_matmul(x, y),
        "torch.mm, local": lambda: torch.mm(part, whole),
        "ozfp4.matmul, local": lambda: matmul(part, whole),
    }
    rows = []
    with torch.no_grad():
        for name, call in methods.items():
            torch.distributed.barrier()
            host, total = _times(call, blocks, _wait(device))
            rows.append({"n": n, "ranks": mesh.size(), "product": name, "host us": host, "us": total})
    first = rows[0]
    return [
        {
            **row,
            "host x torch": round(row["host us"] / first["host us"], 2),
            "x torch": round(row["us"] / first["us"], 2),
        }
        for row in rows
    ]


def _wait(device: str) -> Callable[[], object]:
    """What returns when the device has nothing more to do."""
    return require_torch().cuda.synchronize if device == "cuda" else lambda: None


def _times(call: Callable[[], object], blocks: int, wait: Callable[[], object]) -> tuple[float, float]:
    """Microseconds of a call: the host's, and with what the device has left to do then."""
    for _ in range(WARM):
        call()
    wait()
    host, total = [], []
    for _ in range(blocks):
        began = time.perf_counter()
        for _ in range(BLOCK):
            call()
        returned = time.perf_counter()
        wait()
        host.append((returned - began) / BLOCK)
        total.append((time.perf_counter() - began) / BLOCK)
    return round(1e6 * statistics.median(host), 1), round(1e6 * statistics.median(total), 1)
