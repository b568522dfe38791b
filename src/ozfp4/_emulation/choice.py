"""Whether ozfp4 makes a product that a program asks for."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from .. import _core
from .._backends.cuda import extension
from .._request.library import is_integer, require_torch
from .._support.refusals import OVER_LIMIT, is_over_limit
from .options import Options
from .problem import Problem, gpu_index
from .summary import Decision

INTEGERS_FROM = 64  # NumPy and torch multiply integers by plain loops, which take four times as long at 64^3
UNMEASURED = frozenset(("scheme", "backend", "family", "bits"))  # thresholds are of products without them


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
        return Decision(False, "of more than two operands, whose way is the library's own")
    if with_gradients:
        m, n, k = call.problem.m, call.problem.n, call.problem.k
        for extents in ((m, k, n), (k, n, m)):
            of_gradient = decide(call.problem._replace(m=extents[0], n=extents[1], k=extents[2]), options)
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
        if not problem.on_cpu:
            return Decision(True, "torch has no product of integers on a GPU")
        return _by_extents(problem, INTEGERS_FROM, "a CPU")
    own = sorted(UNMEASURED & options.keywords.keys())
    if own:
        return Decision(False, f"no threshold is known for {', '.join(own)} of the caller's own")
    device, capability = _device(problem.device)
    accuracy = options.keywords.get("accuracy") or "standard"
    least = _core.threshold(device, problem.dtype, capability, accuracy == "correct")
    return _by_extents(problem, least, "this CPU" if problem.on_cpu else device)


def _by_extents(problem: Problem, least: int | None, device: str) -> Decision:
    if least is None:
        return Decision(False, f"no product of {problem.dtype} is known to gain on {device}")
    if min(problem.m, problem.n, problem.k) >= least:
        return Decision(True, f"every extent is {least} or more")
    return Decision(False, f"an extent below {least}, from where {problem.dtype} gains on {device}")


@lru_cache(maxsize=64)
def _device(device: str) -> tuple[str, int]:
    """Its name, "" for the CPU, and 10 times the major number of its capability and the minor one."""
    if device == "cpu":
        return "", 0
    about = require_torch().cuda.get_device_properties(gpu_index(device))
    return about.name, 10 * about.major + about.minor
