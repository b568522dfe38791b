"""Steps of NumPy or torch next to the core, in the mode of the core's own steps, whatever the caller's is."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from .. import _core

F = TypeVar("F", bound=Callable[..., Any])


def in_default_mode(step: F) -> F:
    """The same in that mode: a conversion rounds to nearest, and subnormal numbers are none of them 0."""

    @wraps(step)
    def in_mode(*given: Any, **named: Any) -> Any:
        with _core.DefaultFpMode():
            return step(*given, **named)

    return cast(F, in_mode)
