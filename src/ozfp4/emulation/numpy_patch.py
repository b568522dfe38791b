"""NumPy's products by name, exchanged while any scope is entered: ``np.matmul`` and others, and what `numpy.linalg` calls by
those names. Only what runs in a scope's context is emulated; all other callers get NumPy's results.

They see the exchange nevertheless in three ways: a function that is told which one was called, as by __array_function__, is told
NumPy's own and not what stands at the name; torch.compile with fullgraph=True takes no np.dot, in any thread; a module that is
first imported meanwhile, and imports such a name, keeps what stood there."""

from __future__ import annotations

import functools
import inspect
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from .choice import decide
from .numpy_products import PRODUCTS, Call
from .options import Options
from .summary import Decision, Line, Record


class Entered:
    """One entry of a scope, which contexts are in: options and record of it, by their keys the lines of products that it leaves,
    what the context was in before. It may be left in another context than that where it was entered, and in another order: it
    counts until it is closed, wherever a context still holds it."""

    __slots__ = ("is_open", "left", "options", "outer", "record", "thread")

    def __init__(self, options: Options, record: Record, outer: Entered | None) -> None:
        self.options, self.record, self.outer = options, record, outer
        self.left: dict[Any, Line] = {}
        self.thread, self.is_open = threading.get_ident(), True

    def is_here(self) -> bool:
        """Whether what runs now is in it. Threads that torch hands its modes to have no contexts: what torch asks there is."""
        if not self.is_open:
            return False
        return _scope.get() is self or threading.get_ident() != self.thread or self in entered_here()


_scope: ContextVar[Entered | None] = ContextVar("ozfp4_emulate", default=None)
_lock = threading.RLock()  # a collection of garbage may end a generator that is in a scope, anywhere
_entered = 0
_sites: list[
    tuple[dict[str, Any], str, Any, Any]
] = []  # a namespace, a name there, what it stood for, what now


def entered_here() -> Iterator[Entered]:
    """What this context is in, from the innermost."""
    found = _scope.get()
    while found is not None:
        if found.is_open:
            yield found
        found = found.outer


def _innermost() -> Entered | None:
    return next(entered_here(), None)


class Emulated:
    """What stands for a function of NumPy while a scope is entered anywhere; its attributes are the function's."""

    def __init__(self, name: str, original: Any) -> None:
        functools.update_wrapper(self, original)
        self._name, self._original = name, original

    def __call__(self, *args: Any, **named: Any) -> Any:
        scope = _scope.get()
        if scope is not None and not scope.is_open:
            scope = _innermost()
        if scope is None:
            return self._original(*args, **named)
        key = _key(self._name, args) if len(args) == 2 and not named else None
        if key is not None and (line := scope.left.get(key)) is not None:
            scope.record.count(line)
            return self._original(*args)
        token = _scope.set(None)  # nothing that is called from here belongs to the scope
        try:
            return self._emulated(scope, key, args, named)
        finally:
            _scope.reset(token)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def __reduce__(self) -> Any:
        return getattr, (_Numpy(), self._name)

    def __repr__(self) -> str:
        return repr(self._original)

    def _emulated(self, scope: Entered, key: Any, args: Any, named: Any) -> Any:
        options, record, left = scope.options, scope.record, scope.left
        found = self._call(args, named)
        if found is None:
            return self._original(*args, **named)
        decision = decide_call(found, options)
        line: Line = record.line(f"np.{self._name}", found.problem, decision)
        began = time.perf_counter()
        if not decision.take:
            if key is not None and decision.is_final:
                left[key] = line
            record.count(line)
            return self._original(*args, **named)
        result = found.compute(options.keywords_of(found.problem.dtype))
        record.count(line, time.perf_counter() - began)
        return result

    def _call(self, args: Any, named: Any) -> Call | None:
        """What is multiplied; None where NumPy has to see to it itself, as to arguments that it does not have."""
        product = PRODUCTS[self._name]
        try:
            return product(*args, **named)
        except TypeError:
            try:
                inspect.signature(product).bind(*args, **named)
            except TypeError:
                return None
            raise


def _key(name: str, args: Any) -> Any:
    """What all that is decided of a product of two arrays depends on; None where one is no plain array."""
    a, b = args
    if type(a) is not np.ndarray or type(b) is not np.ndarray:
        return None
    return name, a.shape, b.shape, a.dtype, b.dtype


class _Numpy:
    """NumPy's namespace for pickle, which takes no modules."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(np, name)


def decide_call(call: Call, options: Options) -> Decision:
    """As for every product, but that a library's way of several steps is known to nobody."""
    decision = decide(call.problem, options)
    if call.is_several and decision.take and options.mode == "fastest":
        return Decision(False, "of more than two operands, whose time is not measured")
    return decision


@contextmanager
def emulated(options: Options, record: Record) -> Iterator[Entered]:
    """The scope of a context; NumPy's names are exchanged with the first one that is entered, and again after the last."""
    global _entered
    entered = Entered(options, record, _innermost())
    with _lock:
        _entered += 1
        if not _sites:
            _exchange()
    _scope.set(entered)
    try:
        yield entered
    finally:
        entered.is_open = False
        _scope.set(_innermost())
        with _lock:
            _entered -= 1
            if _entered == 0:
                _restore()


def _exchange() -> None:
    """Everywhere in `numpy` and in the module of `numpy.linalg`'s functions, whatever names it has for them there."""
    emulated_by = {
        id(original): Emulated(name, original) for name in PRODUCTS if (original := getattr(np, name))
    }
    linalg = vars(inspect.getmodule(inspect.unwrap(np.linalg.multi_dot)))
    for namespace in (vars(np), linalg):
        for name, value in list(namespace.items()):
            if id(value) in emulated_by:
                _sites.append((namespace, name, value, emulated_by[id(value)]))
    for namespace, name, _, now in _sites:
        namespace[name] = now


def _restore() -> None:
    """What others have set meanwhile stays."""
    for namespace, name, original, now in _sites:
        if namespace.get(name) is now:
            namespace[name] = original
    _sites.clear()
