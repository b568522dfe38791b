"""csrc/plan/prefix: every limit is below P² / 4 and hardly; CPU and GPU choose by the same limits."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nan, nextafter, prod

import pytest

from ozfp4 import _core, _testing
from ozfp4._plans.plan import make_plan
from support import PATHS, Path

with_moduli = pytest.mark.parametrize("path", [path for path in PATHS if path.scheme == "II"], ids=str)


def plan_of(path: Path, bits: int = 53, k: int = 1024) -> _core.Plan:
    return make_plan(path.scheme, path.backend, path.family, bits, k)._core


@with_moduli
@pytest.mark.parametrize("bits", [2, 24, 53])
def test_limits_are_rigorous_and_tight(path: Path, bits: int) -> None:
    plan = plan_of(path, bits)
    _, everything, limits = _testing.prefix_rule(plan, len(plan.moduli))
    assert everything == len(plan.moduli) == len(limits)
    for count, limit in enumerate(limits, 1):
        quarter = Fraction(prod(plan.moduli[:count]) ** 2, 4)
        # Room for a bound that was rounded down by 2^-53.
        assert Fraction(limit) * (1 + Fraction(1, 2**40)) < quarter
        assert Fraction(limit) > quarter * (1 - Fraction(1, 2**38))


@with_moduli
def test_the_least_count(path: Path) -> None:
    plan = plan_of(path)
    everything = len(plan.moduli)
    whole = path.family != "least"
    for prefixes in range(1, everything + 2):
        least, count, limits = _testing.prefix_rule(plan, prefixes)
        assert count == everything
        assert least == (everything if whole else max(1, everything - prefixes + 1))
        assert limits == _testing.prefix_rule(plan, _testing.MAX_PREFIXES)[2]


@with_moduli
def test_what_the_rule_chooses(path: Path) -> None:
    plan = plan_of(path)
    least, everything, limits = _testing.prefix_rule(plan, len(plan.moduli))
    for bound in (inf, nan, 1e308):
        assert _testing.moduli_needed(plan, bound) == everything
    assert _testing.moduli_needed(plan, 0.0) == least
    for count in range(least, everything):
        assert _testing.moduli_needed(plan, nextafter(limits[count - 1], 0)) == count
        assert _testing.moduli_needed(plan, limits[count - 1]) == count + 1


def test_nothing_to_choose_without_moduli() -> None:
    assert _testing.prefix_rule(make_plan("I", "fp4", "least", 53, 1)._core, 8) == (0, 0, [])
