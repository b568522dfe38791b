"""The processes that tests of several ranks run in: errors and delays come back as what they are. Deaths: test_agreement.py."""

from __future__ import annotations

import time

import pytest
import torch
import torch.distributed as dist
from ranks import Here, Ranks, RanksError, group


def sums(here: Here, value: float) -> float:
    x = torch.full((1,), value + here.rank, device=here.device)
    dist.all_reduce(x)
    return x.item()


def fail(here: Here, who: int) -> int:
    if here.rank == who:
        raise ValueError(f"rank {who} does not want to")
    return here.rank


def wait(here: Here) -> None:
    if here.rank == 1:
        time.sleep(60)


def test_errors_name_the_rank() -> None:
    ranks = group(3)
    with pytest.raises(RanksError, match="rank 1 of 3: ValueError: rank 1 does not want to") as caught:
        ranks.run(fail, 1)
    assert [x.value for x in caught.value.outcomes] == [0, None, 2]
    assert ranks.run(sums, 0.0) == [3.0] * 3


def test_a_delay() -> None:
    ranks = Ranks(2)
    found = ranks.outcomes(wait, limit=1.0)
    assert [x.is_dead for x in found] == [False, True]
    assert not ranks.is_usable
