"""The limits on K that the paper prints (Lemmas 1 to 3), and that each is tight."""

from __future__ import annotations

import math

import pytest

from ozfp4 import _core
from ozfp4._plans.plan import make_plan


def test_lemma_1() -> None:
    assert [_core.gap_free_range(p) for p in (1, 2, 3)] == [4, 56, 732]
    assert all(_core.gap_free_range(p) == (13**p - 1) // 3 for p in range(1, 17))
    assert _core.gap_free_range(14) < 2**53 <= _core.gap_free_range(15)


@pytest.mark.parametrize(
    ("factor", "top", "printed"),
    [(144, 2**24, 116508), (64 * 15, 2**24, 17476), (288, 2**24, 58254), (28224, 2**31, 76087)],
)
def test_accumulators_of_lemmas_2_and_3(factor: int, top: int, printed: int) -> None:
    limit = _core.accumulator_k_max(factor, top)
    assert limit == printed
    assert factor * limit <= top < factor * (limit + 1)


def test_the_crt_of_lemma_3() -> None:
    plan = make_plan("II", "fp4", "paper", 53, 1)
    assert plan.moduli == (
        169,
        115,
        113,
        112,
        111,
        109,
        107,
        103,
        101,
        97,
        89,
        83,
        79,
        73,
        71,
        67,
        61,
        59,
        53,
    )
    assert plan.k_max == 76549
    assert 2 * plan.k_max * 2**106 < math.prod(plan.moduli) <= 2 * (plan.k_max + 1) * 2**106
