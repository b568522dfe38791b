"""The decision about a request: by the core of the CPU (csrc/product/cpu), or by that of a device (`on_cuda`)."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._options import Options
from .._plans.plan import Plan, make_plan
from .._request.library import is_complex
from .._request.operands import MatmulRequest


def precision(single: bool) -> int:
    """Bits of a result of float32 or complex64 (`single`), or of float64."""
    return 24 if single else 53


def capacity(asked: Options, single: bool) -> int:
    """Bits of a plan for what was asked for; `single`: of a float32 result. ValueError for a family that has too few.

    >>> scaled = Options(accuracy="scaled")
    >>> capacity(scaled, True), capacity(scaled._replace(bits=30), True), capacity(Options(), False)
    (24, 30, 57)
    """
    if asked.accuracy == "scaled":
        return precision(single) if asked.bits is None else asked.bits
    bits = _core.accuracy_bits(asked.accuracy, precision(single))
    if asked.family != "least":
        raise ValueError(
            f"family: {asked.family!r} is for accuracy='scaled'; it has 53 bits, and accuracy={asked.accuracy!r} takes {bits}"
        )
    return bits


def check_bits_of_plan(asked: Options, single: bool) -> None:
    """ValueError unless the plan that was given has enough bits for the accuracy."""
    assert asked.plan is not None
    bits = capacity(asked, single)
    if asked.accuracy != "scaled" and asked.plan.bits < bits:
        raise ValueError(
            f"plan: its bits are {asked.plan.bits}, the accuracy {asked.accuracy!r} needs {bits}; 'scaled' takes it"
        )


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


def are_paired(request: MatmulRequest) -> bool:
    """Whether both operands are complex."""
    return is_complex(request.a.dtype) and is_complex(request.b.dtype)


def decide_on_cpu(request: MatmulRequest) -> Plan:
    """The plan of a request. ValueError for an inner dimension for which it is not exact, RuntimeError if no suitable
    kernel passed its self-test."""
    asked, shape, bits = request.asked, request.shape, precision(request.single)
    is_paired, has_bound = are_paired(request), asked.return_bound
    return plan_of(asked, _core.choose(asked, shape.m, shape.n, shape.k, bits, is_paired, has_bound)[0])
