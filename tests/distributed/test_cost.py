"""The way of a product and the data that it moves, compared with the data that collectives receive."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from cases import part
from ranks import Here, group

import ozfp4.distributed
from ozfp4._torch_ops.agree import Group
from ozfp4.distributed import _collectives as collectives
from ozfp4.distributed import _cost as cost
from ozfp4.distributed import _gathered as gathered
from ozfp4.distributed._layout import Placed, Problem, axis_of

NAMES = ("replicated", "rows", "columns")


def problem(
    ranks: int, m: int, k: int, n: int, layout: tuple[str, str], result: str, device: str = "cuda"
) -> Problem:
    def placed(shape: tuple[int, int], word: str) -> Placed:
        return Placed(shape).cut(axis_of(word, 2), ranks)

    places = placed((m, k), layout[0]), placed((k, n), layout[1]), placed((m, n), result)
    return Problem(ranks, *places, 8, 8, 8, device)


@pytest.mark.parametrize(
    ("shape", "layout", "result", "axis", "received"),
    [
        ((32768, 32768, 32768), ("rows", "replicated"), "rows", -2, 0),
        ((32768, 32768, 32768), ("rows", "columns"), "rows", -2, 32768**2 * 4),
        ((32768, 32768, 32768), ("rows", "rows"), "rows", -2, 32768**2 * 4),
        ((32768, 32768, 32768), ("replicated", "columns"), "columns", -1, 0),
        ((100, 32768, 32768), ("rows", "columns"), "rows", -1, 100 * 32768 * 4 + 100 * 32768 * 2),
        ((64, 64, 64), ("replicated", "replicated"), "replicated", None, 0),
        ((64, 64, 64), ("rows", "replicated"), "replicated", None, 64 * 64 * 4),
        ((32768, 32768, 32768), ("replicated", "replicated"), "replicated", -2, 32768**2 * 4),
    ],
)
def test_chosen_ways_and_received_bytes(
    shape: tuple[int, int, int], layout: tuple[str, str], result: str, axis: int | None, received: int
) -> None:
    way = cost.choose(problem(2, *shape, layout, result), "auto", False, False)
    assert (way.method, way.computed.axis, way.bytes) == ("redistribute", axis, received)


def test_partial_results_where_the_inner_dimension_is_long() -> None:
    long, square = (
        problem(2, *shape, ("columns", "rows"), "rows")
        for shape in ((512, 10**6, 512), (32768, 32768, 32768))
    )
    assert cost.choose(long, "auto", True, False).method == "reduce"
    assert cost.choose(long, "redistribute", True, False).method == "redistribute"
    assert cost.choose(long, "auto", False, False).method == "redistribute"
    assert cost.choose(square, "reduce", True, False).method == "reduce"


def count(here: Here, shape: tuple[int, int, int], layout: tuple[str, str], result: str) -> tuple[int, int]:
    """Bytes that this rank receives from others: counted, and by the model."""
    import torch

    received, gather, exchange = [0], collectives.gather, collectives.exchange

    def counting_gather(members: Group, x: torch.Tensor) -> collectives.Pending:
        received[0] += x.numel() * x.element_size() * (members.size - 1)
        return gather(members, x)

    def counting_exchange(
        members: Group, parts: list[torch.Tensor], shapes: list[tuple[int, ...]]
    ) -> list[torch.Tensor]:
        others = [torch.Size(each).numel() for rank, each in enumerate(shapes) if rank != members.rank]
        received[0] += sum(others) * parts[0].element_size()
        return exchange(members, parts, shapes)

    m, k, n = shape
    a, b = torch.ones(m, k, dtype=torch.float64), torch.ones(k, n, dtype=torch.float64)
    mine = [part(x, word, here.rank, here.size) for x, word in zip((a, b), layout, strict=True)]
    collectives.gather = gathered.gather = counting_gather
    collectives.exchange = counting_exchange
    try:
        ozfp4.distributed.matmul(*mine, layout=layout, result=result, method="redistribute")
    finally:
        collectives.gather = gathered.gather = gather
        collectives.exchange = exchange
    way = cost.choose(problem(here.size, m, k, n, layout, result, "cpu"), "redistribute", False, False)
    return received[0], way.bytes


def test_the_bytes_of_the_model_are_those_that_move() -> None:
    for layout in itertools.product(NAMES, NAMES):
        for result in NAMES:
            for counted, modelled in group(4).run(count, (8, 16, 24), layout, result):
                assert counted == modelled, (layout, result)


def test_how_many_pieces() -> None:
    """At once if the link is fast compared with the products; in pieces between hosts, on many ranks or if memory is short."""
    big = problem(2, 32768, 32768, 32768, ("rows", "rows"), "rows")
    computed = cost.choose(big, "redistribute", False, False).computed
    assert cost.pieces(big, computed) == [(0, 32768)]
    far = replace(problem(2, 16384, 16384, 16384, ("rows", "rows"), "rows"), hosts=2)
    computed = cost.choose(far, "redistribute", False, False).computed
    assert cost.pieces(far, computed) == [(begin, 2048) for begin in range(0, 16384, 2048)]
    assert cost.pieces(replace(far, hosts=1), computed) == [(0, 16384)]
    many = problem(8, 16384, 16384, 16384, ("rows", "columns"), "rows")
    computed = cost.choose(many, "redistribute", False, False).computed
    assert cost.pieces(many, computed) == [(0, 1024), (1024, 1024)]
    huge = problem(2, 65536, 65536, 65536, ("rows", "columns"), "rows")
    computed = cost.choose(huge, "redistribute", False, False).computed
    widths = [width for _, width in cost.pieces(huge, computed)]
    assert sum(widths) == 32768
    assert max(widths) * 65536 * 8 * 2 <= cost.MOST_BYTES
