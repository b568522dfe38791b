"""A lock of the process that a forked child finds free: none of the threads is there that may have held it."""

from __future__ import annotations

import os
import threading
import weakref


class ChildLock:
    """Re-entrant, for ``with``. Its data have to be whole whenever a process may fork."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._held = threading.local()  # what a thread has taken: it gives that back, in a child too
        _all.add(self)

    def acquire(self, blocking: bool = True) -> bool:
        lock = self._lock
        is_taken = lock.acquire(blocking)
        if is_taken:
            self._held.__dict__.setdefault("locks", []).append(lock)
        return is_taken

    def release(self) -> None:
        self._held.locks.pop().release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def renew(self) -> None:
        self._lock = threading.RLock()


_all: weakref.WeakSet[ChildLock] = weakref.WeakSet()


def _renew_all() -> None:
    for lock in list(_all):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
