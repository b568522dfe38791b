"""Flags by which torch.compile knows that a dispatch mode is entered, and then leaves functions as they are.

torch has one of each for the whole process, and each mode restores on leaving what it found on entering. Where two threads leave
their scopes in another order than the reverse of their entering, that would be wrong: here flags are what they were before the
first scope of the process as soon as the last one is left, and set in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..._support import torch_private
from ..._support.child_lock import ChildLock

_lock = ChildLock()  # a collection of garbage may end a generator that is in a scope, also in here
_entered = 0
_before: dict[str, bool] = {}


@contextmanager
def kept_flags(*, entering: bool) -> Iterator[None]:
    """Around torch's own entering or leaving of a scope's mode."""
    global _entered
    with _lock:
        if entering and _entered == 0:
            _before.update(torch_private.mode_flags())
        yield
        _entered += 1 if entering else -1
        torch_private.set_mode_flags({name: before or _entered > 0 for name, before in _before.items()})
