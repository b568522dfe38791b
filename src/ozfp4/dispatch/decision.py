"""What was decided about a request."""

from __future__ import annotations

from dataclasses import dataclass

from ..backends.cuda.variant import Variant
from ..plans.plan import Plan, make_plan
from ..request.arguments import Arguments

ASKED_FOR = "asked for"


@dataclass(frozen=True)
class Decision:
    """The plan, why its backend, and why that is not the preferred one (None if it is).

    `variant` is what multiplies on a GPU; None on the CPU, whose kernel is its backend's, and where there is nothing to
    multiply.
    """

    plan: Plan
    reason: str
    fallback: str | None = None
    variant: Variant | None = None


def capacity(bits: int | None, single: bool) -> int:
    """Bits of the scaled integers; `single`: the operands are float32.

    >>> capacity(None, True), capacity(None, False), capacity(30, True)
    (24, 53, 30)
    """
    return (24 if single else 53) if bits is None else bits


def plan_asked_for(asked: Arguments, backend: str, k: int, single: bool) -> Plan:
    """The plan that was given, or that of a backend; ValueError where it is not exact for inner dimension `k`."""
    plan = asked.plan
    if plan is None:
        return make_plan(asked.scheme, backend, asked.family, capacity(asked.bits, single), max(k, 1))
    k_max = plan._core.k_max
    if k > k_max:
        raise ValueError(f"plan: its limit is K <= {k_max}, the inner dimension is {k}, {k - k_max} too long")
    return plan
