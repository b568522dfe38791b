"""Products on the CPU: what its core (csrc/product/cpu) decides about them."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from .. import _core
from .._options import Options
from .._plans.plan import Plan
from .._request.library import is_complex
from .._request.operands import MatmulRequest
from .decision import Decision, plan_of

Array = npt.NDArray[Any]


def decide(request: MatmulRequest) -> Decision:
    """The decision about a request. ValueError for an inner dimension that the plan does not serve exactly, RuntimeError if no
    kernel that may serve passed its self-test."""
    asked, shape = request.asked, request.shape
    is_paired = is_complex(request.a.dtype) and is_complex(request.b.dtype)
    chosen, reason = _core.choose(
        asked, shape.m, shape.n, shape.k, 24 if request.single else 53, is_paired, asked.return_bound
    )
    return Decision(plan_of(asked, chosen), reason)


def prepare(x: Array, side: str, other: str, asked: Options, single: bool) -> tuple[Any, Plan]:
    """An operand as the core keeps it, and its plan. Raises as :func:`multiply`."""
    held = _core.prepare(x, side == "right", other == "real", 24 if single else 53, asked)
    return held, plan_of(asked, held.plan)


def decide_piece(asked: Options, k: int, single: bool) -> Plan:
    """The plan of a product of which this process has a piece of K: where no backend is asked for, the same one on every machine,
    whatever was measured there. Raises as :func:`decide`."""
    chosen = asked._replace(backend="fp64") if asked.backend == "auto" and asked.plan is None else asked
    return plan_of(asked, _core.choose(chosen, 1, 1, k, 24 if single else 53, False, False)[0])
