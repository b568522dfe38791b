"""Which scopes a context is in."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any

from .choice import Options
from .summary import Record


class Entered:
    """One entry of a scope, and what the context was in before. It may be left in another context, and in another order: it
    counts until it is closed, wherever a context still holds it. `by_name`: torch's functions make its products, and no mode."""

    __slots__ = ("by_name", "is_open", "left_by_name", "options", "outer", "record", "thread")

    def __init__(self, options: Options, record: Record, outer: Entered | None) -> None:
        self.options, self.record, self.outer = options, record, outer
        self.thread, self.is_open = threading.get_ident(), True
        # A mode around it would see what it leaves.
        self.by_name: bool = options.mode == "fastest" and (outer is None or outer.by_name)
        # Read by csrc/bindings/tensors/left.cpp; None: torch's names are not looked at, or it is closed.
        self.left_by_name = record.left if self.by_name else None

    def is_here(self) -> bool:
        """Whether what runs now is in it. Threads that torch hands its modes to have no contexts: what torch multiplies there
        is."""
        found = current.get()
        if not self.is_open or found is NOWHERE:
            return False
        return found is self or threading.get_ident() != self.thread or self in entered_here()


current: ContextVar[Entered | None] = ContextVar("ozfp4_emulate", default=None)
# The place of a context that is in no scope, in threads of torch's too.
NOWHERE: Any = SimpleNamespace(is_open=False, outer=None, left_by_name=None)


def entered_here() -> Iterator[Entered]:
    """The scopes of this context, from the innermost."""
    found = current.get()
    while found is not None:
        if found.is_open:
            yield found
        found = found.outer


def innermost() -> Entered | None:
    scope = current.get()
    if scope is None or scope.is_open:  # the shortest way
        return scope
    return next(entered_here(), None)


@contextmanager
def entered(options: Options, record: Record) -> Iterator[Entered]:
    """The scope of a context."""
    found = Entered(options, record, innermost())
    current.set(found)
    try:
        yield found
    finally:
        found.is_open, found.left_by_name = False, None
        current.set(innermost())


@contextmanager
def nowhere() -> Iterator[None]:
    """Nothing that is called meanwhile belongs to a scope."""
    token = current.set(NOWHERE)
    try:
        yield
    finally:
        current.reset(token)
