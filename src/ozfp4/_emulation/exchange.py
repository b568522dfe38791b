"""Names of a library that stand for other functions while any scope is entered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from .._support.child_lock import ChildLock


class Site(NamedTuple):
    """A module or a class, a name there, and what it stands for meanwhile."""

    namespace: Any
    name: str
    now: Any


class Exchange:
    """Of the sites that `find` names when the first scope is entered; they are as before after the last."""

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
                self._exchange()
        try:
            yield
        finally:
            with self._lock:
                self._entered -= 1
                if self._entered == 0:
                    self._restore()

    def _exchange(self) -> None:
        for site in self._find():
            self._before.append((site, vars(site.namespace).get(site.name, _INHERITED)))
        for site, _ in self._before:
            setattr(site.namespace, site.name, site.now)

    def _restore(self) -> None:
        """What others have set meanwhile stays."""
        for site, before in self._before:
            if vars(site.namespace).get(site.name) is not site.now:
                continue
            if before is _INHERITED:
                delattr(site.namespace, site.name)
            else:
                setattr(site.namespace, site.name, before)
        self._before.clear()


_INHERITED = object()  # from a base of the class
