"""NumPy's functions of products, as ozfp4 makes them: what each multiplies, and how; None where NumPy has to see to it itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._api.einsum import einsum
from .._api.matmul import matmul
from .._api.tensordot import tensordot
from .._request.library import TAKEN
from .._request.subscripts import from_lists, parse
from .problem import Problem

Keywords = dict[str, Any]


class Call(NamedTuple):
    """A product, what makes it by ozfp4 with keywords of it, and whether it is of more than two operands."""

    problem: Problem
    compute: Callable[[Keywords], Any]
    is_several: bool = False


def _matmul(a: Any, b: Any, out: Any = None, **others: Any) -> Call | None:
    taken = _arrays(a, b)
    if others or taken is None or not _is_result(out):
        return None
    a, b = taken
    if not a.ndim or not b.ndim or a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        return None
    try:
        stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        return None
    problem = _problem((a, b), math.prod(stack), _rows(a), b.shape[-1] if b.ndim > 1 else 1, a.shape[-1])
    shape = (*stack, *(a.shape[-2:-1] if a.ndim > 1 else ()), *(b.shape[-1:] if b.ndim > 1 else ()))
    return _call(problem, shape, out, lambda keywords: matmul(a, b, **keywords))


def _dot(a: Any, b: Any, out: Any = None) -> Call | None:
    taken = _arrays(a, b)
    if taken is None or not all(x.ndim for x in taken):
        return None
    a, b = taken
    if a.ndim <= 2 and b.ndim <= 2:
        return _matmul(a, b, out)
    return _over(a, b, -1, -2 if b.ndim > 1 else -1, out)


def _inner(a: Any, b: Any, /) -> Call | None:
    taken = _arrays(a, b)
    if taken is None or not all(x.ndim for x in taken):
        return None
    a, b = taken
    return _matmul(a, b) if a.ndim == b.ndim == 1 else _over(a, b, -1, -1, None)


def _vdot(a: Any, b: Any, /) -> Call | None:
    taken = _arrays(a, b)
    if taken is None:
        return None
    first, second = (x.ravel() for x in taken)
    return _matmul(
        np.conj(first) if np.iscomplexobj(first) else first, second
    )  # the conjugate of bool is int8


def _tensordot(a: Any, b: Any, axes: Any = 2) -> Call | None:
    taken = _arrays(a, b)
    if taken is None:
        return None
    a, b = taken
    try:
        of_a, of_b = _axes(axes, a.ndim)
        inner = [a.shape[axis] for axis in of_a]
        if not inner or inner != [b.shape[axis] for axis in of_b]:
            return None  # NumPy's own error, or its outer product
    except (TypeError, IndexError):
        return None
    k = math.prod(inner)
    return Call(
        _problem((a, b), 1, _over_rest(a, of_a), _over_rest(b, of_b), k),
        lambda keywords: tensordot(a, b, axes, **keywords),
    )


def _einsum(*operands: Any, out: Any = None, optimize: Any = False, **others: Any) -> Call | None:
    if others or len(operands) < 3 or not _is_result(out):
        return None  # of one array there is no product
    try:
        text, *given = operands if isinstance(operands[0], str) else _written(operands)
        taken = _arrays(*given)
        if taken is None or len(taken) < 2:
            return None
        found = parse(text, [x.shape for x in taken])
    except (TypeError, ValueError):
        return None
    extents, result = found.extents, set(found.result)
    first, second = (set(labels) for labels in found.operands[:2])
    if len(taken) == 2 and not (first | second) - result:
        return None  # nothing is summed

    def extent(labels: set[Any]) -> int:
        return math.prod(extents[label] for label in labels)

    if len(taken) == 2:
        groups = (
            first & second & result,
            (first - second) & result,
            (second - first) & result,
            (first | second) - result,
        )
        problem = _problem(taken, *map(extent, groups))
    else:
        everything = set().union(*map(set, found.operands))
        problem = _problem(taken, 1, extent(result), 1, extent(everything - result))
    call = _call(
        problem, tuple(extents[label] for label in found.result), out,
        lambda keywords: einsum(text, *taken, optimize=optimize, **keywords),
    )  # fmt: skip
    return call if call is None else call._replace(is_several=len(taken) > 2)


def _written(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """NumPy's other form of einsum, with a list of axes behind each array, as subscripts before all of them."""
    text, given = from_lists(list(operands))
    return text, *given


PRODUCTS: dict[str, Callable[..., Call | None]] = {
    "matmul": _matmul,
    "dot": _dot,
    "inner": _inner,
    "vdot": _vdot,
    "tensordot": _tensordot,
    "einsum": _einsum,
}


def _over(a: Any, b: Any, of_a: int, of_b: int, out: Any) -> Call | None:
    """The sum over one axis of each."""
    if a.shape[of_a] != b.shape[of_b]:
        return None
    problem = _problem((a, b), 1, _over_rest(a, [of_a]), _over_rest(b, [of_b]), a.shape[of_a])
    shape = (*np.delete(a.shape, of_a), *np.delete(b.shape, of_b))
    axes = ([of_a], [of_b])
    return _call(problem, tuple(map(int, shape)), out, lambda keywords: tensordot(a, b, axes, **keywords))


def _over_rest(x: Any, axes: list[int]) -> int:
    """The extent of all other axes together."""
    summed = {axis % x.ndim for axis in axes}
    return math.prod(extent for axis, extent in enumerate(x.shape) if axis not in summed)


def _axes(axes: Any, count: int) -> tuple[list[int], list[int]]:
    if isinstance(axes, (int, np.integer)):
        return [*range(count - axes, count)], [*range(axes)]
    of_a, of_b = axes
    return [int(i) for i in np.atleast_1d(of_a)], [int(i) for i in np.atleast_1d(of_b)]


def _rows(a: Any) -> int:
    return a.shape[-2] if a.ndim > 1 else 1


def _arrays(*given: Any) -> list[Any] | None:
    """As arrays; None where one is of another kind, which may have products of its own, or of a dtype that no product has."""
    if any(type(x) not in (np.ndarray, list, tuple) and not isinstance(x, np.generic) for x in given):
        return None
    arrays = [np.asarray(x) for x in given]
    return arrays if all(x.dtype.type in TAKEN for x in arrays) else None


def _problem(arrays: Any, stack: int, m: int, n: int, k: int) -> Problem:
    return Problem("numpy", "cpu", np.result_type(*arrays).name, stack, m, n, k)


def _is_result(out: Any) -> bool:
    return (
        out is None
        or type(out) is np.ndarray
        or (type(out) is tuple and len(out) == 1 and _is_result(out[0]))
    )


def _call(
    problem: Problem, shape: tuple[int, ...], out: Any, compute: Callable[[Keywords], Any]
) -> Call | None:
    """With the result in `out`, which NumPy allows to be an operand; None where it does not hold the result as it is."""
    (out,) = out if isinstance(out, tuple) else (out,)
    if out is None:
        return Call(problem, compute)
    if out.shape != shape or out.dtype != np.dtype(problem.dtype) or not out.flags.writeable:
        return None

    def write(keywords: Keywords) -> Any:
        out[...] = compute(keywords)
        return out

    return Call(problem, write)
