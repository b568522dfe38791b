"""NumPy's products by name, exchanged while any scope is entered: ``np.matmul`` and others, and what `numpy.linalg` calls by
those names. Only what runs in a scope's context is emulated; all other callers get NumPy's results.

The exchange is visible in three ways nevertheless. A function that gets the called one, as by __array_function__, gets
NumPy's own and not the replacement. torch.compile with fullgraph=True takes no np.dot, in any thread. A module that is
first imported meanwhile, and imports such a name, keeps the replacement."""

from __future__ import annotations

import functools
import inspect
import pkgutil
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .._api.contraction import einsum
from .._request.library import TAKEN
from .._request.subscripts import from_lists, parse
from .calls import Call, by_axes, by_shapes, by_subscripts, multiplied
from .entered import innermost
from .exchange import Exchange, Site

# ---- What each multiplies, and how; one of calls.REFUSED where NumPy has to see to it itself


def _matmul(a: Any, b: Any, out: Any = None) -> Call:
    return _into(out, by_shapes(*_arrays(a, b)))


def _dot(a: Any, b: Any, out: Any = None) -> Call:
    a, b = _arrays(a, b)
    if a.ndim <= 2 and b.ndim <= 2:
        return _into(out, by_shapes(a, b))
    return _into(out, by_axes(a, b, ([-1], [max(-2, -b.ndim)])))


def _inner(a: Any, b: Any, /) -> Call:
    a, b = _arrays(a, b)
    return _dot(a, b if b.ndim < 2 else b.swapaxes(-1, -2))


def _vdot(a: Any, b: Any, /) -> Call:
    first, second = (x.ravel() for x in _arrays(a, b))
    # The conjugate of bool is int8.
    return by_shapes(np.conj(first) if np.iscomplexobj(first) else first, second)


def _tensordot(a: Any, b: Any, axes: Any = 2) -> Call:
    a, b = _arrays(a, b)
    return by_axes(a, b, axes)


def _einsum(*operands: Any, out: Any = None, optimize: Any = False) -> Call:
    text, given = (operands[0], operands[1:]) if isinstance(operands[0], str) else from_lists(operands)
    taken = _arrays(*given)
    if len(taken) < 2:
        raise ValueError("of one array there is no product")
    found = parse(text, [x.shape for x in taken])
    return _into(out, by_subscripts(found, taken, partial(einsum, text, *taken, optimize=optimize)))


PRODUCTS: dict[str, Callable[..., Call]] = {
    "matmul": _matmul,
    "dot": _dot,
    "inner": _inner,
    "vdot": _vdot,
    "tensordot": _tensordot,
    "einsum": _einsum,
}


def _arrays(*given: Any) -> list[Any]:
    """As arrays. TypeError where one is of another kind, which may have its own products, or of a dtype that no product
    has."""
    if any(type(x) not in (np.ndarray, list, tuple) and not isinstance(x, np.generic) for x in given):
        raise TypeError("no array")
    arrays = [np.asarray(x) for x in given]
    if any(x.dtype.type not in TAKEN for x in arrays):
        raise TypeError("no dtype of products")
    return arrays


def _into(out: Any, call: Call) -> Call:
    """With the result in `out`, which NumPy allows to be an operand; TypeError where it does not hold the result as it is."""
    (out,) = out if isinstance(out, tuple) else (out,)
    if out is None:
        return call
    is_fitting = (
        type(out) is np.ndarray and out.shape == call.shape and out.dtype == np.dtype(call.problem.dtype)
    )
    if not is_fitting or not out.flags.writeable:
        raise TypeError("no array for the result")

    def write(**keywords: Any) -> Any:
        out[...] = call.compute(**keywords)
        return out

    return call._replace(compute=write)


# ---- What stands at the names


class Emulated:
    """The stand-in of a function of NumPy while a scope is entered anywhere; its attributes are the function's."""

    def __init__(self, name: str, original: Any) -> None:
        functools.update_wrapper(self, original)
        self._name, self._original = name, original
        self._operation, self._find = f"np.{name}", PRODUCTS[name]

    def __call__(self, *args: Any, **named: Any) -> Any:
        scope = innermost()
        if scope is None:
            return self._original(*args, **named)
        key = _key(self._name, args) if len(args) == 2 and not named else None
        return multiplied(scope, self._operation, key, self._find, self._original, args, named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def __reduce__(self) -> Any:
        return pkgutil.resolve_name, (f"numpy.{self._name}",)

    def __repr__(self) -> str:
        return repr(self._original)


def _key(name: str, args: Any) -> Any:
    """The key of every decision about a product of two arrays; None where one is no plain array."""
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
