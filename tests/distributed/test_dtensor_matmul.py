"""``ozfp4.distributed.matmul`` of DTensors: the result has the given placements, with the bits of one device."""

from __future__ import annotations

import itertools

import pytest
import torch
from cases import error_of
from meshes import PLACED, assert_is, mesh_of, placed, placement, random
from ranks import Here, Ranks, group

import ozfp4.distributed

# ---- In the process of a rank


def all_placements(here: Here, extents: tuple[int, ...], every: int) -> int:
    """Placements of two matrices and of their product, one of so many; ten times as many where K is cut in both along some
    dimension. How many that were."""
    mesh, count = mesh_of(here, extents), 0
    of_one = list(itertools.product(PLACED, repeat=len(extents)))
    wanted = [None, *itertools.product(("R", "S0", "S1"), repeat=len(extents))]
    a, b = (random(i, shape, torch.float64, here.device) for i, shape in enumerate(((7, 9), (9, 5))))
    c = ozfp4.matmul(a, b)
    x = {words: placed(here, a, mesh, words) for words in of_one}
    y = {words: placed(here, b, mesh, words) for words in of_one}
    for number, (of_a, of_b, of_c) in enumerate(itertools.product(of_one, of_one, wanted)):
        is_inner = ("S1", "S0") in zip(of_a, of_b, strict=True)
        if number % (max(1, every // 10) if is_inner else every):
            continue
        placements = None if of_c is None else [placement(word) for word in of_c]
        found = ozfp4.distributed.matmul(x[of_a], y[of_b], placements=placements)
        assert_is(found, c, (of_a, of_b, of_c))
        assert placements is None or list(found.placements) == placements, (of_a, of_b, of_c)
        count += 1
    return count


def long_inner(here: Here, extents: tuple[int, ...], methods: list[str]) -> None:
    """K much longer than rows and columns: K is cut along the last dimension of the mesh, rows or columns along the first."""
    mesh = mesh_of(here, extents)
    first = [("R", "R"), ("S0", "R"), ("R", "S1")] if len(extents) > 1 else [()]
    for seed, dtype in enumerate((torch.float64, torch.float32, torch.int64)):
        a, b = (random(seed, shape, dtype, here.device, special=False) for shape in ((5, 2001), (2001, 6)))
        c = ozfp4.matmul(a, b)
        for method, before in itertools.product(methods, first):
            for of_a, of_b in (("S1", "S0"), ("S1", "R"), ("R", "S0")):
                words = [[*before[:1], of_a], [*before[1:], of_b]]
                x, y = (placed(here, z, mesh, w) for z, w in zip((a, b), words, strict=True))
                for last in (None, "R", "S0", "S1"):
                    of_c = None if last is None else [*(["R"] if before else []), last]
                    placements = None if of_c is None else [placement(word) for word in of_c]
                    found = ozfp4.distributed.matmul(x, y, placements=placements, method=method)
                    assert_is(found, c, (dtype, method, words, of_c))


def refused(here: Here) -> list[str]:
    from torch.distributed.tensor import Partial, Replicate, Shard

    mesh = mesh_of(here, (here.size,))
    whole = random(1, (8, 8), torch.float64, here.device, special=False)
    x, y = placed(here, whole, mesh, ["S0"]), placed(here, whole, mesh, ["R"])
    other = placed(here, whole, mesh_of(here, (1, here.size)), ["R", "R"])
    product = ozfp4.distributed.matmul
    calls = [
        lambda: product(x, y, placements=[Partial()]),
        lambda: product(x, y, placements=[Shard(2)]),
        lambda: product(x, y, placements=[Shard(0), Replicate()]),
        lambda: product(x, y, placements=Shard(0)),
        lambda: product(x, y, layout=("columns", "rows")),
        lambda: product(x, y, result="rows"),
        lambda: product(x, y, out=whole),
        lambda: product(x, y, method="reduce"),
        lambda: product(x, y, method="best"),
        lambda: product(x, y, accuracy="best"),
        lambda: product(x, other),
        lambda: product(x, whole),
        lambda: product(whole, whole, placements=[Shard(0)]),
        lambda: product(x.detach().requires_grad_(), y, return_bound=True),
        lambda: product(x.detach().requires_grad_(), y, plan=ozfp4.plan(8, 8, 8, accuracy="scaled")),
    ]
    return [error_of(call) for call in calls]


def overflowing(here: Here) -> str:
    """The first dimension of a mesh cuts rows, the second one K: one group of ranks overflows."""
    mesh = mesh_of(here, (2, 2))
    a = torch.ones((4, 4), dtype=torch.int8, device=here.device)
    a[0] = 100
    x, y = placed(here, a, mesh, ["S0", "S1"]), placed(here, torch.ones_like(a), mesh, ["R", "S0"])
    assert_is(ozfp4.distributed.matmul(x, y), ozfp4.matmul(a, torch.ones_like(a)), "wraps")
    return error_of(lambda: ozfp4.distributed.matmul(x, y, overflow="raise"))


# ---- In the process of the tests


def test_all_placements(meshed: tuple[Ranks, tuple[int, ...]]) -> None:
    ranks, mesh = meshed
    every = 1 if len(mesh) == 1 else 31  # of 2560, and no divisor of it, so that all words meet
    counts = ranks.run(all_placements, mesh, every)
    assert counts[0] >= (64 if len(mesh) == 1 else 150)
    assert len(set(counts)) == 1


@pytest.mark.parametrize("mesh", [(2,), (2, 2)], ids=str)
def test_both_ways_of_a_long_inner_dimension(mesh: tuple[int, ...]) -> None:
    methods = ["auto", "redistribute", "reduce"]
    group(2 ** len(mesh)).run(long_inner, mesh, methods)


def test_refusals() -> None:
    expected = [
        "ValueError: placements: P",
        "ValueError: placements: S(2) is no cut of a result with 2 axes",
        "ValueError: placements: 2 of them, and the mesh has 1 dimensions",
        "TypeError: placements: Shard(dim=0) is no sequence of placements",
        "ValueError: layout: is not for DTensors, which have placements",
        "ValueError: result: is not for DTensors",
        "ValueError: out: is not for DTensors",
        "ValueError: method: 'reduce' adds partial products up",
        "ValueError: method: 'best' is unknown",
        "ValueError: accuracy: 'best' is unknown",
        "ValueError: b: lies on DeviceMesh(",
        "TypeError: b: a Tensor together with a DTensor (a)",
        "ValueError: placements: [Shard(dim=0)] is for DTensors",
        "RuntimeError: return_bound: bounds have no derivative",
        "ValueError: plan: a Plan is not for DTensors that require grad",
    ]
    for found in group(2).run(refused):
        for said, start in zip(found, expected, strict=True):
            assert said.startswith(start), said


def test_an_overflow_of_some_ranks_is_one_of_all() -> None:
    said = group(4).run(overflowing)
    assert all("fit" in text for text in said), said
    own = [text for text in said[:2] if not text.startswith("OverflowError: rank")]
    assert said[2] == said[3]
    assert said[2].startswith("OverflowError: rank "), said
    assert all(f"refused: {text}" in said[2] for text in own), said
