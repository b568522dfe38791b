"""The ranks of a group, their parts of matrices, and their clock."""

from __future__ import annotations

import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ozfp4._measure.clocks import milliseconds
from ozfp4._request.library import require_torch
from ozfp4.distributed._layout import Placed, Problem, axis_of, chunk_sizes


@dataclass(frozen=True)
class Ranks:
    """This rank of a group, by default that of all processes, and its device. `names`: the hosts of all processes, in rank order;
    the group has the first ones."""

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


def part(x: Any, layout: str, rank: int, ranks: int) -> Any:
    """The view of a rank's part of a whole matrix."""
    axis = axis_of(layout, x.ndim)
    if axis is None:
        return x
    sizes = chunk_sizes(x.shape[axis], ranks)
    return x.narrow(axis, sum(sizes[:rank]), sizes[rank])


def same_bits(x: Any, y: Any) -> bool:
    """Whether two float64 tensors have the same bits."""
    torch = require_torch()
    return bool(torch.equal(x.view(torch.int64), y.view(torch.int64)))


def median(ranks: Ranks, call: Callable[[], object], repeat: int, warm_ups: int = 2) -> float:
    """Median seconds of the slowest rank, from a barrier to the end of what its device does: between two events on a GPU."""
    taken = []
    for _ in range(repeat + warm_ups):
        ranks.wait()
        if ranks.device.type == "cuda":
            seconds = 1e-3 * milliseconds(call)
        else:
            start = time.perf_counter()
            call()
            seconds = time.perf_counter() - start
        taken.append(ranks.slowest(seconds))
    return statistics.median(taken[warm_ups:])


def host_names() -> tuple[str, ...]:
    """The host names of all processes, which all call this, as in a distributed product."""
    dist = require_torch().distributed
    names: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(names, platform.node())
    return tuple(names)


def give_back(device: Any) -> None:
    """Return unused cached memory of a GPU: the next product may not fit in its pieces."""
    if device.type == "cuda":
        require_torch().cuda.empty_cache()


def problem_of(ranks: Ranks, m: int, k: int, n: int, layout: tuple[str, str], result: str) -> Problem:
    """A float64 product that lies so."""

    def placed(shape: tuple[int, int], word: str) -> Placed:
        axis = axis_of(word, 2)
        return Placed(shape).cut(axis, ranks.size)

    a, b = placed((m, k), layout[0]), placed((k, n), layout[1])
    return Problem(ranks.size, a, b, placed((m, n), result), 8, 8, 8, ranks.device.type, ranks.hosts)
