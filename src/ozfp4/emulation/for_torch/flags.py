"""Flags by which torch.compile knows that a dispatch mode is entered, and then leaves functions as they are.

torch has one of each for the whole process, and each mode restores on leaving what it found on entering. Where two threads leave
their scopes in another order than the reverse of their entering, that would be wrong: here flags are what they were before the
first scope of the process as soon as the last one is left, and set in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...request.library import require_torch
from ...support.child_lock import ChildLock

python_dispatch: Any = require_torch().utils._python_dispatch
# Of all versions of torch; this one may have fewer.
_NAMES = (
    "_is_in_torch_dispatch_mode",
    "_is_in_non_infra_torch_dispatch_mode",
    "_is_in_any_mode_without_ignore_compile_internals",
)
_lock = ChildLock()  # a collection of garbage may end a generator that is in a scope, also in here
_entered = 0
_before: dict[str, bool] = {}


@contextmanager
def kept_flags(*, entering: bool) -> Iterator[None]:
    """Around torch's own entering or leaving of a scope's mode."""
    global _entered
    with _lock:
        if entering and _entered == 0:
            _before.update(
                {name: getattr(python_dispatch, name) for name in _NAMES if hasattr(python_dispatch, name)}
            )
        yield
        _entered += 1 if entering else -1
        for name, before in _before.items():
            setattr(python_dispatch, name, before or _entered > 0)
        tell = getattr(python_dispatch, "set_is_in_mode_without_ignore_compile_internals", None)
        if tell is not None and _NAMES[2] in _before:
            tell(_before[_NAMES[2]] or _entered > 0)
