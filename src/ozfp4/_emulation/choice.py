"""The options of ``ozfp4.emulate``, checked once, and whether ozfp4 makes a product by that."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from .._backends.cuda import extension
from .._options import DEFAULTS, check_name
from .._options import Options as Asked
from .._request.library import INTEGERS, TAKEN, is_integer, require_torch
from .summary import Decision, Problem

NAMES = tuple(np.dtype(t).name for t in TAKEN)
ALL_INTEGERS = "integers"
OF_ROUNDING = ("accuracy", "rounding")  # of which exact products have none
INTEGERS_FROM = 64  # NumPy and torch multiply integers by plain loops, which take four times as long at 64^3
UNMEASURED = frozenset(("scheme", "backend"))  # thresholds are of products without them


class Options(NamedTuple):
    """Names of dtypes, the least number of multiplications, the mode, whether the summary is printed; keywords of products."""

    dtypes: frozenset[str]
    min_size: int
    mode: str
    verbose: bool
    keywords: dict[str, Any]

    def keywords_of(self, dtype: str) -> dict[str, Any]:
        """The keywords that products of a dtype have."""
        if not is_integer(dtype):
            return self.keywords
        return {name: value for name, value in self.keywords.items() if name not in OF_ROUNDING}


def check_options(dtypes: Any, min_size: Any, mode: Any, verbose: Any, keywords: dict[str, Any]) -> Options:
    """The options as a value; TypeError or ValueError for what :func:`emulate` does not take."""
    check_name("mode", mode, ("fastest", "always"))
    if isinstance(min_size, bool) or not isinstance(min_size, (int, np.integer)):
        raise TypeError(f"min_size: {min_size!r} is not an integer")
    if min_size < 0:
        raise ValueError(f"min_size: {min_size} is negative")
    if not isinstance(verbose, (bool, np.bool_)):
        raise TypeError(f"verbose: {verbose!r} is neither True nor False")
    checked = Asked.of(keywords)
    asked = {name: getattr(checked, name) for name, value in keywords.items() if value != DEFAULTS[name]}
    if checked.accuracy != "standard":  # the default as the scope is made, on which its choices rest
        asked["accuracy"] = checked.accuracy
    return Options(_names(dtypes), int(min_size), mode, bool(verbose), asked)


def _names(dtypes: Any) -> frozenset[str]:
    given = [dtypes] if isinstance(dtypes, str) or not isinstance(dtypes, Iterable) else list(dtypes)
    if not given:
        raise ValueError("dtypes: at least one is needed")
    found: set[str] = set()
    for each in given:
        name = _name(each)
        if name not in (*NAMES, ALL_INTEGERS):
            raise ValueError(
                f"dtypes: {each!r} is not supported; allowed are {', '.join(NAMES)}, and {ALL_INTEGERS!r} for all of them"
            )
        found.update([np.dtype(t).name for t in INTEGERS] if name == ALL_INTEGERS else [name])
    return frozenset(found)


def _name(dtype: Any) -> str:
    """The name of a dtype of NumPy or torch, or of what NumPy makes one of; TypeError for all else."""
    name = str(dtype)
    if isinstance(dtype, str) or name.startswith("torch."):
        return name.removeprefix("torch.")
    try:
        if dtype is not None:  # NumPy's float64
            return str(np.dtype(dtype).name)
    except TypeError:
        pass
    raise TypeError(f"dtypes: {dtype!r} is no dtype")


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
