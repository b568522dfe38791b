"""A lock of the process that a forked child finds free: none of the threads is there that may have held it."""

from __future__ import annotations

import os
import threading
import weakref


class ChildLock:
    """Re-entrant, for ``with``. Its data have to be whole whenever a process may fork."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._held = threading.local()  # what a thread has taken: it gives that back, in a child too
        _all.add(self)

    def __enter__(self) -> None:
        lock = self.lock
        lock.acquire()
        self._held.__dict__.setdefault("locks", []).append(lock)

    def __exit__(self, *_: object) -> None:
        self._held.locks.pop().release()


_all: weakref.WeakSet[ChildLock] = weakref.WeakSet()


def _renew_all() -> None:
    for each in list(_all):
        each.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
