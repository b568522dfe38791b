"""What ``ozfp4.emulate`` was asked for: checked once, and then a value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._dispatch.decision import capacity
from .._options import DEFAULTS
from .._options import Options as Asked
from .._request.library import INTEGERS, TAKEN, is_integer, name_of

MODES = ("fastest", "always")
NAMES = tuple(np.dtype(t).name for t in TAKEN)
ALL_INTEGERS = "integers"


@dataclass(frozen=True)
class Options:
    """Names of dtypes, the least number of multiplications, the mode, whether the summary is printed; the keywords of the
    products of floating-point numbers, and those of them that products of integers have."""

    dtypes: frozenset[str]
    min_size: int
    mode: str
    verbose: bool
    keywords: dict[str, Any]
    of_integers: dict[str, Any]

    def keywords_of(self, dtype: str) -> dict[str, Any]:
        return self.of_integers if is_integer(dtype) else self.keywords


def check_options(dtypes: Any, min_size: Any, mode: Any, verbose: Any, keywords: dict[str, Any]) -> Options:
    """The options as a value.

    Raises
    ------
    TypeError, ValueError
        Dtypes that no product takes, a `min_size` that is no number of multiplications, an unknown mode, a `verbose` that
        is no truth value; keywords that ``ozfp4.matmul`` would refuse.
    """
    if not isinstance(mode, str) or mode not in MODES:
        raise ValueError(f"mode: {mode!r} is unknown; allowed are {', '.join(map(repr, MODES))}")
    if isinstance(min_size, bool) or not isinstance(min_size, (int, np.integer)):
        raise TypeError(f"min_size: {min_size!r} is not an integer")
    if min_size < 0:
        raise ValueError(f"min_size: {min_size} is negative")
    if not isinstance(verbose, (bool, np.bool_)):
        raise TypeError(f"verbose: {verbose!r} is neither True nor False")
    checked = Asked.of(keywords)
    capacity(checked, single=False)
    asked = {name: getattr(checked, name) for name, value in keywords.items() if value != DEFAULTS[name]}
    if checked.accuracy != "standard":  # the default as the scope is made, on which its choices rest
        asked["accuracy"] = checked.accuracy
    shared = {name: value for name, value in asked.items() if name not in ("accuracy", "bits", "rounding")}
    return Options(_names(dtypes), int(min_size), mode, bool(verbose), asked, shared)


def _names(dtypes: Any) -> frozenset[str]:
    given = [dtypes] if isinstance(dtypes, str) or not isinstance(dtypes, Iterable) else list(dtypes)
    found: set[str] = set()
    for each in given:
        if each == ALL_INTEGERS if isinstance(each, str) else False:
            found.update(np.dtype(t).name for t in INTEGERS)
            continue
        name = _name(each)
        if name not in NAMES:
            raise ValueError(
                f"dtypes: {each!r} is not supported; allowed are {', '.join(NAMES)}, and {ALL_INTEGERS!r} for all of them"
            )
        found.add(name)
    if not found:
        raise ValueError("dtypes: at least one is needed")
    return frozenset(found)


def _name(dtype: Any) -> str:
    """The name of a dtype of NumPy or torch, or of what NumPy makes one of; TypeError for all else."""
    if isinstance(dtype, str):
        return dtype.removeprefix("torch.")
    if str(dtype).startswith("torch."):
        return name_of(dtype)
    try:
        if dtype is None:  # NumPy's float64
            raise TypeError
        name: str = np.dtype(dtype).name
    except TypeError:
        raise TypeError(f"dtypes: {dtype!r} is no dtype") from None
    return name
