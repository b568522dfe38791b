"""Whether ozfp4 makes a product that a program asks for."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from .._options import DEFAULTS
from ..backends.cuda import extension
from ..cost.choice import choose
from ..cost.model import estimate
from ..cost.peaks import DevicePeaks
from ..dispatch.this_machine import this_cpu, this_gpu
from ..plans.plan import make_plan
from ..request.library import is_complex, is_integer, require_torch
from ..support.refusals import OVER_LIMIT, is_over_limit
from . import measured
from .options import Options
from .problem import Problem, gpu_index
from .summary import Decision

MARGIN = 1.1  # native has to take so many times as long as ours
# Ours by the model, at its best, over native at its nominal rate: nothing has to be measured beyond.
HOPELESS = 2.0
LARGE = 10**6  # multiplications


def decide(problem: Problem, options: Options) -> Decision:
    """Whether ozfp4 makes it, and why."""
    if problem.dtype not in options.dtypes:
        return Decision(False, f"{problem.dtype} is not asked for")
    if problem.size < options.min_size:
        return Decision(False, f"below min_size, {options.min_size} multiplications")
    if options.mode == "always":
        return Decision(True, "always")
    return _fastest(problem, options)


def decide_call(call: Any, options: Options, *, with_gradients: bool = False) -> Decision:
    """The same of a library's function, whose way of several steps is known to nobody. Where gradients may be wanted, their
    products have to gain as well: those of what ozfp4 makes are ozfp4's. Range: a `problem`, and whether it `is_several`."""
    decision = decide(call.problem, options)
    if not decision.take or options.mode != "fastest":
        return decision
    if call.is_several:
        return Decision(False, "of more than two operands, whose time is not measured")
    if with_gradients:
        m, n, k = call.problem.m, call.problem.n, call.problem.k
        for extents in ((m, k, n), (k, n, m)):
            of_gradient = decide(
                call.problem._replace(m=extents[0], n=extents[1], k=extents[2], is_update=False), options
            )
            if not of_gradient.take:
                return of_gradient._replace(reason=f"for its gradients: {of_gradient.reason}")
    return decision


def no_room(error: Exception) -> Decision:
    """Of a product that ozfp4 refused for the memory that it takes, and the library makes."""
    return Decision(False, OVER_LIMIT if is_over_limit(error) else "ozfp4 found no memory for it")


def _fastest(problem: Problem, options: Options) -> Decision:
    if problem.size == 0:
        return Decision(False, "nothing to multiply")
    if not problem.on_cpu:
        unavailable = extension.why_unavailable(require_torch().device(problem.device))
        if unavailable:
            return Decision(False, unavailable)
        if is_integer(problem.dtype):
            return Decision(True, "torch has no product of integers on a GPU")
    return _hopeless(problem, options) or _by_time(problem, options)


def _by_time(problem: Problem, options: Options) -> Decision:
    """By measured times of a product that is not larger: what is the faster there is so here (`measured.representative`)."""
    like = measured.representative(problem)
    times = measured.times(like, options)
    if isinstance(times, str):
        is_final = times not in (measured.CAPTURED, measured.NOT_YET)
        # Deciding again takes longer than a small product.
        return Decision(False, times, is_final or (times == measured.NOT_YET and problem.size < LARGE))
    native, ours = times
    text = f"measured at {like.extents}: {1e3 * ours:.4g} ms, native {1e3 * native:.4g} ms"
    return Decision(ours * MARGIN <= native, text)


def _hopeless(problem: Problem, options: Options) -> Decision | None:
    """Left by the model alone, where native is known to be so much faster on this machine that nothing need be measured."""
    rate = measured.native_rate(problem)
    if rate is None:
        return None
    asked = {**DEFAULTS, **options.keywords}
    bits = asked["bits"]
    if bits is None:  # the fewest products: other accuracies may take more
        bits = 24 if problem.dtype in ("float32", "complex64") else 53
    peaks = this_cpu() if problem.on_cpu else this_gpu(gpu_index(problem.device))
    # On a CPU the model would take longer than a small product: one shape speaks for all that are measured together.
    like = measured.representative(problem) if problem.on_cpu else problem
    return _by_model(like, rate, peaks, asked["scheme"], asked["backend"], asked["family"], bits)


@lru_cache(maxsize=1024)
def _by_model(
    problem: Problem, rate: float, peaks: DevicePeaks, scheme: str, backend: str, family: str, bits: int
) -> Decision | None:
    if backend == "auto":
        backend = choose(peaks, scheme, family, bits, problem.k).backend
    try:
        plan = make_plan(scheme, backend, family, bits, problem.k)
    except ValueError:
        return None  # the product will say so
    ours = estimate(plan, (problem.stack * problem.m, problem.n, problem.k), peaks)
    if ours is None:
        return None
    # Products of real matrices: native, and ours at least.
    real, parts = (4, 2) if is_complex(problem.dtype) else (1, 1)
    native = max(real * 2 * problem.size / rate, peaks.launch)
    if parts * ours.compute + ours.preprocess + ours.launches <= HOPELESS * native:
        return None
    return Decision(False, f"by the model: {1e3 * ours.total:.3g} ms or more, native {1e3 * native:.3g} ms")
