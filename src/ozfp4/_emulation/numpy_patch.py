"""NumPy's products by name, exchanged while any scope is entered: ``np.matmul`` and others, and what `numpy.linalg` calls by
those names. Only what runs in a scope's context is emulated; all other callers get NumPy's results.

They see the exchange nevertheless in three ways: a function that is told which one was called, as by __array_function__, is told
NumPy's own and not what stands at the name; torch.compile with fullgraph=True takes no np.dot, in any thread; a module that is
first imported meanwhile, and imports such a name, keeps what stood there."""

from __future__ import annotations

import functools
import inspect
import time
from typing import Any

import numpy as np

from . import chains
from .choice import decide_call, no_room
from .entered import Entered, innermost, keep, nowhere
from .exchange import Exchange, Site
from .numpy_products import PRODUCTS, Call
from .summary import Decision, Line


class Emulated:
    """What stands for a function of NumPy while a scope is entered anywhere; its attributes are the function's."""

    def __init__(self, name: str, original: Any) -> None:
        functools.update_wrapper(self, original)
        self._name, self._original = name, original

    def __call__(self, *args: Any, **named: Any) -> Any:
        scope = innermost()
        if scope is None:
            return self._original(*args, **named)
        key = _key(self._name, args) if len(args) == 2 and not named else None
        if key is not None and (line := scope.left.get(key)) is not None:
            scope.record.count(line)
            return self._original(*args)
        with nowhere():
            return self._emulated(scope, key, args, named)

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
            if key is not None:
                keep(left, key, line)
            record.count(line)
            return self._original(*args, **named)
        try:
            result = chains.made(found.problem, options, found.compute)
        except MemoryError as error:
            if options.mode == "always":
                raise
            result = no_room(error)
        if isinstance(result, Decision):
            record.count(record.line(f"np.{self._name}", found.problem, result))
            return self._original(*args, **named)
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


def _sites() -> list[Site]:
    """Everywhere in `numpy` and in the module of `numpy.linalg`'s functions, whatever names it has for them there."""
    emulated_by = {
        id(original): Emulated(name, original) for name in PRODUCTS if (original := getattr(np, name))
    }
    return [
        Site(module, name, emulated_by[id(value)])
        for module in (np, inspect.getmodule(inspect.unwrap(np.linalg.multi_dot)))
        for name, value in list(vars(module).items())
        if id(value) in emulated_by
    ]


EXCHANGE = Exchange(_sites)
