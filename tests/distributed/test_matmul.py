"""Products over groups have the bits of one device: thousands of small ones over all layouts, uneven and empty parts included."""

from __future__ import annotations

import itertools
from contextlib import nullcontext

import pytest
import torch
from cases import by_bytes, draw, equal, error_of, natural, part
from ranks import Here, Ranks

import ozfp4
import ozfp4.distributed
from ozfp4._torch_ops import agree
from ozfp4.distributed import _cost as cost
from ozfp4.distributed import _gathered as gathered


def many(here: Here, seeds: range, in_pieces: bool) -> list[str]:
    """The errors found. In pieces: of the least sizes, by prepared operands, with the exchange before, and with results moved
    where that takes fewer bytes."""
    kept, prepare = [], gathered.prepare
    with pytest.MonkeyPatch.context() as patch, by_bytes() if in_pieces else nullcontext():
        if in_pieces:
            for name, value in {"PIECES_FROM": 0.0, "LEAST_COLUMNS": 2, "MOST_BYTES": 1}.items():
                patch.setattr(cost, name, value)
            patch.setattr(agree, "LEAST_CONFIRMED", 1)
            patch.setattr(gathered, "LEAST_KEPT", 0.0)
            patch.setattr(
                gathered, "prepare", lambda *args, **names: kept.append(args) or prepare(*args, **names)
            )
        wrong = [text for seed in seeds for text in one(here, seed)]
    return wrong if bool(kept) == in_pieces else ["nothing was prepared"]


def one(here: Here, seed: int) -> list[str]:
    a, b, layout, result, options = draw(seed)
    expected = ozfp4.matmul(a, b, **options)
    word = result or natural(layout)
    mine, wrong = part(expected, word, here.rank, here.size), []
    parts = [
        part(x, each, here.rank, here.size).to(here.device) for x, each in zip((a, b), layout, strict=True)
    ]
    given = {}
    if seed % 3 == 0:  # into a view, with noise in it
        given["out"] = torch.full((*mine.shape, 2), 77, device=here.device).to(mine.dtype)[..., 1]
    bounds = seed % 5 == 0 and (a.dtype.is_floating_point or a.dtype.is_complex)
    found = ozfp4.distributed.matmul(
        *parts, layout=layout, result=result, **options, **given, return_bound=bounds
    )
    if bounds:
        found, bound = found
        _, about = ozfp4.matmul(a, b, **options, return_bound=True)
        if not equal(bound.cpu(), part(about, word, here.rank, here.size)):
            wrong.append(f"bounds of seed {seed}: {layout} {result} {options}")
    if "out" in given and found is not given["out"]:
        wrong.append(f"out of seed {seed}")
    if not equal(found.cpu(), mine):
        shapes = tuple(a.shape), tuple(b.shape), a.dtype, b.dtype
        wrong.append(f"seed {seed}: {shapes} {layout} {result} {options}")
    return wrong


def test_many_small_products(ranks: Ranks) -> None:
    for wrong in ranks.run(many, range(ranks.size * 10000, ranks.size * 10000 + 1600 // ranks.size), False):
        assert wrong == []


def test_products_in_pieces(ranks: Ranks) -> None:
    for wrong in ranks.run(many, range(ranks.size * 20000, ranks.size * 20000 + 800 // ranks.size), True):
        assert wrong == []


def every(here: Here, size: tuple[int, int, int]) -> list[str]:
    m, n, k = size
    generator = torch.Generator().manual_seed(1)
    a, b = torch.randn(m, k, generator=generator).double(), torch.randn(k, n, generator=generator).double()
    expected, wrong = ozfp4.matmul(a, b), []
    names = ("replicated", "rows", "columns")
    for layout in itertools.product(names, names):
        parts = [
            part(x, each, here.rank, here.size).to(here.device)
            for x, each in zip((a, b), layout, strict=True)
        ]
        for result, method in itertools.product(names, ("auto", "redistribute")):
            found = ozfp4.distributed.matmul(*parts, layout=layout, result=result, method=method)
            if not equal(found.cpu(), part(expected, result, here.rank, here.size)):
                wrong.append(f"{layout} {result} {method}")
    return wrong


@pytest.mark.parametrize("size", [(9, 10, 11), (1, 40, 3), (40, 1, 200), (3, 2, 500), (64, 64, 64)])
def test_every_layout(ranks: Ranks, size: tuple[int, int, int]) -> None:
    for wrong in ranks.run(every, size):
        assert wrong == []


def overflowing(here: Here, where: int) -> tuple[str, bool]:
    """Entry (where, 0) does not fit; the error, and whether out is as it was."""
    a = torch.eye(8, dtype=torch.int64)
    a[where, where] = 2**40
    b = torch.full((8, 3), 2**30, dtype=torch.int64)
    out = part(torch.full((8, 3), 5), "rows", here.rank, here.size).to(here.device).clone()
    mine = part(a, "rows", here.rank, here.size).to(here.device)
    given = mine, b.to(here.device)
    text = error_of(lambda: ozfp4.distributed.matmul(*given, out=out, overflow="raise"))
    return text, bool((out == 5).all())


def test_an_overflow_of_one_rank_is_raised_by_all(ranks: Ranks) -> None:
    found = ranks.run(overflowing, 7)
    owner = next(
        rank for rank in reversed(range(ranks.size)) if len(torch.arange(8).chunk(ranks.size)) > rank
    )
    for rank, (text, is_unchanged) in enumerate(found):
        assert is_unchanged
        assert text.startswith("OverflowError: ")
        assert "3 entries of the product do not fit" in text
        assert (rank == owner) != (f"rank {owner}" in text)


def test_a_product_without_memory_takes_less_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A product that runs out of memory is made again within a limit, as free memory may be in pieces."""
    limits: list[object] = []

    def multiply(*args: torch.Tensor, **names: object) -> torch.Tensor:
        limits.append(names.get("workspace_limit"))
        if len(limits) % 2:
            raise torch.cuda.OutOfMemoryError("none")
        return ozfp4.matmul(*args, **names)

    monkeypatch.setattr(gathered, "matmul", multiply)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (2**30, 2**32))
    a, b = torch.randn(30, 40, dtype=torch.float64), torch.randn(40, 20, dtype=torch.float64)
    for asked, taken in ((None, 3 * 2**28), (2**24, 2**24)):
        out = torch.full((30, 20), 7.0, dtype=torch.float64)
        products = gathered.Products({"workspace_limit": asked, "accuracy": "correct"}, False)
        products(a, b, out, None)
        assert products.failure is None
        assert limits[-2:] == [asked, taken]
        assert equal(out, ozfp4.matmul(a, b, accuracy="correct"))
