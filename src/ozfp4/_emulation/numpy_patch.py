"""NumPy's products by name, exchanged while any scope is entered: ``np.matmul`` and others, and what `numpy.linalg` calls by
those names. Only what runs in a scope's context is emulated; all other callers get NumPy's results.

They see the exchange nevertheless in three ways: a function that is told which one was called, as by __array_function__, is told
NumPy's own and not what stands at the name; torch.compile with fullgraph=True takes no np.dot, in any thread; a module that is
first imported meanwhile, and imports such a name, keeps what stood there."""

from __future__ import annotations

import functools
import inspect
import pkgutil
from typing import Any

import numpy as np

from .calls import line_of, multiplied
from .entered import innermost
from .exchange import Exchange, Site
from .numpy_products import PRODUCTS


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
        if key is not None and (calls := scope.record.left.get(key)) is not None:
            calls.add()
            return self._original(*args)
        try:
            call = PRODUCTS[self._name](*args, **named)
        except (
            TypeError,
            ValueError,
            IndexError,
        ):  # NumPy has its own errors, and arguments that ozfp4 lacks
            call = None
        if call is None:
            return self._original(*args, **named)
        line = line_of(scope, f"np.{self._name}", call, key)
        return multiplied(scope, line, call, lambda: self._original(*args, **named))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def __reduce__(self) -> Any:
        return pkgutil.resolve_name, (f"numpy.{self._name}",)

    def __repr__(self) -> str:
        return repr(self._original)


def _key(name: str, args: Any) -> Any:
    """What all that is decided of a product of two arrays depends on; None where one is no plain array."""
    a, b = args
    if type(a) is not np.ndarray or type(b) is not np.ndarray:
        return None
    return name, a.shape, b.shape, a.dtype, b.dtype


def _sites() -> list[Site]:
    """Everywhere in `numpy` and in the module of `numpy.linalg`'s functions, whatever names it has for them there."""
    emulated_by = {
        id(original): Emulated(name, original) for name in PRODUCTS if (original := getattr(np, name))
    }
    return [
        (module, name, emulated_by[id(value)])
        for module in (np, inspect.getmodule(inspect.unwrap(np.linalg.multi_dot)))
        for name, value in list(vars(module).items())
        if id(value) in emulated_by
    ]


EXCHANGE = Exchange(_sites)
