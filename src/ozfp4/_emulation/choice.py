"""Whether ozfp4 makes a product that a program asks for."""

from __future__ import annotations

from functools import lru_cache

from .. import _core
from .._backends.cuda import extension
from .._request.library import is_integer, require_torch
from .options import Options
from .problem import Problem
from .summary import Decision

INTEGERS_FROM = 64  # NumPy and torch multiply integers by plain loops, which take four times as long at 64^3
UNMEASURED = frozenset(("scheme", "backend", "family", "bits"))  # thresholds are of products without them


def decide(problem: Problem, options: Options, *, is_several: bool = False) -> Decision:
    """Whether ozfp4 makes it, and why; `is_several`: it is one of more than two operands. Thresholds are of the least extent,
    which the products of its gradients have too."""
    if problem.dtype not in options.dtypes:
        return Decision(False, f"{problem.dtype} is not asked for")
    if problem.size < options.min_size:
        return Decision(False, f"below min_size, {options.min_size} multiplications")
    if options.mode == "always":
        return Decision(True, "always")
    if is_several:
        return Decision(False, "of more than two operands, whose way is the library's own")
    return _fastest(problem, options)


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
    is_correct = options.keywords.get("accuracy") == "correct"
    least = _core.threshold(device, problem.dtype, capability, is_correct)
    return _by_extents(problem, least, device or "this CPU")


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
    about = require_torch().cuda.get_device_properties(device)
    return about.name, 10 * about.major + about.minor
