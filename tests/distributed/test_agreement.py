"""Arguments that do not fit are found before data move. Every rank raises an error that names the rank with the cause. Later
failures reach the ranks that they concern, and no rank waits for ever."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist
from cases import Torch, by_bytes, error_of
from ranks import FAILING, PAIRS, Here, Ranks, check_gpus, group, named

import ozfp4
import ozfp4.distributed
from ozfp4._torch_ops import agree
from ozfp4.distributed import _gathered as gathered


def operands(here: Here) -> tuple[torch.Tensor, torch.Tensor]:
    """Two rows of A on each rank, and B."""
    options: Any = {"dtype": torch.float64, "device": here.device}
    return torch.ones(2, 5, **options), torch.ones(5, 3, **options)


def check_in_order(here: Here) -> None:
    """The group can make the next product."""
    a, b = operands(here)
    assert bool((ozfp4.distributed.matmul(a, b, result="replicated") == 5).all())


def said(here: Here, call: Callable[[], object], *changes: tuple[Any, str, Any]) -> str:
    """The error of a call that is made with other attributes (of, name, value); the group can make the next product."""
    with pytest.MonkeyPatch.context() as patch:
        for change in changes:
            patch.setattr(*change)
        text = error_of(call)
    check_in_order(here)
    return text


# By the name of what rank 1 does otherwise: the error of all ranks.
OTHERWISE = {
    "dtype": "ValueError: dtype of a: the ranks differ: 'torch.float64' on {others}; 'torch.float32' on rank 1",
    "layout": "ValueError: layout of b: the ranks differ: 'replicated' on {others}; 'columns' on rank 1",
    "result": "ValueError: result: the ranks differ: 'rows' on {others}; 'replicated' on rank 1",
    "accuracy": "ValueError: accuracy: the ranks differ: None on {others}; 'correct' on rank 1",
    "plan": "ValueError: plan: the ranks differ: None on {others}; II int8 least of 57 bits, 16 products",
    "workspace_limit": "ValueError: workspace_limit: the ranks differ: None on {others}; 1000000 on rank 1",
    "version": "ValueError: library: the ranks differ: ozfp4",
    "inner": "ValueError: shape of a: the ranks differ: (2, 5) on {others}; (2, 6) on rank 1",
    "axes": "ValueError: shape of a: the ranks differ: (2, 5) on {others}; (1, 2, 5) on rank 1",
    "rows": "ValueError: a: layout 'rows' has the parts that torch.chunk makes of {parts}",
    "out": "ValueError: out: shape (3, 3) on rank 1 is not that of its part of the result, (2, 3)",
    "dtype of out": "TypeError: out: dtype torch.float32 on rank 1 is not the result's dtype torch.float64",
    "gradient": "ValueError: gradients: the ranks differ: [False, False] on {others}; [True, False] on rank 1",
    "whole": "ValueError: whole: the ranks differ",
    "both inner": "ValueError: inner dimensions differ: a has shape ({rows}, 5), b has shape (4, 3): 5 != 4",
    "whole of all": "ValueError: whole: a has shape (7, 5) there, and the parts of the ranks make ({rows}, 5)",
    "stack": "ValueError: result: 'stack' needs a stack of matrices, and its shape is ({rows}, 3)",
    "repeated stack": "ValueError: layout of b: 'stack' cuts the first axis of the result, ({rows}, 4, 3), and its shape is (1,",
    "long plan": "ValueError: plan: its limit is K <= ",
}  # fmt: skip


def differ(here: Here, name: str) -> str:
    a, b = operands(here)
    options: dict[str, Any] = {}
    changes: list[Any] = []
    if name == "both inner":
        b = b[:4]
    if name == "whole of all":
        options = {"whole": ((7, 5), (5, 3))}
    if name == "stack":
        options = {"result": "stack"}
    if name == "repeated stack":
        a, b = a.new_ones(2, 4, 5), b.new_ones(int(here.rank == 0), 5, 3)
        options = {"layout": ("stack", "stack")}
    if name == "version":  # unlike all calls before, as messages of those are remembered
        options = {"workspace_limit": 2**29}
    if name == "long plan":  # K of the whole is longer than the plan's, and that of no rank is
        plan = ozfp4.plan(9, 9, 10, backend="int8", family="least", bits=53, accuracy="scaled")
        k = plan.k_max // here.size + 1
        a, b = a.new_ones(2, k), b.new_ones(k, 3)
        options = {"plan": plan, "accuracy": "scaled", "layout": ("columns", "rows")}
    if here.rank == 1:
        changed = {
            "accuracy": {"accuracy": "correct"},
            "workspace_limit": {"workspace_limit": 10**6},
            "layout": {"layout": ("rows", "columns")}, "result": {"result": "replicated"},
            "plan": {"plan": ozfp4.plan(9, 9, 9, backend="int8")}, "whole": {"whole": ((6, 5), (5, 3))},
            "out": {"out": a.new_empty(3, 3)}, "dtype of out": {"out": torch.empty(2, 3, device=here.device)},
        }  # fmt: skip
        options = changed.get(name, options)
        a = {
            "dtype": a.float(), "inner": a.new_ones(2, 6), "axes": a[None], "rows": a.new_ones(3, 5),
            "gradient": a.clone().requires_grad_(),
        }.get(name, a)  # fmt: skip
        if name == "version":
            changes = [(agree, "identity", lambda: "ozfp4 0.0.1, build 12")]
    return said(here, lambda: ozfp4.distributed.matmul(a, b, **options), *changes)


# By the number of ranks, where rank 1 has three rows and every other one two.
UNEVEN = {2: "5, (3, 2); those of the ranks are (2, 3)", 3: "7, (3, 3, 1); those of the ranks are (2, 3, 2)"}


@pytest.mark.parametrize("name", OTHERWISE)
def test_different_arguments_are_raised_by_all(failing: Ranks, name: str) -> None:
    size = failing.size
    found = failing.run(differ, name)
    assert found == [found[0]] * size
    others = "rank 0" if size == 2 else "ranks 0 and 2"
    assert found[0].startswith(OTHERWISE[name].format(others=others, parts=UNEVEN[size], rows=2 * size))


@pytest.mark.parametrize(
    "file", ["_core.so", "_cuda.cpython-311.so", "libozfp4_cuda.so", "__init__.py", "_trust/guard.py"]
)
def test_a_byte_of_what_computes_is_another_build(tmp_path: Path, file: str) -> None:
    """The kernels for GPUs are in a library next to the extension."""
    for name in (file, "_testing.so", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"1")
    before = agree.digest_of(tmp_path)
    (tmp_path / "notes.txt").write_bytes(b"2")
    assert agree.digest_of(tmp_path) == before
    (tmp_path / file).write_bytes(b"2")
    assert agree.digest_of(tmp_path) != before


def test_the_library_of_a_rank() -> None:
    build = agree.digest_of(Path(ozfp4.__file__).parent)
    assert agree.identity() == f"ozfp4 {ozfp4.__version__}, build {build}, torch {torch.__version__}"


# By name: what rank 1 is called with, and how it refuses that.
REFUSED = {
    "array": "TypeError: a: ndarray is no torch tensor, and only tensors are multiplied over a group; torch.from_numpy",
    "layout": "ValueError: layout of a: 'row' is unknown; allowed are 'replicated', 'rows', 'columns', 'stack'",
    "layouts": "ValueError: layout: 'rows' is not a pair of names",
    "method": "ValueError: method: 'fast' is unknown; allowed are 'auto', 'redistribute', 'reduce'",
    "check": "ValueError: check: 'never' is unknown",
    "first": "ValueError: check: 'first' needs whole=",
    "backend": "ValueError: backend: 'tf32' is unknown",
    "scheme": "ValueError: scheme: 'III' is unknown",
    "rounding": "ValueError: rounding: 'up' needs accuracy='correct'",
    "vector": "ValueError: a: layout 'rows' needs a matrix or a stack of matrices, its shape is (5,)",
    "dtype": "TypeError: a: dtype torch.float16 is not supported",
    "sparse": "TypeError: a: ",
    "overlap": "ValueError: out: the array shares memory with a",
    "gradient": "RuntimeError: out: it is not for tensors that require grad",
    "whole": "ValueError: whole: 6 is not a pair of shapes",
    "extent": "ValueError: whole: ((4, 5), (5, 'x')) is not a pair of shapes",
    "flag": "TypeError: return_bound: ",
    "unhashable": "ValueError: accuracy: ['standard'] is unknown",
    "long": "ValueError: backend: '" + 3000 * "x",
    "device of a": "RuntimeError: b: device {device} differs from meta, where a lies",
    "device": "RuntimeError: a: the group has no backend for device meta; it has {backend}",
}  # fmt: skip


def refuse(here: Here, name: str) -> tuple[str, bool]:
    a, b = operands(here)
    before = a.clone()
    options: dict[str, Any] = {}
    if name == "flag":
        ozfp4.distributed.matmul(
            a, b, return_bound=True
        )  # a call that is known has the flag's value, not its type
    if here.rank == 1:
        options = {
            "layout": {"layout": ("row", "rows")}, "layouts": {"layout": "rows"}, "method": {"method": "fast"},
            "check": {"check": "never"}, "first": {"check": "first"}, "backend": {"backend": "tf32"},
            "scheme": {"scheme": "III"}, "rounding": {"rounding": "up"}, "overlap": {"out": a[:, :3]},
            "gradient": {"out": a.new_empty(2, 3)}, "whole": {"whole": 6},
            "extent": {"whole": ((4, 5), (5, "x"))}, "flag": {"return_bound": 1}, "unhashable": {"accuracy": ["standard"]},
            "long": {"backend": 3000 * "x"},
        }.get(name, {})  # fmt: skip
        a = {
            "array": np.ones((2, 5)), "vector": a[0], "dtype": a.half(), "sparse": a.to_sparse(),
            "gradient": a.clone().requires_grad_(), "device of a": a.to("meta"), "device": a.to("meta"),
        }.get(name, a)  # fmt: skip
        b = b.to("meta") if name == "device" else b
    text = said(here, lambda: ozfp4.distributed.matmul(a, b, **options))
    is_same = (
        type(a) is not torch.Tensor or a.shape != before.shape or name in ("sparse", "dtype") or a.is_meta
    )
    return text, is_same or bool((a == before).all())


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_of_one_rank_are_raised_by_all(failing: Ranks, name: str) -> None:
    found = failing.run(refuse, name)
    assert all(is_unchanged for _, is_unchanged in found)
    texts = [text for text, _ in found]
    device = "cpu" if failing.device == "cpu" else "cuda:1"
    backend = {"cpu": "gloo for cpu", "cuda": "nccl for cuda"}.get(
        failing.device, "gloo for cpu, nccl for cuda"
    )
    assert texts[1].startswith(REFUSED[name].format(device=device, backend=backend))
    assert texts == alike(failing, f"RuntimeError: rank 1 refused: {texts[1]}", texts[1])


def alike(ranks: Ranks, told: str, own: str) -> list[str]:
    """The errors of all ranks: `own` of rank 1, `told` of the others."""
    return [own if rank == 1 else told for rank in range(ranks.size)]


class BrokenError(Exception):
    """The error of a product on one rank."""


def break_product(here: Here, where: str, result: str) -> str:
    """Rank 1 fails in its second product, or has no memory for what comes; the layouts make everybody receive from it."""
    a, _ = operands(here)
    calls, multiply = [], gathered.matmul

    def fail(*args: Any, **names: Any) -> Any:
        calls.append(1)
        if here.rank == 1 and len(calls) == 2:
            raise BrokenError("no more")
        return multiply(*args, **names)

    def short(*args: Any, **names: Any) -> Any:
        if here.rank == 1 and names.get("dtype") == torch.uint8 and isinstance(args[0], int):
            raise torch.OutOfMemoryError("too much")
        return torch.empty(*args, **names)

    mine = torch.ones(5, 1, dtype=torch.float64, device=here.device)

    def call() -> Any:
        with by_bytes():
            return ozfp4.distributed.matmul(
                a, mine, layout=("rows", "columns"), result=result, method="redistribute"
            )

    if where == "product":
        return said(here, call, (gathered, "matmul", fail))
    return said(here, call, (agree, "LEAST_CONFIRMED", 1), (gathered, "torch", Torch(empty=short)))


def test_a_failed_product_is_raised_by_its_receivers(failing: Ranks) -> None:
    own = "BrokenError: no more"
    told = alike(failing, f"RuntimeError: rank 1 refused: {own}", own)
    assert failing.run(break_product, "product", "replicated") == told
    assert failing.run(break_product, "product", "rows") == alike(failing, "", own)


def test_missing_memory_is_known_before_anybody_sends(failing: Ranks) -> None:
    own = "OutOfMemoryError: too much"
    told = alike(failing, f"RuntimeError: rank 1 refused: {own}", own)
    assert failing.run(break_product, "memory", "rows") == told


def exchanges(a: Any, b: Any, calls: list[dict[str, Any]]) -> list[int]:
    """How many exchanges products with these keywords make."""
    counts, swap = [], agree.Group.swap

    def count(self: Any, *args: Any) -> Any:
        counts[-1] += 1
        return swap(self, *args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(agree.Group, "swap", count)
        for options in calls:
            counts.append(0)
            ozfp4.distributed.matmul(a, b, **options)
    return counts


def remembered(here: Here) -> list[int]:
    whole = ((2 * here.size, 5), (5, 3))
    first = {"whole": whole, "check": "first"}
    return exchanges(*operands(here), [{}, {}, first, first, {"whole": whole}])


def test_remembered_agreements_need_no_exchange(pair: Ranks) -> None:
    assert pair.run(remembered) == [[1, 1, 1, 0, 1]] * 2


def again(here: Here) -> list[str]:
    """Calls that rank 0 makes alike, and others not: of five rows and of six it has three."""
    _, b = operands(here)
    found = []
    for rows in (5, 6, 5):
        a = torch.arange(5.0 * rows, dtype=torch.float64, device=here.device).view(rows, 5)
        for dtype in (torch.float64, torch.float32 if here.rank == 1 else torch.float64):
            mine = a.to(dtype).chunk(here.size)[here.rank]
            text = error_of(lambda x=mine: ozfp4.distributed.matmul(x, b, result="replicated"))
            if not text:
                c = ozfp4.distributed.matmul(mine, b, result="replicated")
                text = "" if torch.equal(c, a @ b) else "another product"
            found.append(text)
    return found


def test_an_agreement_is_no_agreement_upon_another_call(pair: Ranks) -> None:
    told = "ValueError: dtype of a: the ranks differ: 'torch.float64' on rank 0; 'torch.float32' on rank 1"
    assert pair.run(again) == [["", told] * 3] * 2


def die(here: Here, when: str) -> str:
    a, b = operands(here)
    check_in_order(here)
    if here.rank == 1:
        if when == "before":
            os._exit(3)
        gathered.matmul = lambda *args, **names: os._exit(3)
    with by_bytes():
        return error_of(lambda: ozfp4.distributed.matmul(a, b, result="replicated"))


def hears(
    ranks: Ranks,
    function: Callable[..., Any],
    *arguments: Any,
    least: float = 0.0,
    dies: bool = False,
    may_end: bool = False,
) -> None:
    """Every rank but 1 raises in time that it had no answer. `dies`: rank 1 does. `may_end`: under NCCL alone torch may end the
    others as well, at the timeout."""
    start = time.monotonic()
    found = ranks.outcomes(function, *arguments, limit=80.0)
    assert time.monotonic() - start < 60
    assert found[1].is_dead if dies else found[1].value == ""
    for rank in {*range(ranks.size)} - {1}:
        if found[rank].is_dead and ranks.device == "cuda" and may_end:
            continue
        told = f"RuntimeError: rank {rank} of {ranks.size} had no answer of all other ranks: one of them has"
        text = found[rank].value or (found[rank].error if dies else "")  # it may die within what comes before
        assert str(text).startswith(told), found[rank]
        assert least < found[rank].seconds < 40
    ranks.close()


def alone(kind: tuple[str, int], timeout: float) -> Ranks:
    """A new group, as it will be in disorder. NCCL takes seconds to connect for the first time."""
    device, size = kind
    check_gpus(size, device)
    return Ranks(size, device, timeout if device == "cpu" else 20.0)


@pytest.mark.parametrize("when", ["before", "in the product"])
@pytest.mark.parametrize("kind", FAILING, ids=named)
def test_a_death_is_raised_by_the_others(kind: tuple[str, int], when: str) -> None:
    hears(alone(kind, 5.0), die, when, dies=True, may_end=when == "in the product")


def leave(here: Here) -> str:
    """Rank 1 does not come."""
    a, b = operands(here)
    check_in_order(here)
    return "" if here.rank == 1 else error_of(lambda: ozfp4.distributed.matmul(a, b))


@pytest.mark.parametrize("kind", PAIRS, ids=named)
def test_a_rank_that_does_not_come_is_waited_for_as_long_as_the_group_says(kind: tuple[str, int]) -> None:
    hears(alone(kind, 2.0), leave, least=1.0)


def on_cpu(what: str) -> Torch:
    """torch with the CPU as its GPU, as far as an exchange by a device needs it. The exchange never ends, is in a graph that is
    being captured, or has no memory."""

    def empty(*args: Any, pin_memory: bool = False, **names: Any) -> Any:
        if what == "full":
            raise torch.cuda.OutOfMemoryError("too much")
        return torch.empty(*args, **names)

    cuda = SimpleNamespace(
        OutOfMemoryError=torch.cuda.OutOfMemoryError, current_device=lambda: 0, Stream=object,
        is_current_stream_capturing=lambda: what == "captured", stream=lambda _: nullcontext(),
        Event=lambda: SimpleNamespace(record=lambda: None, query=lambda: what != "endless"),
    )  # fmt: skip
    return Torch(cuda=cuda, device=lambda *_: torch.device("cpu"), empty=empty)


def by_device(here: Here, what: str) -> tuple[str, float]:
    over = agree.Group(dist.group.WORLD)
    over.on_host = False
    taken = []

    def call() -> None:
        start = time.monotonic()
        try:
            assert over.swap(f"{here.rank}".encode()) == [b"0", b"1"]
        finally:
            taken.append(time.monotonic() - start)

    text = said(here, call, (agree, "torch", on_cpu(what)), (agree, "_timeout", lambda *_: 1.0))
    return text, taken[0]


BY_DEVICE = {
    "serving": "",
    "captured": "RuntimeError: a CUDA graph is being captured, in which no rank can wait for the others; whole= and check=",
    "full": "OutOfMemoryError: too much",
    "endless": "RuntimeError: rank 0 of 2 had no answer of all other ranks: one of them has ended, or raised or waits elsewhere: "
    "nothing came in 0.8 s, 0.8 of the group's timeout",
}  # fmt: skip


@pytest.mark.parametrize("what", BY_DEVICE)
def test_an_exchange_by_a_device(what: str) -> None:
    """The error names the cause, and comes before the timeout, at which torch would end the process."""
    text, taken = group(2).run(by_device, what)[0]
    assert text.startswith(BY_DEVICE[what]) if BY_DEVICE[what] else text == ""
    assert what != "endless" or taken >= 0.8


def after_its_end(here: Here) -> str:
    handle = dist.new_group(list(range(here.size)))
    over = agree.Group(handle)
    dist.destroy_process_group(handle)
    del handle
    gc.collect()
    return said(here, lambda: over.swap(b""))


def test_a_group_that_has_ended_is_not_that_of_all_ranks() -> None:
    for text in group(2).run(after_its_end):
        assert text.startswith("RuntimeError")
        assert text.endswith("group: it has ended")


def groups(here: Here) -> list[str]:
    """Sub-groups, a group of one rank, and what is none."""
    a, b = operands(here)
    wrong, members = [], [0, 2]
    pair, single = dist.new_group(members), [dist.new_group([rank]) for rank in range(here.size)][here.rank]
    if here.rank in members:
        place = members.index(here.rank)
        x = torch.arange(15.0, dtype=torch.float64, device=here.device).view(3, 5)
        c = ozfp4.distributed.matmul(x.chunk(2)[place], b, group=pair, result="replicated")
        wrong += [] if torch.equal(c, x @ b) else ["pair"]
    else:
        text = error_of(lambda: ozfp4.distributed.matmul(a, b, group=pair))
        wrong += [] if text.startswith("RuntimeError: group: this process is not a member") else [text]
    for layout in (("rows", "columns"), ("columns", "rows"), ("replicated", "replicated"), ("rows", "rows")):
        x = a.clone().requires_grad_()
        c = ozfp4.distributed.matmul(x, b, group=single, layout=layout)
        c.sum().backward()
        wrong += (
            []
            if torch.equal(c, a @ b) and torch.equal(x.grad, torch.full_like(a, 3))
            else [f"single {layout}"]
        )
    text = error_of(lambda: ozfp4.distributed.matmul(a, b[:4], group=single))
    wrong += [] if text.startswith("ValueError: inner dimensions differ") else [text]
    text = error_of(lambda: ozfp4.distributed.matmul(a, b, group="world"))
    wrong += [] if text.startswith("TypeError: group: str is no torch.distributed group") else [text]
    dist.destroy_process_group(single)
    return wrong


def test_groups(ranks: Ranks) -> None:
    if ranks.size < 3:
        pytest.skip("a pair of more than two")
    for wrong in ranks.run(groups):
        assert wrong == []


def test_without_a_group() -> None:
    x = torch.ones(2, 2, dtype=torch.float64)
    with pytest.raises(RuntimeError, match=r"group: torch.distributed is not initialised"):
        ozfp4.distributed.matmul(x, x)
