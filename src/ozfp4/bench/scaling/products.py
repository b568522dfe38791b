"""What a product over a group of GPUs takes: beside one GPU, and beside the movement of its operands alone."""

from __future__ import annotations

import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...api.matmul import matmul
from ...distributed import cost, gathered, inner
from ...distributed.collectives import all_gather, take_group
from ...distributed.layout import Placed, Problem, axis_of, chunk_sizes
from ...distributed.local import Products
from ...distributed.matmul import matmul as distributed_matmul
from ...measure.clocks import milliseconds
from ...request.library import require_torch
from ..rows import Row
from .small import part, same_bits

LAYOUTS = (("rows", "replicated"), ("rows", "columns"), ("rows", "rows"), ("columns", "rows"))


@dataclass(frozen=True)
class Ranks:
    """This rank of a group, by default that of all processes, and its device; `names`: the hosts of all processes, in rank order,
    of which the group has the first ones."""

    rank: int
    size: int
    device: Any
    handle: Any = None  # torch's group
    names: tuple[str, ...] = ()

    @property
    def hosts(self) -> int:
        """On how many the group is, which its products take into account; one where no names are known."""
        return max(1, len(set(self.names[: self.size])))

    def wait(self) -> None:
        """Until the device of every rank has nothing more to do."""
        torch = require_torch()
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        torch.distributed.barrier(group=self.handle)
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def slowest(self, seconds: float) -> float:
        """The largest of what the ranks pass."""
        torch = require_torch()
        x = torch.tensor([seconds], dtype=torch.float64, device=self.device)
        torch.distributed.all_reduce(x, op=torch.distributed.ReduceOp.MAX, group=self.handle)
        return float(x)


class Nothing(Products):
    """Products that compute nothing, so that what moves is alone."""

    def __init__(self) -> None:
        super().__init__({}, False)

    def __call__(self, a: Any, b: Any, out: Any, bound: Any) -> None:
        pass

    def keep(self, x: Any, is_left: bool, other: Any, entries: int) -> Any:
        return x


def median(ranks: Ranks, call: Callable[[], object], repeat: int, warm_ups: int = 2) -> float:
    """Median seconds of the slowest rank, from a barrier to the end of what its device does: between two events on a GPU."""
    seconds = elapsed_on_gpu if ranks.device.type == "cuda" else elapsed
    taken = []
    for _ in range(repeat + warm_ups):
        ranks.wait()
        taken.append(ranks.slowest(seconds(call)))
    return statistics.median(taken[warm_ups:])


def elapsed(call: Callable[[], object]) -> float:
    """Seconds of a call that has done its work when it returns."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def elapsed_on_gpu(call: Callable[[], object]) -> float:
    """Seconds until the current stream is through with a call; the device has nothing to do before."""
    return 1e-3 * milliseconds(call)


def alone(ranks: Ranks, call: Callable[[], object], repeat: int) -> float:
    """The same of a call that rank 0 alone makes, while the others wait."""
    return median(ranks, call if ranks.rank == 0 else lambda: None, repeat)


def host_names() -> tuple[str, ...]:
    """Of all processes, as those of a product tell each other; all of them call this."""
    dist = require_torch().distributed
    names: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(names, platform.node())
    return tuple(names)


def give_back(device: Any) -> None:
    """What torch's allocator keeps of a GPU's memory and nobody uses: pieces that the next product may not fit in."""
    if device.type == "cuda":
        require_torch().cuda.empty_cache()


def problem_of(ranks: Ranks, m: int, k: int, n: int, layout: tuple[str, str], result: str) -> Problem:
    """A float64 product that lies so."""

    def placed(shape: tuple[int, int], word: str) -> Placed:
        axis = axis_of(word, 2)
        return Placed(shape) if axis is None else Placed(shape, axis, chunk_sizes(shape[axis], ranks.size))

    a, b = placed((m, k), layout[0]), placed((k, n), layout[1])
    return Problem(ranks.size, a, b, placed((m, n), result), 8, 8, 8, ranks.device.type, ranks.hosts)


def moving(ranks: Ranks, problem: Problem, a: Any, b: Any, out: Any) -> tuple[float, Callable[[], object]]:
    """Bytes that a rank receives when operands are redistributed, and a call that moves them and computes nothing."""
    group = take_group(ranks.handle)
    way = cost.choose(problem, "redistribute", False, False)
    return way.bytes, lambda: gathered.multiply(group, problem, way, a, b, Nothing(), out, None)


def scaling_rows(
    ranks: Ranks, n: int, repeat: int, method: str = "auto", result: str = "rows", **options: Any
) -> list[Row]:
    """n x n x n over the layouts beside one GPU: milliseconds, how many times faster, milliseconds of the movement alone; and
    whether this rank's rows are those of the product of its rows, bit for bit. normal(0, 1) operands. Of a layout that `method`
    does not serve the reason, under "skipped"."""
    torch = require_torch()
    generator = torch.Generator(ranks.device).manual_seed(n)
    a, b = (
        torch.randn(n, n, generator=generator, dtype=torch.float64, device=ranks.device) for _ in range(2)
    )
    c = torch.empty_like(a)
    single = alone(ranks, lambda: matmul(a, b, out=c, **options), repeat)
    expected = part(c, result, ranks.rank, ranks.size)
    lines = (
        part(a, "rows" if result == "rows" else "replicated", ranks.rank, ranks.size),
        part(b, "columns" if result == "columns" else "replicated", ranks.rank, ranks.size),
    )
    matmul(*lines, out=expected, **options)
    rows: list[Row] = []
    for layout in LAYOUTS:
        problem = problem_of(ranks, n, n, n, layout, result)
        about: Row = {
            "n": n, "ranks": ranks.size, "a": layout[0], "b": layout[1], "result": result, "method": method,
        }  # fmt: skip
        if why := _why_not(problem, method, a.dtype, options):
            rows.append(about | {"skipped": why})
            continue
        mine = [
            part(x, word, ranks.rank, ranks.size).contiguous() for x, word in zip((a, b), layout, strict=True)
        ]
        out = torch.full(tuple(expected.shape), 7.0, dtype=torch.float64, device=ranks.device)

        def call(layout: Any = layout, mine: Any = mine, out: Any = out) -> object:
            return distributed_matmul(*mine, layout=layout, result=result, out=out, method=method, **options)

        seconds = median(ranks, call, repeat)
        is_equal = same_bits(out, expected)
        received, move = moving(ranks, problem, mine[0], mine[1], out)
        moved = median(ranks, move, repeat) if received else 0.0
        rows.append(
            {
                **about, "one ms": round(1e3 * single, 3), "ms": round(1e3 * seconds, 3), "speed-up": round(single / seconds, 3),
                "moved GB": round(received / 1e9, 3), "moving ms": round(1e3 * moved, 3),
                "share of moving": round(moved / seconds, 3), "bits equal": ranks.slowest(float(not is_equal)) == 0.0,
            }
        )  # fmt: skip
        del mine, out
    return rows


def _why_not(problem: Problem, method: str, dtype: Any, options: dict[str, Any]) -> str:
    """Why `method` does not serve; "" where it does."""
    return inner.why_not_reduce(problem, dtype, dtype, options, False) if method == "reduce" else ""


def small_rows(ranks: Ranks, n: int, repeat: int) -> list[Row]:
    """Microseconds of a small product over the ranks, n a multiple of theirs, rows by replicated: with the exchange before it and
    without it, to replicated, and by torch's own product and collective."""
    torch = require_torch()
    generator = torch.Generator().manual_seed(n)
    a, b = (
        torch.randn(n, n, generator=generator, dtype=torch.float64, device="cpu").to(ranks.device)
        for _ in range(2)
    )
    mine = part(a, "rows", ranks.rank, ranks.size).contiguous()
    whole, group = (tuple(a.shape), tuple(b.shape)), take_group(None)

    def by_torch() -> object:
        c = mine @ b
        found = torch.empty((ranks.size * c.numel()), dtype=c.dtype, device=c.device)
        all_gather(found, c.view(-1), group).wait()
        return found.view(n, n)

    methods: dict[str, Callable[[], object]] = {
        "always": lambda: distributed_matmul(mine, b),
        "first": lambda: distributed_matmul(mine, b, whole=whole, check="first"),
        "replicated": lambda: distributed_matmul(mine, b, result="replicated", whole=whole, check="first"),
        "one device": lambda: matmul(a, b),
        "torch, replicated": by_torch,
    }
    return [
        {"n": n, "ranks": ranks.size, "product": name, "us": round(1e6 * median(ranks, call, repeat), 1)}
        for name, call in methods.items()
    ]
