"""ozfp4.bounds: the numbers that the paper prints, and that each is tight."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ozfp4 import bounds
from ozfp4.bounds import Bound


def limits(conditions: tuple[Bound, ...]) -> list[int]:
    return [condition.k_max for condition in conditions]


def test_lemma_1() -> None:
    assert [bounds.gap_free_range(p) for p in (1, 2, 3)] == [4, 56, 732]
    assert all(bounds.gap_free_range(p) == (13**p - 1) // 3 for p in range(1, 17))
    assert bounds.gap_free_range(14) < 2**53 <= bounds.gap_free_range(15)


@pytest.mark.parametrize(
    ("p", "message"), [(0, "p: 0 is below 1"), (-1, "p: -1 is below 1"), (17, r"p: 17 is outside 1\.\.16")]
)
def test_lemma_1_is_defined_for_1_to_16_limbs(p: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bounds.gap_free_range(p)


def test_lemma_2() -> None:
    assert limits(bounds.scheme_i_k_limits(16384)) == [116508, 17476]
    for limit, factor in zip(limits(bounds.scheme_i_k_limits(1)), (144, 64 * 15), strict=True):
        assert factor * limit <= 2**24 < factor * (limit + 1)
    assert limits(bounds.scheme_i_k_limits(1, p=8, q=15))[1] == 2**24 // (64 * 8)


@pytest.mark.parametrize(("p", "q", "message"), [(0, 15, "p: 0 is below 1"), (15, -1, "q: -1 is below 1")])
def test_lemma_2_needs_limbs(p: int, q: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bounds.scheme_i_k_limits(1, p, q)


def test_lemma_3() -> None:
    assert limits(bounds.scheme_ii_k_limits(16384)) == [116508, 58254, 76087, 76549]
    accumulators = ((144, 2**24), (288, 2**24), (28224, 2**31))
    for limit, (factor, top) in zip(limits(bounds.scheme_ii_k_limits(1))[:3], accumulators, strict=True):
        assert factor * limit <= top < factor * (limit + 1)
    product = 1
    for m in (169, 115, 113, 112, 111, 109, 107, 103, 101, 97, 89, 83, 79, 73, 71, 67, 61, 59, 53):
        product *= m
    limit = limits(bounds.scheme_ii_k_limits(1))[3]
    assert 2 * limit * 2**106 < product <= 2 * (limit + 1) * 2**106


@pytest.mark.parametrize("lemma", [bounds.scheme_i_k_limits, bounds.scheme_ii_k_limits])
def test_the_inner_dimension_is_a_number_from_0_on(lemma: Callable[[object], tuple[Bound, ...]]) -> None:
    for k in ("a", 5.0, None, True, [1]):
        with pytest.raises(TypeError, match=r"^k: .* is not an integer"):
            lemma(k)
    with pytest.raises(ValueError, match=r"^k: -5 is below 0"):
        lemma(-5)
    assert all(bound.holds for bound in lemma(0))
    with pytest.raises(TypeError, match=r"^p: '3' is not an integer"):
        bounds.gap_free_range("3")
    with pytest.raises(TypeError, match=r"^q: 2\.5 is not an integer"):
        bounds.scheme_i_k_limits(1, 2, 2.5)


def test_slack() -> None:
    tightest = min(bounds.scheme_ii_k_limits(16384), key=lambda bound: bound.slack)
    assert tightest.k_max == 58254
    assert tightest.slack == 58254 - 16384
    assert tightest.holds
    assert not Bound("x", k=5, k_max=4).holds
    assert Bound("x", k=4, k_max=4).holds
    assert [bound.holds for bound in bounds.scheme_ii_k_limits(60000)] == [True, False, True, True]
