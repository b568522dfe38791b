"""Small products over a group, drawn by a seed, against the product of the whole operands on each rank, bit for bit."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from ...api.matmul import matmul
from ...distributed.layout import LAYOUTS, axis_of, chunk_sizes
from ...distributed.matmul import matmul as distributed_matmul
from ...distributed.request import natural
from ...request.library import require_torch

EXTENTS = (0, 1, 2, 3, 7, 16, 31, 64, 65, 130, 200)
DTYPES = ("float64", "float64", "float64", "float32", "complex128", "complex64", "int64", "int8", "bool")
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"accuracy": "correct"},
    {"accuracy": "scaled"},
    {"bits": 60, "accuracy": "scaled"},
    {"accuracy": "correct", "rounding": "up"},
)


def part(x: Any, layout: str, rank: int, ranks: int) -> Any:
    """The view of a rank's part of a whole matrix."""
    axis = axis_of(layout, x.ndim)
    if axis is None:
        return x
    sizes = chunk_sizes(x.shape[axis], ranks)
    return x.narrow(axis, sum(sizes[:rank]), sizes[rank])


def check(rank: int, ranks: int, device: Any, seeds: Iterable[int]) -> list[str]:
    """What is wrong on this rank of the default group, a line a product; every rank calls it with the same seeds."""
    return [text for seed in seeds for text in _wrong(rank, ranks, device, seed)]


def same_bits(x: Any, y: Any) -> bool:
    """Whether two tensors have the same dtype, shape and bits; all NaN are one."""
    torch = require_torch()
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    if x.is_complex():
        x, y = (torch.view_as_real(each.resolve_conj()) for each in (x, y))
    if not x.is_floating_point():
        return bool((x == y).all())
    return bool((((x == y) & (x.signbit() == y.signbit())) | (x.isnan() & y.isnan())).all())


def _wrong(rank: int, ranks: int, device: Any, seed: int) -> list[str]:
    torch, choose = require_torch(), random.Random(seed)
    m, n, k = (choose.choice(EXTENTS) for _ in range(3))
    stack = (choose.choice((1, 2, 3, 5)),) if choose.random() < 0.2 else ()
    words = [choose.choice(LAYOUTS if stack else LAYOUTS[:3]) for _ in range(2)]
    result = choose.choice((None, *(LAYOUTS if stack else LAYOUTS[:3])))
    dtype = getattr(torch, choose.choice(DTYPES))
    generator = torch.Generator().manual_seed(seed)

    def operand(rows: int, columns: int) -> Any:
        shape = (*stack, rows, columns)
        if dtype.is_floating_point or dtype.is_complex:
            return torch.randn(shape, generator=generator, dtype=dtype, device="cpu").to(device)
        return torch.randint(0, 2, shape, generator=generator, device="cpu").to(dtype).to(device)

    a, b = operand(m, k), operand(k, n)
    options = choose.choice(OPTIONS) if dtype.is_floating_point or dtype.is_complex else {}
    mine = [part(x, word, rank, ranks).contiguous() for x, word in zip((a, b), words, strict=True)]
    found = distributed_matmul(*mine, layout=(words[0], words[1]), result=result, **options)
    expected = part(matmul(a, b, **options), result or natural(*words), rank, ranks)
    if same_bits(found, expected):
        return []
    return [f"rank {rank}, seed {seed}: {stack} {m} x {k} x {n} {dtype} {words} to {result} {options}"]
