"""Moved parts arrive where they should, for parts of all sizes: uneven and empty ones, strided, of any dtype."""

from __future__ import annotations

import itertools
import random

import torch
from cases import equal
from ranks import Here, Ranks

from ozfp4._torch_ops.agree import take_group
from ozfp4.distributed._collectives import move
from ozfp4.distributed._layout import Placed, chunk_sizes

DTYPES = [torch.float64, torch.float32, torch.complex128, torch.int64, torch.int16, torch.uint8, torch.bool]


def all_moves(here: Here, seed: int) -> list[str]:
    """From each cut of a stack of matrices, and from none, to each other one."""
    choose, generator = random.Random(seed), torch.Generator().manual_seed(seed)
    group = take_group(None)
    shape = tuple(choose.choice([0, 1, 3, 6, 11]) for _ in range(3))
    dtype = choose.choice(DTYPES)
    whole = torch.randint(0, 2, shape, generator=generator).to(dtype)
    if dtype.is_floating_point or dtype.is_complex:
        whole = torch.randn(shape, generator=generator, dtype=dtype)
    places = [Placed(shape).cut(axis, here.size) for axis in (None, -3, -2, -1)]
    wrong = []
    for source, target in itertools.product(places, places):
        mine = source.part(whole, here.rank).to(here.device)
        if seed % 3 == 1:
            mine = mine.mT.contiguous().mT
        if seed % 3 == 2 and dtype.is_complex:
            mine = mine.conj().resolve_conj().conj()
        found = move(group, mine, source, target).cpu()
        if not equal(found, target.part(whole, here.rank)) or tuple(found.shape) != target.local(here.rank):
            wrong.append(f"seed {seed}: {source} to {target} of {dtype}")
    return wrong


def moves(here: Here, seeds: range) -> list[str]:
    return [text for seed in seeds for text in all_moves(here, seed)]


def test_moves(ranks: Ranks) -> None:
    for wrong in ranks.run(moves, range(ranks.size * 100, ranks.size * 100 + 20)):
        assert wrong == []


def test_chunks_are_those_of_torch() -> None:
    for n, ranks in itertools.product(range(30), range(1, 10)):
        sizes = [len(x) for x in torch.arange(n).chunk(ranks)]
        assert chunk_sizes(n, ranks) == (*sizes, *(0,) * (ranks - len(sizes)))
