"""Which plan serves a product on the CPU: the cheapest that can be trusted."""

from __future__ import annotations

from functools import lru_cache
from logging import DEBUG
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from .._options import Options
from ..backends import cpu
from ..plans.plan import Plan, make_plan
from ..report import Report
from ..request.library import is_complex, new_array
from ..request.operands import MatmulRequest
from ..support.logger import LOGGER
from ..trust import guard
from . import this_machine, told
from .decision import Decision, plan_asked_for

Array = npt.NDArray[Any]


def decide(request: MatmulRequest) -> Decision:
    """The decision about a request.

    Raises
    ------
    ValueError
        An inner dimension that the plan does not serve exactly.
    RuntimeError
        If no kernel that may serve passed its self-test.
    """
    this_machine.tell_core()
    asked, shape = request.asked, request.shape
    is_paired = request.is_paired or (is_complex(request.a.dtype) and is_complex(request.b.dtype))
    chosen, reason = _core.choose(
        asked, shape.m, shape.n, shape.k, 24 if request.single else 53, is_paired, asked.return_bound
    )
    return Decision(_plan_of(asked, chosen), reason)


def multiply(request: MatmulRequest, encloses: bool = False) -> tuple[Any, Any, Report | None]:
    """The product of floating-point matrices, or alpha A B + beta C of the request's update, in the caller's library; beside it
    bounds of its errors, or the product rounded up (`encloses`); and the report. None for what was not asked for.

    Raises
    ------
    ValueError
        An inner dimension that the plan does not serve exactly; a plan that does not serve the accuracy.
    MemoryError
        A workspace limit below what the smallest blocks need.
    RuntimeError
        A kernel that was asked for by name failed its self-test.
    """
    this_machine.tell_core()
    asked, torch = request.asked, request.torch
    is_logged = LOGGER.isEnabledFor(DEBUG)
    began = told.begin(request) if is_logged else 0.0
    c, beside = cpu.place(request, request.out), None
    if encloses:
        beside = cpu.place(request, request.upper)
    elif asked.return_bound:
        beside = new_array(torch, request.shape.result, np.complex128 if request.is_complex else np.float64)
    further: dict[str, Any] = {"is_reported": asked.report or is_logged}
    if beside is not None:
        further["upper" if encloses else "bound"] = cpu.matrix_view(request, beside)
    if (update := request.update) is not None:
        addend = None if update.c is None else cpu.matrix_view(request, update.c)
        further |= {"alpha": update.alpha, "beta": update.beta, "addend": addend}
    for name, side in zip(("prepared_a", "prepared_b"), request.prepared, strict=True):
        if side is not None:
            further[name] = side._held
    outcome = _core.multiply_arrays(request.a, request.b, cpu.matrix_view(request, c), asked, **further)
    about = None
    if further["is_reported"]:
        plan = _plan_of(asked, outcome["plan"])
        if is_logged:
            told.tell(request, Decision(plan, outcome["reason"], outcome["fallback"]), began)
        if asked.report:
            about = cpu.make_report(request, plan, outcome)
    found, other = (None if x is None else cpu.like_input(request, x) for x in (c, beside))
    return found, other, about


def _plan_of(asked: Options, made: tuple[Any, ...] | None) -> Plan:
    """The plan that was passed, or the core's."""
    return asked.plan if asked.plan is not None else make_plan(*(made or ()))


def prepare(x: Array, side: str, other: str, asked: Options, single: bool) -> tuple[Any, Plan]:
    """An operand as the core keeps it, and its plan. Raises as :func:`multiply`."""
    this_machine.tell_core()
    held = _core.prepare(x, side == "right", other == "real", 24 if single else 53, asked)
    return held, _plan_of(asked, held.plan)


def decide_piece(asked: Options, k: int, single: bool) -> Plan:
    """The plan of a product of which this process has a piece of K: where no backend is asked for, the same one on every machine,
    whatever was measured there. Raises as :func:`decide`."""
    chosen = asked._replace(backend="fp64") if asked.backend == "auto" and asked.plan is None else asked
    plan = plan_asked_for(chosen, chosen.backend, k, single)
    check_trusted(plan)
    return plan


WORDS_SERVE = "the norms of rows and columns say that the product fits machine words"
WORDS_WRAP = "integers are multiplied as they are"  # where no norm is asked whether an entry wraps


def may_go_direct(asked: Options) -> bool:
    """Whether a product may be made in machine words: nothing was asked for that only plans have."""
    return asked.plan is None and (asked.scheme, asked.backend, asked.family) == ("II", "auto", "least")


@lru_cache(maxsize=8)
def words_refusal(verdicts: int) -> str | None:
    """None if machine words can be trusted, else why not, by the number of changes of what is known (``guard.generation``)."""
    return guard.words_refusal()


def check_trusted(plan: Plan) -> None:
    """RuntimeError unless the kernel that multiplies this plan's planes passed its self-test."""
    if (refusal := guard.cpu_refusal(plan.alphabet)) is not None:
        raise RuntimeError(refusal)
