"""What was decided about a request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import _core
from .._options import Options, check_family
from .._plans.plan import Plan, make_plan


@dataclass(frozen=True)
class Decision:
    """The plan, why its backend, and why that is not the preferred one (None if it is); of a GPU the number of its kernel."""

    plan: Plan
    reason: str
    fallback: str | None = None
    kernel: int | None = None


def capacity(asked: Options, single: bool) -> int:
    """Bits of a plan for what was asked for; `single`: of a float32 result. ValueError for a family that has too few.

    >>> scaled = Options(accuracy="scaled")
    >>> capacity(scaled, True), capacity(scaled._replace(bits=30), True), capacity(Options(), False)
    (24, 30, 57)
    """
    precision = 24 if single else 53
    if asked.accuracy != "scaled":
        bits = _core.accuracy_bits(asked.accuracy, precision)
        check_family(asked.family, asked.accuracy, bits)
        return bits
    return precision if asked.bits is None else asked.bits


def plan_of(asked: Options, made: tuple[Any, ...] | None) -> Plan:
    """The plan that was passed, or the core's."""
    return asked.plan if asked.plan is not None else make_plan(*(made or ()))


MOST_COMPLEX_BITS = _core.MOST_COMPLEX_BITS  # of longer integers no GPU encodes pairs (csrc/plan/choice.hpp)


def complex_plan(scheme: str, backend: str, family: str, bits: int, k: int) -> Plan | None:
    """The plan of complex products for a real product of paired operands, where there is one: the result is the same."""
    if scheme != "II" or family != "least" or bits > MOST_COMPLEX_BITS:
        return None
    try:
        return make_plan(scheme, backend, family, bits, k, is_complex=True)
    except ValueError:  # the moduli end before those of real products do
        return None


def check_bits_of_plan(asked: Options, single: bool) -> None:
    """ValueError unless the plan that was given has enough bits for the accuracy."""
    assert asked.plan is not None
    bits = capacity(asked, single)
    if asked.accuracy != "scaled" and asked.plan.bits < bits:
        raise ValueError(
            f"plan: its bits are {asked.plan.bits}, the accuracy {asked.accuracy!r} needs {bits}; 'scaled' takes it"
        )
