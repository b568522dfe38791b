"""Strong and weak scaling: products over the ranks of groups of one launch, 1, 2, 4 and so on of all of them.

Strong: N x N x N whatever the number of ranks. Weak: N rows of A for each rank, N x N of B. Every rank of a group calls
:func:`row` with the same job, and has the same row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from common.bandwidth import copy_bandwidth
from common.experiment import Row
from common.paper_model import deviation
from ozfp4._api.matmul import matmul
from ozfp4._request.library import require_torch
from ozfp4._torch_ops import agree
from ozfp4._torch_ops.agree import all_gather, take_group
from ozfp4.distributed import _cost as cost
from ozfp4.distributed import _reduce as reduce
from ozfp4.distributed._layout import Problem
from ozfp4.distributed._matmul import matmul as distributed_matmul

from .model import Machine, predict
from .products import Ranks, give_back, median, part, problem_of, same_bits

# How A and B lie, and the method where K is cut.
STRONG = (
    ("rows", "replicated", "auto"),
    ("rows", "columns", "auto"),
    ("rows", "rows", "auto"),
    ("columns", "rows", "redistribute"),
    ("columns", "rows", "reduce"),
)
WEAK = tuple(case for case in STRONG if case[1] != "rows" or case[0] == "columns")
KEY = ("kind", "N", "ranks", "a", "b", "method")
LARGE = {"cuda": 2**28, "cpu": 2**23}  # bytes that each rank sends to measure its links
SMALL = 2**10


@dataclass(frozen=True)
class Job:
    """One row to be measured: of `kind` "links", "one" (the product on one rank), "strong" or "weak"."""

    kind: str
    n: int
    ranks: int
    a: str = ""
    b: str = ""
    method: str = ""

    @property
    def key(self) -> Row:
        return dict(zip(KEY, (self.kind, self.n, self.ranks, self.a, self.b, self.method), strict=True))

    @property
    def rows(self) -> int:
        """The rows of A."""
        return self.n * (self.ranks if self.kind == "weak" else 1)


def group_sizes(ranks: int) -> tuple[int, ...]:
    """1, 2, 4, ... ranks, and all of them.

    >>> group_sizes(6)
    (1, 2, 4, 6)
    """
    return (*(2**i for i in range(ranks.bit_length()) if 2**i < ranks), ranks)


def jobs(sizes: list[int], ranks: int, kinds: Collection[str] = ("strong", "weak")) -> list[Job]:
    """All of them, those of the links first."""
    counts = [count for count in group_sizes(ranks) if count > 1]
    found = [Job("links", 0, count) for count in counts]
    found += [Job("one", n, 1, "rows", "replicated") for n in sizes]
    for kind, cases in (("strong", STRONG), ("weak", WEAK)):
        if kind in kinds:
            found += [Job(kind, n, count, *case) for n in sizes for count in counts for case in cases]
    return found


def row(ranks: Ranks, job: Job, repeat: int) -> Row:
    """The measurements of a job; the reason under "skipped" where its method does not apply or memory is short."""
    if job.kind == "links":
        return job.key | _links(ranks, repeat)
    problem = _problem(job, ranks.device.type, ranks.hosts)
    float64 = require_torch().float64
    if job.method == "reduce" and (
        why := reduce.why_not(problem, float64, float64, {"accuracy": None}, False)
    ):
        return job.key | {"skipped": why}
    try:
        return job.key | (_alone if job.kind == "one" else _over)(ranks, job, repeat)
    except _SkippedError as error:
        return job.key | {"skipped": str(error)}


class _SkippedError(Exception):
    """On every rank of a group: one of them could not make a product, for want of memory mostly."""


class _Guard:
    """Keeps errors of this rank until all ranks exchange them: a failed product first takes part in what others wait for."""

    def __init__(self, ranks: Ranks) -> None:
        self._ranks, self._failure = ranks, None  # type: tuple[Ranks, Exception | None]

    def __call__(self, call: Callable[[], Any]) -> Any:
        if self._failure is None:
            try:
                return call()
            except (RuntimeError, MemoryError) as error:  # out of memory of a device is the first one
                self._failure = error.with_traceback(None)  # as its frames hold tensors
        return None

    def settle(self) -> None:
        """Raises _SkippedError on all ranks where one has failed."""
        try:
            agree.confirm(take_group(self._ranks.handle), self._failure)
        except (RuntimeError, MemoryError) as error:
            raise _SkippedError(str(error).partition("\n")[0]) from None


def _problem(job: Job, device: str, hosts: int) -> Problem:
    ranks = Ranks(0, job.ranks, require_torch().device(device))
    problem = problem_of(ranks, job.rows, job.n, job.n, (job.a, job.b), "rows")
    return replace(problem, hosts=hosts)


# ---- Products ----------------------------------------------------------------------------------------------


def _block(ranks: Ranks, job: Job, index: int) -> Any:
    """N x N of A, or of B with index -1."""
    torch = require_torch()
    generator = torch.Generator(ranks.device).manual_seed((job.n << 16) + index + 1)
    return torch.randn(job.n, job.n, generator=generator, dtype=torch.float64, device=ranks.device)


def _rows(ranks: Ranks, job: Job) -> Any:
    """This rank's rows of A, normal(0, 1), the same whatever the ranks."""
    if job.kind == "weak":
        return _block(ranks, job, ranks.rank)
    return part(_block(ranks, job, 0), "rows", ranks.rank, ranks.size).clone()


def _left(ranks: Ranks, job: Job) -> Any:
    """This rank's part of A."""
    if job.a == "rows":
        return _rows(ranks, job)
    blocks = range(job.ranks if job.kind == "weak" else 1)
    cut = [part(_block(ranks, job, index), "columns", ranks.rank, ranks.size) for index in blocks]
    return require_torch().cat(cut)


def _right(ranks: Ranks, job: Job) -> Any:
    """This rank's part of B."""
    b = _block(ranks, job, -1)
    return b if job.b == "replicated" else part(b, job.b, ranks.rank, ranks.size).clone()


def _alone(ranks: Ranks, job: Job, repeat: int) -> Row:
    """One rank's product, and that of an eighth of the rows."""
    guard = _Guard(ranks)
    operands = guard(lambda: (_rows(ranks, job), _block(ranks, job, -1), _filled(ranks, job)))
    guard.settle()
    rows, b, out = operands
    few = fewer(job.n)
    taken = [
        median(ranks, lambda m=m: guard(lambda: matmul(rows[:m], b, out=out[:m])), repeat, 1)  # type: ignore[misc]
        for m in (job.n, few)
    ]
    guard.settle()
    return {"ms": _ms(taken[0]), "ms of an eighth": _ms(taken[1])}


def _over(ranks: Ranks, job: Job, repeat: int) -> Row:
    """A product over the ranks; then whether this rank's rows of it are what one rank makes of its rows."""
    guard = _Guard(ranks)
    out = guard(lambda: _filled(ranks, job))
    seconds = _seconds(ranks, job, guard, out, repeat)
    give_back(ranks.device)
    expected = guard(lambda: matmul(_rows(ranks, job), _block(ranks, job, -1)))
    guard.settle()
    is_wrong = ranks.slowest(float(not same_bits(out, expected))) > 0
    return {"hosts": ranks.hosts, "ms": _ms(seconds), "bits equal": not is_wrong}


def _seconds(ranks: Ranks, job: Job, guard: _Guard, out: Any, repeat: int) -> float:
    """The seconds of the product into `out`. The operands are gone afterwards, as the check takes as much memory."""
    operands = guard(lambda: (_left(ranks, job), _right(ranks, job)))
    guard.settle()
    a, b = operands
    layout = (job.a, job.b)

    def call() -> object:
        return distributed_matmul(
            a, b, group=ranks.handle, layout=layout, result="rows", out=out, method=job.method
        )

    seconds = median(ranks, lambda: guard(call), repeat, 1)
    guard.settle()
    return seconds


def _filled(ranks: Ranks, job: Job) -> Any:
    """Room for this rank's rows of the result, with noise in it."""
    torch = require_torch()
    rows = _problem(job, ranks.device.type, ranks.hosts).result.local(ranks.rank)[0]
    return torch.full((rows, job.n), 7.0, dtype=torch.float64, device=ranks.device)


def fewer(n: int) -> int:
    """An eighth of the rows: the same B is encoded for less work, which tells what that takes."""
    return max(1, n // 8)


def machine_of(n: int, one: Row, link: Row) -> Machine:
    """The machine, from the rows of one rank and of the links of a group."""
    few, whole, of_few = fewer(n), 1e-3 * one["ms"], 1e-3 * one["ms of an eighth"]
    # whole = x n^3 + 2 e n^2 and of_few = x few n^2 + e n (few + n): e, seconds an entry, and x, two operations.
    encode = 0.0
    if few < n:
        encode = max(0.0, (n * of_few - few * whole) / (n * n * (n - few)))
    encode = min(encode, whole / (4.0 * n * n))  # not more than half of the product
    return Machine(
        2.0 * n**3 / (whole - 2 * encode * n * n), 1e9 * link["all-gather GB/s"], 1e9 * link["all-to-all GB/s"],
        1e9 * link["memory GB/s"], 1e-6 * link["start us"], encode,
    )  # fmt: skip


def _ms(seconds: float) -> float:
    return round(1e3 * seconds, 4)


# ---- Links -------------------------------------------------------------------------------------------------


def _links(ranks: Ranks, repeat: int) -> Row:
    """10^9 bytes a second that a rank receives, and microseconds of a collective of next to nothing."""
    torch, size = require_torch(), LARGE[ranks.device.type]
    group = take_group(ranks.handle)
    sent = torch.zeros(size // ranks.size * ranks.size, dtype=torch.uint8, device=ranks.device)
    found = torch.empty(ranks.size * len(sent), dtype=torch.uint8, device=ranks.device)
    swapped = found[: len(sent)]
    small = sent[: SMALL * ranks.size]

    def exchange() -> object:
        return torch.distributed.all_to_all_single(swapped, sent, group=ranks.handle)

    calls: dict[str, tuple[float, Callable[[], object]]] = {
        "all-gather GB/s": (len(found) - len(sent), lambda: all_gather(found, sent, group).wait()),
        "all-to-all GB/s": (len(sent) * (1 - 1 / ranks.size), exchange),
    }
    start = median(
        ranks, lambda: all_gather(found[: len(small) * ranks.size], small, group).wait(), 5 * repeat
    )
    row: Row = {}
    for name, (received, call) in calls.items():
        seconds = median(ranks, call, repeat)
        row[name] = round(received / max(seconds - start, seconds / 10) / 1e9, 3)
    row["start us"] = round(1e6 * start, 2)
    row["memory GB/s"] = round(_slowest_copy(ranks) / 1e9, 1)
    return row


def _slowest_copy(ranks: Ranks) -> float:
    """Bytes a second, read and written, of a copy on the slowest rank while all copy."""
    return 1 / ranks.slowest(1 / copy_bandwidth(ranks.device.type, 2**24))


# ---- What follows from the rows ------------------------------------------------------------------------------


def with_model(rows: list[Row], device: str) -> list[Row]:
    """The rows, with values that follow from them.

    These are TFLOPS, the speedup over one rank, that over the number of ranks, and bytes that a rank receives. Then the model's
    milliseconds, those of moving alone and the hidden share of them, and the percent by which the measurement is above the model.
    """
    one = {each["N"]: each for each in rows if each["kind"] == "one" and "ms" in each}
    links = {each["ranks"]: each for each in rows if each["kind"] == "links"}
    found = []
    for each in rows:
        if "ms" in each:
            each = each | _derived(each, one.get(each["N"]), links.get(each["ranks"]), device)
        found.append(each)
    return found


def _derived(each: Row, one: Row | None, link: Row | None, device: str) -> Row:
    job = Job(*(each[name] for name in KEY))
    derived: Row = {"TFLOPS": float(f"{2 * job.rows * job.n**2 / each['ms'] / 1e9:.4g}")}
    if job.kind == "one" or one is None:
        return derived
    faster = one["ms"] / each["ms"] * job.rows / job.n
    derived |= {"speed-up": round(faster, 3), "efficiency": round(faster / job.ranks, 4)}
    if link is None:
        return derived
    problem = _problem(job, device, each.get("hosts", 1))
    times = predict(problem, job.method, machine_of(job.n, one, link))
    return derived | {
        "received GB": round(received(problem, job.method) / 1e9, 4),
        "model ms": _ms(times.total),
        "moving ms": _ms(times.moving),
        "hidden": round(times.hidden, 3),
        "percent": round(deviation(each["ms"], 1e3 * times.total), 2),
    }


def received(problem: Problem, method: str) -> int:
    """Bytes that a rank receives."""
    if method == "reduce":
        return cost.reduction(problem, False).bytes
    return cost.choose(problem, "redistribute", False, False).bytes


def on_group(ranks: Ranks, handles: dict[int, Any], job: Job) -> Ranks | None:
    """This rank in the group of a job; None where it is no member."""
    if ranks.rank >= job.ranks:
        return None
    return replace(ranks, size=job.ranks, handle=handles[job.ranks])
