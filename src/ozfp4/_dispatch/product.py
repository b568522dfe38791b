"""A product where its operands lie: by the core of the CPU, or by that of a CUDA device."""

from __future__ import annotations

from collections.abc import Callable
from logging import DEBUG
from typing import Any

import numpy as np

from .. import _core
from .._backends import reports
from .._options import Options
from .._report import Report
from .._request import library
from .._request.integers import words_of
from .._request.operands import MatmulRequest, matrices
from .._support.logger import LOGGER
from . import on_cuda, told
from .decision import Decision, plan_of

GRAM_COLUMNS = _core.GRAM_COLUMNS  # of a block of a Gram matrix on the CPU at least


# ---- Floating-point numbers -----------------------------------------------------------------------------------------


def multiply(request: MatmulRequest, encloses: bool = False) -> tuple[Any, Any, Report | None]:
    """The product, or alpha A B + beta C of the request's update, in the caller's library; beside it bounds of its errors, or the
    product rounded up (`encloses`); and the report. None for what was not asked for. Raises as :func:`ozfp4.matmul`."""
    on_device = library.is_tensor(request.a)
    core = on_cuda.core_for(request).multiply_tensors if on_device else _core.multiply_arrays
    c, beside = _place(request, request.out), None
    if encloses:
        beside = _place(request, request.upper)
    elif request.asked.return_bound:
        beside = _new_bounds(request)
    further = _factors(request)
    if beside is not None:
        further["upper" if encloses else "bound"] = _view(request, beside)
    for name, side in zip(("prepared_a", "prepared_b"), request.prepared, strict=True):
        if side is not None:
            further[name] = side._held
    outcome = _run(core, request, c, **further)
    about = None
    if request.asked.report:
        plan = plan_of(request.asked, outcome["plan"])
        further_facts = (c, beside) if on_device else ()
        about = reports.make_report(request, plan, outcome, *further_facts)
    return to_caller(request, c), None if beside is None else to_caller(request, beside), about


def multiply_gram(request: MatmulRequest, is_left: bool) -> tuple[Any, Any, Report | None]:
    """X X^H of the request for X and its transpose, or where not `is_left` the other way round; the transpose is conjugated. On
    the CPU. Returns and raises as :func:`multiply`."""
    c, bound = _place(request, request.out), _new_bounds(request) if request.asked.return_bound else None
    further = {"is_left": is_left, "least_columns": GRAM_COLUMNS, "bound": bound}
    outcome = _run(_core.multiply_gram, request, c, **further)
    about = None
    if request.asked.report:
        about = reports.make_report(request, plan_of(request.asked, outcome["plan"]), outcome)
    return to_caller(request, c), None if bound is None else to_caller(request, bound), about


# ---- Integers -------------------------------------------------------------------------------------------------------


def multiply_integers(request: MatmulRequest, bits: int, modulus: int = 0) -> tuple[Any, Report | None]:
    """The product of integers of less than `bits` bits in the caller's library, modulo 2^w of the result's w bits or modulo a
    number, or on the CPU alpha A B + beta C of the request's update; and the report if one is asked for. Raises as
    :func:`multiply`.

    OverflowError where that is asked for, and an entry does not fit the dtype; `out` is as it was.
    """
    if library.is_tensor(request.a):
        return _multiply_integers_on_device(request, bits, modulus)
    c, counts = _place(request, request.out), request.asked.report
    further = _factors(request)
    outcome = _run(_core.multiply_integers, request, c, bits=bits, modulus=modulus, counts=counts, **further)
    return to_caller(request, c), _about_integers(request, outcome)


def multiply_integer_gram(request: MatmulRequest, bits: int) -> tuple[Any, Report | None]:
    """X X^T of integers on the CPU, as :func:`multiply_gram`. Returns and raises as :func:`multiply_integers`."""
    out = request.out
    c = _place(request, None if request.asked.raises else out)  # an overflow leaves `out` as it was
    further = {"bits": bits, "least_columns": GRAM_COLUMNS, "counts": request.asked.report}
    outcome = _run(_core.multiply_integer_gram, request, c, **further)
    if out is not None and c is not out:
        out[...] = c
        c = out
    return to_caller(request, c), _about_integers(request, outcome)


def refuse_overflow(overflows: int, dtype: Any) -> None:
    """OverflowError unless there are none."""
    if overflows:
        entries = "entry of the product does" if overflows == 1 else "entries of the product do"
        raise OverflowError(f"overflow: {overflows} {entries} not fit {dtype}; nothing was written")


def _multiply_integers_on_device(
    request: MatmulRequest, bits: int, modulus: int
) -> tuple[Any, Report | None]:
    asked, torch, out, shape = request.asked, request.torch, request.out, request.shape
    core = on_cuda.core_for(request).multiply_integers
    is_bool = request.dtype == torch.bool  # true where a count of products is not 0, which 64 bits hold
    counts = (asked.raises or asked.report) and not is_bool and modulus == 0
    a, b = (words_of(x, has_unsigned=counts) for x in (request.a, request.b))
    is_apart = out is None or asked.raises or is_bool
    c = _place(request, None) if is_apart and not is_bool else out
    if is_bool:
        c = torch.empty(shape.result, dtype=torch.int64, device=a.device)
    counter = torch.zeros(1, dtype=torch.int64, device=a.device) if counts else None
    outcome: dict[str, Any] = {"kernel": "none", "workspace": 0, "moduli_used": 0}
    if 0 in (*c.shape, shape.k):
        c.zero_()
    else:
        view = matrices(request.shape, c)
        outcome = _run(core, request, view, a, b, bits=bits, modulus=modulus, overflows=counter)
    overflows = 0 if counter is None else int(counter.item())
    if asked.raises:
        refuse_overflow(overflows, request.dtype)
    about = None
    if asked.report:
        made = on_cuda.decide(request)
        outcome |= {"reason": made.reason, "fallback": made.fallback}
        about = reports.make_integer_report(request, made.plan, outcome, overflows)
    c = c != 0 if is_bool else c
    if out is None or c is out:
        return c, about
    out.copy_(c)
    return out, about


# ---- What they share ------------------------------------------------------------------------------------------------


def _run(
    multiply: Callable[..., Any], request: MatmulRequest, c: Any, a: Any = None, b: Any = None, **further: Any
) -> dict[str, Any]:
    """Make the product by a function of a core into a result; the logger is told where it listens. `a`, `b`: in place of the
    request's operands. Returns what happened, nothing where nobody asks."""
    asked, is_logged = request.asked, LOGGER.isEnabledFor(DEBUG)
    began = told.begin(request) if is_logged else 0.0
    operands = request.a if a is None else a, request.b if b is None else b
    on_device = library.is_tensor(request.a)
    # The core of a device waits for it where it reports, which the capture of a graph forbids.
    is_reported = asked.report or (is_logged and not on_device)
    outcome: dict[str, Any] = multiply(
        *operands, _view(request, c), asked, is_reported=is_reported, **further
    )
    if is_logged:
        told.tell(request, on_cuda.decide(request) if on_device else _decision(asked, outcome), began)
    return outcome


def _decision(asked: Options, outcome: dict[str, Any]) -> Decision | str:
    """The decision of the CPU's core; the reason alone for words, which have no plan."""
    if "plan" not in outcome:
        return str(outcome["reason"])
    return Decision(plan_of(asked, outcome["plan"]), outcome["reason"], outcome["fallback"])


def _about_integers(request: MatmulRequest, outcome: dict[str, Any]) -> Report | None:
    if not request.asked.report:
        return None
    plan = plan_of(request.asked, outcome["plan"]) if "plan" in outcome else None
    return reports.make_integer_report(request, plan, outcome)


def empty_result(given: MatmulRequest | library.Operands, shape: tuple[int, ...], dtype: Any) -> Any:
    """A new result, an array, or a tensor on the operands' device. `dtype` is one of NumPy or torch, or a name."""
    if library.is_tensor(given.a):
        kind = dtype if isinstance(dtype, given.torch.dtype) else getattr(given.torch, np.dtype(dtype).name)
        return given.torch.empty(shape, dtype=kind, device=given.a.device)
    return library.new_array(given.torch, shape, dtype)


def to_caller(given: MatmulRequest | library.Operands, result: Any) -> Any:
    """A result in the caller's library; a NumPy scalar for a product of two vectors, as np.matmul."""
    if given.torch is not None:
        return result if library.is_tensor(result) else library.tensor_of_array(result)
    return result[()] if result.ndim == 0 else result


def results(asked: Options, c: Any, bound: Any, about: Report | None) -> Any:
    """The result, with its bounds and the report behind it where they were asked for."""
    found = (c, *([bound] if asked.return_bound else []), *([about] if asked.report else []))
    return found if len(found) > 1 else c


def _place(request: MatmulRequest, out: Any) -> Any:
    return empty_result(request, request.shape.result, request.dtype) if out is None else out


def _new_bounds(request: MatmulRequest) -> Any:
    return empty_result(request, request.shape.result, np.complex128 if request.is_complex else np.float64)


def _view(request: MatmulRequest, x: Any) -> Any:
    """A result as the core takes it: an array with both matrix axes, a tensor as it is."""
    return x if library.is_tensor(x) else matrices(request.shape, x)


def _factors(request: MatmulRequest) -> dict[str, Any]:
    """The arguments of the core for the update of a request."""
    if (update := request.update) is None:
        return {}
    addend = None if update.c is None else _view(request, update.c)
    return {"alpha": update.alpha, "beta": update.beta, "addend": addend}
