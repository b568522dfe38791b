"""Which scopes a context is in."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from .options import Options
from .summary import Record

MOST_KEPT = 4096  # of what is decided in one scope: a program whose shapes never come again does not grow


def keep(table: dict[Any, Any], key: Any, value: Any) -> None:
    """In a table of what is decided, which is emptied where it is full."""
    if len(table) >= MOST_KEPT:
        table.clear()
    table[key] = value


class Entered:
    """One entry of a scope, which contexts are in: options and record of it, what the context was in before; whether torch's
    products are those of its functions by name, or of a dispatch mode; by their keys the lines of NumPy's products that it
    leaves, the counts of torch's by name that it leaves (None: it catches none by name, or is closed), and the lines of all of
    these that are decided, with gradients or without. It may be left in another context than that where it was entered, and in
    another order: it counts until it is closed, wherever a context still holds it."""

    __slots__ = (
        "by_name", "decided", "is_open", "left", "left_by_name", "options", "outer", "record", "thread",
    )  # fmt: skip

    def __init__(self, options: Options, record: Record, outer: Entered | None) -> None:
        self.options, self.record, self.outer = options, record, outer
        self.left, self.decided = record.left, record.decided
        self.thread, self.is_open = threading.get_ident(), True
        # A mode around it would see what it leaves.
        self.by_name: bool = options.mode == "fastest" and (outer is None or outer.by_name)
        # Read by csrc/bindings/tensors/left.cpp.
        self.left_by_name: dict[Any, Any] | None = record.left_by_name if self.by_name else None

    def is_here(self) -> bool:
        """Whether what runs now is in it. Threads that torch hands its modes to have no contexts: what torch asks there is."""
        if not self.is_open:
            return False
        return current.get() is self or threading.get_ident() != self.thread or self in entered_here()


current: ContextVar[Entered | None] = ContextVar("ozfp4_emulate", default=None)


def entered_here() -> Iterator[Entered]:
    """What this context is in, from the innermost."""
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
    token = current.set(None)
    try:
        yield
    finally:
        current.reset(token)
