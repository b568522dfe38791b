"""Names of a library that are replaced by other functions while any scope is entered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .._support.child_lock import ChildLock

Site = tuple[Any, str, Any]  # a module or a class, a name there, and its replacement meanwhile
_INHERITED = object()  # from a base of the class


class Exchange:
    """Replaces the sites that `find` names when the first scope is entered; they are as before after the last."""

    def __init__(self, find: Callable[[], list[Site]]) -> None:
        self._find, self._entered = find, 0
        self._lock = ChildLock()  # a collection of garbage may end a generator that is in a scope, anywhere
        self._before: list[tuple[Site, Any]] = []

    @contextmanager
    def entered(self) -> Iterator[None]:
        """While this and others are entered, in any thread and order."""
        with self._lock:
            self._entered += 1
            if not self._before:
                self._before = [(site, vars(site[0]).get(site[1], _INHERITED)) for site in self._find()]
                for site, _ in self._before:
                    setattr(*site)
        try:
            yield
        finally:
            with self._lock:
                self._entered -= 1
                if self._entered == 0:
                    self._restore()

    def _restore(self) -> None:
        """Values that others have set meanwhile stay."""
        for (namespace, name, now), before in self._before:
            if vars(namespace).get(name) is not now:
                continue
            if before is _INHERITED:
                delattr(namespace, name)
            else:
                setattr(namespace, name, before)
        self._before = []
