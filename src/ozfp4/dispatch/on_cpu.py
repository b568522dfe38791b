"""Which plan serves a product on the CPU: the cheapest that can be trusted."""

from __future__ import annotations

from collections.abc import Callable
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
    c, beside = cpu.place(request, request.out), None
    if encloses:
        beside = cpu.place(request, request.upper)
    elif request.asked.return_bound:
        beside = _new_bounds(request)
    further = _factors(request)
    if beside is not None:
        further["upper" if encloses else "bound"] = cpu.matrix_view(request, beside)
    for name, side in zip(("prepared_a", "prepared_b"), request.prepared, strict=True):
        if side is not None:
            further[name] = side._held
    about = _run(_core.multiply_arrays, request, c, **further)
    return cpu.like_input(request, c), None if beside is None else cpu.like_input(request, beside), about


def multiply_integers(request: MatmulRequest, bits: int, modulus: int = 0) -> tuple[Any, Report | None]:
    """The product of integers of less than `bits` bits in the caller's library, modulo 2^w of the result's w bits or modulo a
    number, or alpha A B + beta C of the request's update; and the report if one is asked for. Raises as :func:`multiply`.

    OverflowError where that is asked for, and an entry does not fit the dtype; `out` is as it was.
    """
    c, counts = cpu.place(request, request.out), request.asked.report
    further = _factors(request)
    about = _run(_core.multiply_integers, request, c, bits=bits, modulus=modulus, counts=counts, **further)
    return cpu.like_input(request, c), about


def multiply_gram(request: MatmulRequest, is_left: bool) -> tuple[Any, Any, Report | None]:
    """X X^H of the request for X and its transpose, or where not `is_left` the other way round; the transpose is conjugated.
    Returns and raises as :func:`multiply`."""
    c, bound = cpu.place(request, request.out), _new_bounds(request) if request.asked.return_bound else None
    further = {"is_left": is_left, "least_columns": GRAM_COLUMNS, "bound": bound}
    about = _run(_core.multiply_gram, request, c, **further)
    return cpu.like_input(request, c), None if bound is None else cpu.like_input(request, bound), about


def multiply_integer_gram(request: MatmulRequest, bits: int) -> tuple[Any, Report | None]:
    """The same of integers of less than `bits` bits. Returns and raises as :func:`multiply_integers`."""
    asked, out = request.asked, request.out
    c = cpu.place(request, None if asked.raises else out)  # an overflow leaves `out` as it was
    further = {"bits": bits, "least_columns": GRAM_COLUMNS, "counts": asked.report}
    about = _run(_core.multiply_integer_gram, request, c, **further)
    if out is not None and c is not out:
        out[...] = c
        c = out
    return cpu.like_input(request, c), about


def _run(multiply: Callable[..., Any], request: MatmulRequest, c: Array, **further: Any) -> Report | None:
    """Make the product by a function of the core into an array of the result's shape. The report if one is asked for; the logger
    is told where it listens."""
    this_machine.tell_core()
    asked, is_logged = request.asked, LOGGER.isEnabledFor(DEBUG)
    began = told.begin(request) if is_logged else 0.0
    place = cpu.matrix_view(request, c)
    is_reported = asked.report or is_logged
    outcome = multiply(request.a, request.b, place, asked, is_reported=is_reported, **further)
    if not is_reported:
        return None
    plan = _plan_of(asked, outcome["plan"]) if "plan" in outcome else None
    if is_logged:
        reason = outcome["reason"]
        told.tell(request, reason if plan is None else Decision(plan, reason, outcome["fallback"]), began)
    if not asked.report:
        return None
    if plan is None or "overflows" in outcome:
        return cpu.make_integer_report(plan, outcome)
    return cpu.make_report(request, plan, outcome)


GRAM_COLUMNS = _core.GRAM_COLUMNS  # of a block of a Gram matrix at least


def _new_bounds(request: MatmulRequest) -> Array:
    return new_array(request.torch, request.shape.result, np.complex128 if request.is_complex else np.float64)


def _factors(request: MatmulRequest) -> dict[str, Any]:
    """The arguments of the core for the update of a request."""
    if (update := request.update) is None:
        return {}
    addend = None if update.c is None else cpu.matrix_view(request, update.c)
    return {"alpha": update.alpha, "beta": update.beta, "addend": addend}


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


def check_trusted(plan: Plan) -> None:
    """RuntimeError unless the kernel that multiplies this plan's planes passed its self-test."""
    if (refusal := guard.cpu_refusal(plan.alphabet)) is not None:
        raise RuntimeError(refusal)
