"""Small products over all layouts, drawn by a seed, and what is equal bit for bit."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ozfp4.distributed import _cost as cost
from ozfp4.distributed._layout import LAYOUTS

Layout = tuple[str, str]
AXES = {"rows": -2, "columns": -1, "stack": 0}
FLOATS = [torch.float64, torch.float64, torch.float64, torch.float32, torch.complex128, torch.complex64]
INTEGERS = [torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool]


def part(x: torch.Tensor, layout: str, rank: int, size: int) -> torch.Tensor:
    """As the documentation says: what torch.chunk makes, and nothing for the ranks beyond."""
    if layout == "replicated":
        return x
    pieces = x.chunk(size, AXES[layout])
    return pieces[rank] if rank < len(pieces) else x.narrow(AXES[layout], 0, 0)


def natural(layout: Layout) -> str:
    """The layout of a result that the documentation promises."""
    if "stack" in layout:
        return "stack"
    if layout[0] == "rows":
        return "rows"
    if layout[1] == "columns":
        return "columns"
    return "replicated" if layout == ("replicated", "replicated") else "rows"


def equal(x: torch.Tensor, y: torch.Tensor) -> bool:
    """Bit for bit; all NaN are one."""
    if x.shape != y.shape or x.dtype != y.dtype:
        return False
    if x.is_complex():
        x, y = (torch.view_as_real(each.resolve_conj()) for each in (x, y))
    if x.is_floating_point():
        return bool((((x == y) & (x.signbit() == y.signbit())) | (x.isnan() & y.isnan())).all())
    return bool((x == y).all())


def entries(
    shape: tuple[int, ...], dtype: torch.dtype, generator: torch.Generator, kind: str
) -> torch.Tensor:
    """Entries of moderate size, over many binades, with NaN and infinities, or as a transposed view, by `kind`."""
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    if not (dtype.is_floating_point or dtype.is_complex):
        return torch.randint(0, 100, shape, generator=generator).to(dtype)
    x = torch.randn(shape, generator=generator, dtype=dtype)
    if kind == "wide":
        spread = torch.randint(-30, 30, shape, generator=generator)
        x = x * torch.exp2(spread.double()).to(dtype)
    if kind == "special" and x.numel():
        place = int(torch.randint(0, x.numel(), (), generator=generator))
        x.view(-1)[place] = [float("nan"), float("inf"), -float("inf")][place % 3]
    if kind == "transposed":
        x = x.mT.contiguous().mT
    return x


def draw(
    seed: int, integers: float = 0.15, stacks: float = 0.3
) -> tuple[torch.Tensor, torch.Tensor, Layout, str | None, dict[str, Any]]:
    """A product: whole operands, their layouts and that of the result, keywords."""
    choose, generator = random.Random(seed), torch.Generator().manual_seed(seed)
    m, n, k = (choose.choice([0, 1, 2, 3, 5, 7, 8, 9, 13, 17]) for _ in range(3))
    stack_a: tuple[int, ...] = ()
    stack_b: tuple[int, ...] = ()
    layouts: tuple[str, ...] = ("replicated", "rows", "columns")
    if choose.random() < stacks:
        full = tuple(choose.choice([1, 2, 3, 5]) for _ in range(choose.choice([1, 1, 2])))
        ones = (1,) * len(full)
        stack_a, stack_b = choose.choice(
            [
                (full, full),
                (full, ()),
                ((), full),
                (full, ones),
                (full, full[1:]),
                (ones, full),
                (full, (full[0], *ones[1:])),
            ]
        )
        layouts = LAYOUTS
    whole = tuple(torch.broadcast_shapes(stack_a, stack_b))

    def layout_of(stack: tuple[int, ...]) -> str:
        fits = stack and len(stack) == len(whole) and stack[0] == whole[0]
        return choose.choice([x for x in layouts if x != "stack" or fits])

    kinds = ["plain", "plain", "wide", "special", "transposed"]
    dtypes = INTEGERS if choose.random() < integers else FLOATS
    dtype = choose.choice(dtypes)
    other = dtype if choose.random() < 0.7 else choose.choice(dtypes)
    a = entries((*stack_a, m, k), dtype, generator, choose.choice(kinds))
    b = entries((*stack_b, k, n), other, generator, choose.choice(kinds))
    options: dict[str, Any] = {}
    if dtypes is FLOATS:
        options = choose.choice(
            [
                {}, {}, {"accuracy": "correct"}, {"accuracy": "scaled"},
                {"backend": "int8", "accuracy": "scaled"}, {"scheme": "I"},
                {"accuracy": "correct", "rounding": "down"}, {"backend": "int8"}, {"workspace_limit": 2**22},
            ]
        )  # fmt: skip
    return a, b, (layout_of(stack_a), layout_of(stack_b)), choose.choice([None, *layouts]), options


def error_of(call: Callable[[], object]) -> str:
    """As "TypeName: message"; nothing where it returns."""
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


class Torch:
    """torch with other functions of some names."""

    def __init__(self, **replaced: Any) -> None:
        vars(self).update(replaced)

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


@contextmanager
def by_bytes() -> Iterator[None]:
    """Ways are chosen as if a collective cost nothing but its bytes: results move, as large ones do."""
    before = dict(cost.START)
    cost.choose.cache_clear()
    cost.START.update(dict.fromkeys(before, 0.0))
    try:
        yield
    finally:
        cost.START.update(before)
        cost.choose.cache_clear()
