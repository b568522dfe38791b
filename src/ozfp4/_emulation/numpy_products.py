"""NumPy's functions of products, as ozfp4 makes them: what each multiplies, and how. None, and errors, where NumPy has to see to
it itself."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from .._api.matmul import matmul
from .._request.library import TAKEN
from .._request.operands import matmul_shape
from .._request.subscripts import from_lists, parse
from .calls import Call, Keywords, axes_of, by_axes, by_subscripts, problem_of


def _matmul(a: Any, b: Any, out: Any = None, **others: Any) -> Call | None:
    taken = _arrays(a, b)
    if others or taken is None:
        return None
    a, b = taken
    found = matmul_shape(a.shape, b.shape)
    problem = problem_of(taken, prod(found.stack), found.m, found.n, found.k)
    return _into(out, Call(problem, lambda keywords: matmul(a, b, **keywords), found.result))


def _dot(a: Any, b: Any, out: Any = None) -> Call | None:
    return _over_last(a, b, -2, out)


def _inner(a: Any, b: Any, /) -> Call | None:
    return _over_last(a, b, -1, None)


def _over_last(a: Any, b: Any, of_b: int, out: Any) -> Call | None:
    """The sum over the last axis of A and one of B."""
    taken = _arrays(a, b)
    if taken is None:
        return None
    a, b = taken
    if b.ndim == 1:
        of_b = -1
    if a.ndim <= 2 and b.ndim <= 2 and of_b == -min(b.ndim, 2):
        return _matmul(a, b, out)
    return _into(out, by_axes(a, b, [-1], [of_b]))


def _vdot(a: Any, b: Any, /) -> Call | None:
    taken = _arrays(a, b)
    if taken is None:
        return None
    first, second = (x.ravel() for x in taken)
    # The conjugate of bool is int8.
    return _matmul(np.conj(first) if np.iscomplexobj(first) else first, second)


def _tensordot(a: Any, b: Any, axes: Any = 2) -> Call | None:
    taken = _arrays(a, b)
    if taken is None:
        return None
    a, b = taken
    return by_axes(a, b, *axes_of(axes, a.ndim))


def _einsum(*operands: Any, out: Any = None, optimize: Any = False, **others: Any) -> Call | None:
    text, given = (operands[0], operands[1:]) if isinstance(operands[0], str) else from_lists(operands)
    taken = _arrays(*given)
    if others or taken is None or len(taken) < 2:  # of one array there is no product
        return None
    found = parse(text, [x.shape for x in taken])
    if len(taken) == 2 and found.extents.keys() <= set(found.result):
        return None  # nothing is summed
    return _into(out, by_subscripts(text, found, taken, optimize=optimize))


PRODUCTS: dict[str, Callable[..., Call | None]] = {
    "matmul": _matmul,
    "dot": _dot,
    "inner": _inner,
    "vdot": _vdot,
    "tensordot": _tensordot,
    "einsum": _einsum,
}


def _arrays(*given: Any) -> list[Any] | None:
    """As arrays; None where one is of another kind, which may have products of its own, or of a dtype that no product has."""
    if any(type(x) not in (np.ndarray, list, tuple) and not isinstance(x, np.generic) for x in given):
        return None
    arrays = [np.asarray(x) for x in given]
    return arrays if all(x.dtype.type in TAKEN for x in arrays) else None


def _into(out: Any, call: Call) -> Call | None:
    """With the result in `out`, which NumPy allows to be an operand; None where it does not hold the result as it is."""
    (out,) = out if isinstance(out, tuple) else (out,)
    if out is None:
        return call
    is_fitting = (
        type(out) is np.ndarray and out.shape == call.shape and out.dtype == np.dtype(call.problem.dtype)
    )
    if not is_fitting or not out.flags.writeable:
        return None

    def write(keywords: Keywords) -> Any:
        out[...] = call.compute(keywords)
        return out

    return call._replace(compute=write)
