"""What ``ozfp4.emulate`` was asked for: checked once, and then a value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._dispatch.decision import capacity
from .._options import DEFAULTS
from .._options import Options as Asked
from .._request.library import INTEGERS, TAKEN, is_integer

MODES = ("fastest", "always")
NAMES = tuple(np.dtype(t).name for t in TAKEN)
ALL_INTEGERS = "integers"
OF_ROUNDING = ("accuracy", "bits", "rounding")  # of which exact products have none


@dataclass(frozen=True)
class Options:
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
    return Options(_names(dtypes), int(min_size), mode, bool(verbose), asked)


def _names(dtypes: Any) -> frozenset[str]:
    given = [dtypes] if isinstance(dtypes, str) or not isinstance(dtypes, Iterable) else list(dtypes)
    found: set[str] = set()
    for each in given:
        name = _name(each)
        if name == ALL_INTEGERS:
            found.update(np.dtype(t).name for t in INTEGERS)
        elif name in NAMES:
            found.add(name)
        else:
            raise ValueError(
                f"dtypes: {each!r} is not supported; allowed are {', '.join(NAMES)}, and {ALL_INTEGERS!r} for all of them"
            )
    if not found:
        raise ValueError("dtypes: at least one is needed")
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
