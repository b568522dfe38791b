"""A product where its operands lie: by the core of the CPU, or by that of a CUDA device."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from logging import DEBUG
from typing import Any

import numpy as np

from .. import _core
from .._backends import partial, reports
from .._backends.cuda import partial as cuda_partial
from .._backends.kernels import device_name
from .._options import Options
from .._plans.plan import Plan
from .._report import Report
from .._request import library
from .._request.operands import MatmulRequest, matrices
from .._support.environment import LOGGER
from . import on_cuda
from .decision import plan_of, precision

GRAM_COLUMNS = 0  # of a block of a Gram matrix at least; 0: as the device's core has it


def multiply(
    request: MatmulRequest, encloses: bool = False, gram: bool | None = None
) -> tuple[Any, Any, Report | None]:
    """The product, or alpha A B + beta C of the request's update, in the caller's library. Then bounds of its errors, or
    the product rounded up (`encloses`), and the report. None for what was not asked for. `gram`: X X^H of the request for X
    and its transpose, which is conjugated; whether X is on the left. Raises as :func:`ozfp4.matmul`."""
    asked, core, further, beside = request.asked, _core_of(request), _factors(request), None
    c = _new_result(request) if request.out is None else request.out
    if encloses:
        beside = _new_result(request) if request.upper is None else request.upper
        further["upper"] = _view(request, beside)
    elif asked.return_bound:
        kind = np.complex128 if request.is_complex else np.float64
        beside = empty_result(request, request.shape.result, kind)
        further["bound"] = _view(request, beside)
    if gram is not None:
        further["gram"] = gram, GRAM_COLUMNS
    for name, side in zip(("prepared_a", "prepared_b"), request.prepared, strict=True):
        if side is not None:
            further[name] = side._held
    name = "multiply_tensors" if library.is_tensor(request.a) else "multiply_arrays"
    outcome, about = _run(request, getattr(core, name), c, further), None
    if asked.report:
        about = reports.make_report(request, plan_of(asked, outcome["plan"]), outcome, c, beside)
        if gram is not None:
            about = replace(about, special_columns=about.special_rows)
    return to_caller(request, c), None if beside is None else to_caller(request, beside), about


def multiply_integers(
    request: MatmulRequest, bits: int, modulus: int = 0, *, is_gram: bool = False
) -> tuple[Any, Report | None]:
    """The product of integers of less than `bits` bits in the caller's library, modulo 2^w of the result's w bits or modulo a
    number. Or alpha A B + beta C of the request's update, or X X^T of X and its transpose. Then the report if it is wanted.
    Raises as :func:`multiply`.

    OverflowError where that is asked for, and an entry of the product does not fit the dtype; `out` is as it was.
    """
    core, further = _core_of(request), {"bits": bits, "modulus": modulus, **_factors(request)}
    if is_gram:
        further["gram"] = GRAM_COLUMNS
    asked, out, counter = request.asked, request.out, None
    on_device, is_truth = library.is_tensor(request.a), library.name_of(request.dtype) == "bool"
    # One product on the CPU refuses an overflow before it writes; blocks and a GPU find it later.
    is_apart = out is not None and asked.raises and (on_device or is_gram)
    c = _new_result(request) if out is None or is_apart else out
    if not on_device:
        further["counts"] = asked.report
    elif (asked.raises or asked.report) and not is_truth and not modulus:
        counter = further["overflows"] = empty_result(request, (1,), np.int64)
    outcome = _run(request, core.multiply_integers, c, further)
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


def partial_product(a: Any, b: Any, k: int, asked: Options, dtype: Any) -> Any:
    """The piece a (m x K_r) and b (K_r x n) of products of `k` terms with results of `dtype`: float64 or float32 tensors of
    one device. It is a :class:`ozfp4._backends.partial.Partial`, or its like on a GPU."""
    for name, x in (("a", a), ("b", b)):
        library.check_storage(name, x)
    single = dtype == library.require_torch().float32
    if a.device.type == "cuda":
        on_cuda.check_extents(a.shape[0], b.shape[1], k)
        on_cuda.ready(a.device)
        if (refusal := cuda_partial.facts_refusal(a.device.index)) is not None:
            raise RuntimeError(refusal)
        made = on_cuda.choose(asked, k, single, False, a.device)
        return cuda_partial.Partial(a, b, k, made.plan, asked, dtype, made.kernel)
    # Where no backend is asked for, the same plan on every machine, whatever was measured there.
    chosen = asked._replace(backend="fp64") if asked.backend == "auto" and asked.plan is None else asked
    plan = plan_of(asked, _core.choose(chosen, 1, 1, k, precision(single), False, False)[0])
    return partial.Partial(a, b, k, plan, asked, dtype)


def began(request: MatmulRequest) -> float | None:
    """The time at which a product begins, after all earlier work of a GPU; None without a log."""
    if not LOGGER.isEnabledFor(DEBUG):
        return None
    _wait(request)
    return time.perf_counter()


def log(request: MatmulRequest, since: float, by: str, reason: str, fallback: str | None = None) -> None:
    """The line of a product that was made, or on a GPU enqueued: it is waited for. `by`: what multiplied."""
    took = f"{1e3 * (time.perf_counter() - since):.3f} ms" if _wait(request) else "captured"
    shape = request.shape
    stack = f"{' × '.join(map(str, shape.stack))} times " if shape.stack else ""
    result = library.name_of(request.dtype)
    promised = "exact" if library.is_integer(request.dtype) else request.asked.accuracy
    of = "product" if request.update is None else "update"
    where = str(request.a.device) if library.is_tensor(request.a) else device_name("cpu")
    because = reason if fallback is None else f"{reason}; {fallback}"
    extents = f"{stack}{shape.m} × {shape.n} × {shape.k}"
    LOGGER.debug("%s", f"{of} {extents} {result} {promised}: {by}, {where}: {took} ({because})")


def _wait(request: MatmulRequest) -> bool:
    """Wait for the device of the operands; False where a graph is captured, which allows no waiting."""
    if library.is_tensor(request.a):
        cuda: Any = library.require_torch().cuda
        if cuda.is_current_stream_capturing():
            return False
        cuda.synchronize(request.a.device)
    return True


def _core_of(request: MatmulRequest) -> Any:
    """The core that makes a product. Raises as :func:`ozfp4.matmul` where there is none."""
    return on_cuda.core_for(request) if library.is_tensor(request.a) else _core


def _run(
    request: MatmulRequest, function: Callable[..., dict[str, Any]], c: Any, further: dict[str, Any]
) -> dict[str, Any]:
    """Make the product by a function of its core into a result, and log it. Returns the outcome; nothing without a report."""
    asked, on_device, since = request.asked, library.is_tensor(request.a), began(request)
    # The core of a device waits for it where it reports, which the capture of a graph forbids.
    is_reported = asked.report or (since is not None and not on_device)
    outcome = function(request.a, request.b, _view(request, c), asked, is_reported=is_reported, **further)
    if since is not None and on_device:
        made = on_cuda.decide(request)
        log(request, since, planned(made.plan), made.reason, made.fallback)
    elif since is not None:
        plan = plan_of(asked, outcome["plan"]) if "plan" in outcome else None
        log(request, since, *reports.what_ran(plan, outcome), outcome["fallback"])
    return outcome


def planned(plan: Plan) -> str:
    """The plan of a product that was enqueued on a GPU, which may make a small or thin one without planes."""
    return f"planned: scheme {plan.scheme} {plan.backend}, up to {plan.products} products of {plan.bits} bits"


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


def _new_result(request: MatmulRequest) -> Any:
    return empty_result(request, request.shape.result, request.dtype)


def _view(request: MatmulRequest, x: Any) -> Any:
    """A result as the core takes it: an array with both matrix axes, a tensor as it is."""
    return x if library.is_tensor(x) else matrices(request.shape, x)


def _factors(request: MatmulRequest) -> dict[str, Any]:
    """The arguments of the core for the update of a request."""
    if request.update is None:
        return {}
    further = request.update._asdict()
    if further["addend"] is not None:
        further["addend"] = _view(request, further["addend"])
    return further
