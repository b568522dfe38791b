"""Products over groups have the bits of one device: thousands of small ones over all layouts, uneven and empty parts included."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
import torch
from ranks import Here, Ranks

import ozfp4
import ozfp4.distributed
from ozfp4.distributed.layout import LAYOUTS

Layout = tuple[str, str]
AXES = {"rows": -2, "columns": -1}
FLOATS = [torch.float64, torch.float64, torch.float64, torch.float32, torch.complex128, torch.complex64]
INTEGERS = [torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool]


def part(x: torch.Tensor, layout: str, rank: int, size: int) -> torch.Tensor:
    """As the documentation says: what torch.chunk makes, and nothing for the ranks beyond."""
    if layout == "replicated":
        return x
    axis = {"stack": 0}.get(layout, AXES.get(layout, 0))
    pieces = x.chunk(size, axis)
    return pieces[rank] if rank < len(pieces) else x.narrow(axis, 0, 0)


def equal(x: torch.Tensor, y: torch.Tensor) -> bool:
    """Bit for bit; all NaN are one."""
    if x.shape != y.shape or x.dtype != y.dtype:
        return False
    if x.is_complex():
        x, y = torch.view_as_real(x.resolve_conj()), torch.view_as_real(y.resolve_conj())
    if x.is_floating_point():
        same = (x == y) & (x.signbit() == y.signbit()) | x.isnan() & y.isnan()
        return bool(same.all())
    return bool((x == y).all())


def entries(
    shape: tuple[int, ...], dtype: torch.dtype, generator: torch.Generator, kind: str
) -> torch.Tensor:
    """Of moderate size; over many binades; with NaN and infinities; or as a view that is transposed."""
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    if not (dtype.is_floating_point or dtype.is_complex):
        return torch.randint(0, 100, shape, generator=generator).to(dtype)
    x = torch.randn(shape, generator=generator, dtype=dtype)
    if kind == "wide":
        spread = torch.randint(-30, 30, shape, generator=generator)
        x = x * torch.exp2(spread.double()).to(dtype)
    if kind == "special" and x.numel():
        flat = x.view(-1)
        place = int(torch.randint(0, x.numel(), (), generator=generator))
        flat[place] = [float("nan"), float("inf"), -float("inf")][place % 3]
    if kind == "transposed":
        x = x.mT.contiguous().mT
    return x


def draw(seed: int) -> tuple[torch.Tensor, torch.Tensor, Layout, dict[str, Any]]:
    """A product: whole operands, layouts, keywords."""
    choose, generator = random.Random(seed), torch.Generator().manual_seed(seed)
    m, n, k = (choose.choice([0, 1, 2, 3, 5, 7, 8, 9, 13, 17]) for _ in range(3))
    stack_a: tuple[int, ...] = ()
    stack_b: tuple[int, ...] = ()
    layouts = ("replicated", "rows", "columns")
    result_layouts: tuple[str | None, ...] = (None, *layouts)
    if choose.random() < 0.3:
        extents = tuple(choose.choice([1, 2, 3, 5]) for _ in range(choose.choice([1, 1, 2])))
        stack_a, stack_b = choose.choice(
            [
                (extents, extents),
                (extents, ()),
                ((), extents),
                (extents, (1,) * len(extents)),
                (extents, extents[1:]),
            ]
        )
        layouts, result_layouts = LAYOUTS, (None, *LAYOUTS)
    whole = tuple(torch.broadcast_shapes(stack_a, stack_b))

    def layout_of(stack: tuple[int, ...]) -> str:
        fits = stack and len(stack) == len(whole) and stack[0] == whole[0]
        return choose.choice([x for x in layouts if x != "stack" or fits])

    kinds = ["plain", "plain", "wide", "special", "transposed"]
    dtypes = INTEGERS if choose.random() < 0.15 else FLOATS
    dtype = choose.choice(dtypes)
    other = dtype if choose.random() < 0.7 else choose.choice(dtypes)
    a = entries((*stack_a, m, k), dtype, generator, choose.choice(kinds))
    b = entries((*stack_b, k, n), other, generator, choose.choice(kinds))
    options: dict[str, Any] = {}
    if dtypes is FLOATS:
        options = choose.choice(
            [
                {}, {}, {"accuracy": "correct"}, {"accuracy": "scaled"}, {"bits": 40}, {"scheme": "I"},
                {"accuracy": "correct", "rounding": "down"}, {"backend": "int8"}, {"backend": "fp64"},
            ]
        )  # fmt: skip
    result = choose.choice(result_layouts)
    if result is not None:
        options = {**options, "result": result}
    return a, b, (layout_of(stack_a), layout_of(stack_b)), options


def many(here: Here, seeds: range) -> list[str]:
    """What is wrong."""
    wrong = []
    for seed in seeds:
        a, b, layout, options = draw(seed)
        settings = {name: value for name, value in options.items() if name != "result"}
        expected = ozfp4.matmul(a, b, **settings)
        result = options.get("result") or natural(layout)
        mine = part(expected, result, here.rank, here.size)
        parts = [part(x, word, here.rank, here.size).to(here.device) for x, word in zip((a, b), layout, strict=True)]
        given = {}
        if seed % 3 == 0:  # into a view, with noise in it
            given["out"] = torch.full((2, *mine.shape), 77, device=here.device).to(mine.dtype)[1]
        bounds = seed % 5 == 0 and (a.dtype.is_floating_point or a.dtype.is_complex)
        found = ozfp4.distributed.matmul(*parts, layout=layout, **options, **given, return_bound=bounds)
        if bounds:
            found, bound = found
            _, about = ozfp4.matmul(a, b, **settings, return_bound=True)
            if not equal(bound.cpu(), part(about, result, here.rank, here.size)):
                wrong.append(f"bounds of seed {seed}: {layout} {options}")
        if "out" in given and found is not given["out"]:
            wrong.append(f"out of seed {seed}")
        if not equal(found.cpu(), mine):
            wrong.append(
                f"seed {seed}: {tuple(a.shape)} {tuple(b.shape)} {a.dtype} {b.dtype} {layout} {options}"
            )
    return wrong


def natural(layout: Layout) -> str:
    """The layout of a result that the documentation promises."""
    if "stack" in layout:
        return "stack"
    if layout[0] == "rows":
        return "rows"
    if layout[1] == "columns":
        return "columns"
    return "replicated" if layout == ("replicated", "replicated") else "rows"


def test_many_small_products(ranks: Ranks) -> None:
    for wrong in ranks.run(many, range(ranks.size * 10000, ranks.size * 10000 + 2600 // ranks.size)):
        assert wrong == []


def every(here: Here, size: tuple[int, int, int]) -> list[str]:
    m, n, k = size
    generator = torch.Generator().manual_seed(1)
    a, b = torch.randn(m, k, generator=generator).double(), torch.randn(k, n, generator=generator).double()
    expected, wrong = ozfp4.matmul(a, b), []
    names = ("replicated", "rows", "columns")
    for layout in itertools.product(names, names):
        for result in names:
            parts = [part(x, word, here.rank, here.size).to(here.device) for x, word in zip((a, b), layout, strict=True)]
            found = ozfp4.distributed.matmul(*parts, layout=layout, result=result)
            if not equal(found.cpu(), part(expected, result, here.rank, here.size)):
                wrong.append(f"{layout} {result}")
    return wrong


@pytest.mark.parametrize("size", [(9, 10, 11), (1, 40, 3), (40, 1, 200), (3, 2, 500), (64, 64, 64)])
def test_every_layout(ranks: Ranks, size: tuple[int, int, int]) -> None:
    for wrong in ranks.run(every, size):
        assert wrong == []
