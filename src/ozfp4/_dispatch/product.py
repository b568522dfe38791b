"""A product where its operands lie: by the core of the CPU, or by that of a CUDA device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from logging import DEBUG
from typing import Any

import numpy as np

from .. import _core
from .._backends import reports
from .._options import Options
from .._report import Report
from .._request import library
from .._request.operands import MatmulRequest, matrices
from .._support.environment import LOGGER
from . import on_cuda, told
from .decision import Decision, plan_of

GRAM_COLUMNS = 0  # of a block of a Gram matrix at least; 0: as the device's core has it


# ---- Floating-point numbers -----------------------------------------------------------------------------------------


def multiply(request: MatmulRequest, encloses: bool = False) -> tuple[Any, Any, Report | None]:
    """The product, or alpha A B + beta C of the request's update, in the caller's library; beside it bounds of its errors, or the
    product rounded up (`encloses`); and the report. None for what was not asked for. Raises as :func:`ozfp4.matmul`."""
    core = _core_of(request)
    make = core.multiply_tensors if library.is_tensor(request.a) else core.multiply_arrays
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
    about = _about(request, _run(make, request, c, **further), c, beside)
    return to_caller(request, c), None if beside is None else to_caller(request, beside), about


def multiply_gram(request: MatmulRequest, is_left: bool) -> tuple[Any, Any, Report | None]:
    """X X^H of the request for X and its transpose, or where not `is_left` the other way round; the transpose is conjugated.
    Returns and raises as :func:`multiply`."""
    c, bound = _place(request, request.out), _new_bounds(request) if request.asked.return_bound else None
    further = {"is_left": is_left, "least_columns": GRAM_COLUMNS, "bound": bound}
    about = _about(request, _run(_core_of(request).multiply_gram, request, c, **further), c, bound)
    if about is not None:
        about = replace(about, special_columns=about.special_rows)
    return to_caller(request, c), None if bound is None else to_caller(request, bound), about


# ---- Integers -------------------------------------------------------------------------------------------------------


def multiply_integers(request: MatmulRequest, bits: int, modulus: int = 0) -> tuple[Any, Report | None]:
    """The product of integers of less than `bits` bits in the caller's library, modulo 2^w of the result's w bits or modulo a
    number, or alpha A B + beta C of the request's update; and the report if one is asked for. Raises as :func:`multiply`.

    OverflowError where that is asked for, and an entry of the product does not fit the dtype; `out` is as it was.
    """
    return _multiply_integers(request, "multiply_integers", bits=bits, modulus=modulus, **_factors(request))


def multiply_integer_gram(request: MatmulRequest, bits: int) -> tuple[Any, Report | None]:
    """X X^T of integers, as :func:`multiply_gram`. Returns and raises as :func:`multiply_integers`."""
    return _multiply_integers(request, "multiply_integer_gram", bits=bits, least_columns=GRAM_COLUMNS)


def _multiply_integers(request: MatmulRequest, name: str, **further: Any) -> tuple[Any, Report | None]:
    asked, out, counter = request.asked, request.out, None
    on_device, is_truth = library.is_tensor(request.a), library.name_of(request.dtype) == "bool"
    # One product on the CPU refuses an overflow before it writes; blocks and a GPU find it later.
    is_apart = out is not None and asked.raises and (on_device or "least_columns" in further)
    c = _place(request, None if is_apart else out)
    if not on_device:
        further["counts"] = asked.report
    elif (asked.raises or asked.report) and not is_truth and not further.get("modulus"):
        counter = further["overflows"] = empty_result(request, (1,), np.int64)
    outcome = _run(getattr(_core_of(request), name), request, c, **further)
    overflows = 0 if counter is None else int(counter.item())
    if asked.raises:
        refuse_overflow(overflows, request.dtype)
    about = None
    if asked.report:
        plan = plan_of(asked, outcome["plan"]) if "plan" in outcome else None
        about = reports.make_integer_report(request, plan, outcome, overflows)
    if is_apart:
        out[...] = c
        c = out
    return to_caller(request, c), about


def refuse_overflow(overflows: int, dtype: Any) -> None:
    """OverflowError unless there are none."""
    if overflows:
        entries = "entry of the product does" if overflows == 1 else "entries of the product do"
        raise OverflowError(f"overflow: {overflows} {entries} not fit {dtype}; nothing was written")


# ---- What they share ------------------------------------------------------------------------------------------------


def _run(multiply: Callable[..., Any], request: MatmulRequest, c: Any, **further: Any) -> dict[str, Any]:
    """Make the product by a function of a core into a result; the logger is told where it listens. Returns what happened, nothing
    where nobody asks."""
    asked, is_logged = request.asked, LOGGER.isEnabledFor(DEBUG)
    began = told.begin(request) if is_logged else 0.0
    on_device = library.is_tensor(request.a)
    # The core of a device waits for it where it reports, which the capture of a graph forbids.
    is_reported = asked.report or (is_logged and not on_device)
    outcome: dict[str, Any] = multiply(
        request.a, request.b, _view(request, c), asked, is_reported=is_reported, **further
    )
    if is_logged:
        told.tell(request, on_cuda.decide(request) if on_device else _decision(asked, outcome), began)
    return outcome


def _decision(asked: Options, outcome: dict[str, Any]) -> Decision | str:
    """The decision of the CPU's core; the reason alone for words, which have no plan."""
    if "plan" not in outcome:
        return str(outcome["reason"])
    return Decision(plan_of(asked, outcome["plan"]), outcome["reason"], outcome["fallback"])


def _core_of(request: MatmulRequest) -> Any:
    """The core of the device where the operands lie."""
    return on_cuda.core_for(request) if library.is_tensor(request.a) else _core


def _about(request: MatmulRequest, outcome: dict[str, Any], c: Any, beside: Any) -> Report | None:
    """The report of a product of floating-point numbers, if one is asked for."""
    if not request.asked.report:
        return None
    return reports.make_report(request, plan_of(request.asked, outcome["plan"]), outcome, c, beside)


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
    addend = None if update.addend is None else _view(request, update.addend)
    return {"alpha": update.alpha, "beta": update.beta, "addend": addend}
