"""A call of a product of NumPy or torch as a value, and who makes it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .._api.contraction import einsum, tensordot
from .._core import WorkspaceError
from .._request.library import is_integer, name_of, torch_module
from .._request.subscripts import Subscripts
from . import chains
from .choice import decide
from .entered import Entered, nowhere
from .options import Options
from .problem import Problem
from .summary import Decision, Line

Keywords = dict[str, Any]


class Call(NamedTuple):
    """A product, what makes it by ozfp4 with keywords of it, the shape of the result; the tensors that it reads, what it writes
    to while it is made; whether it is of more than two operands."""

    problem: Problem
    compute: Callable[[Keywords], Any]
    shape: tuple[int, ...]
    read: Sequence[Any] = ()
    out: Any = None
    is_several: bool = False


def problem_of(operands: Sequence[Any], stack: int, m: int, n: int, k: int) -> Problem:
    first = operands[0]
    if isinstance(first, np.ndarray):
        return Problem("numpy", "cpu", np.result_type(*operands).name, stack, m, n, k)
    return Problem("torch", str(first.device), name_of(first.dtype), stack, m, n, k)


def by_axes(a: Any, b: Any, of_a: Iterable[int], of_b: Iterable[int]) -> Call:
    """The sum over axes of each; ValueError or IndexError where that is no product: the library has its own error, or way."""
    of_a, of_b = ([range(x.ndim)[axis] for axis in axes] for x, axes in ((a, of_a), (b, of_b)))
    inner = [a.shape[axis] for axis in of_a]
    if inner != [b.shape[axis] for axis in of_b] or not inner:
        raise ValueError("axes that do not fit each other, or none")
    if len(set(of_a)) < len(of_a) or len(set(of_b)) < len(of_b):
        raise ValueError("an axis comes twice")
    rows = [n for axis, n in enumerate(a.shape) if axis not in of_a]
    columns = [n for axis, n in enumerate(b.shape) if axis not in of_b]
    return Call(
        problem_of((a, b), 1, prod(rows), prod(columns), prod(inner)),
        lambda keywords: tensordot(a, b, (of_a, of_b), **keywords),
        (*rows, *columns),
        (a, b),
    )


def axes_of(axes: Any, count: int) -> tuple[Iterable[int], Iterable[int]]:
    """The axes of both operands, from an argument of tensordot whose first operand has `count`."""
    if isinstance(axes, (int, np.integer)):
        return range(count - axes, count), range(axes)
    of_a, of_b = axes
    return np.atleast_1d(of_a), np.atleast_1d(of_b)


def by_subscripts(text: str, found: Subscripts, operands: Sequence[Any], **named: Any) -> Call:
    """The sum that `text` says; of more than two operands the result's entries are the rows."""
    result = set(found.result)
    summed = found.extents.keys() - result
    if len(operands) == 2:
        first, second = map(set, found.operands)
        groups = first & second & result, (first - second) & result, (second - first) & result, summed
    else:
        groups = set(), result, set(), summed
    stack, m, n, k = (prod(found.extents[label] for label in group) for group in groups)
    return Call(
        problem_of(operands, stack, m, n, k),
        lambda keywords: einsum(text, *operands, **named, **keywords),
        tuple(found.extents[label] for label in found.result),
        operands,
        is_several=len(operands) > 2,
    )


def line_of(entered: Entered, name: str, call: Call, key: Any) -> Line:
    """The line of a call. A product that the library makes is kept by its key, if it has one."""
    decision = decide(call.problem, entered.options, is_several=call.is_several)
    line = entered.record.line(name, call.problem, decision)
    if key is not None and not decision.take:
        entered.record.keep(key, line.calls)
    return line


def multiplied(entered: Entered, line: Line, call: Call, native: Callable[[], Any]) -> Any:
    """The product by whom its line says; the library's by `native`, also where ozfp4 turns out to have no room for it, or too
    much to repair."""
    if not line.decision.take:
        line.calls.add()
        return native()
    began = time.perf_counter()
    try:
        with nowhere():
            made = chains.made(call.problem, entered.options, call.compute)
    except (MemoryError, RuntimeError) as error:
        without_room = _without_room(call, entered.options, error)
        if without_room is None:
            raise
        made = without_room
    if isinstance(made, Decision):
        entered.record.line(line.operation, call.problem, made).calls.add()
        return native()
    entered.record.count(line, time.perf_counter() - began)
    return made


def _without_room(call: Call, options: Options, error: Exception) -> Decision | None:
    """Why the library makes a product for which memory ended; None where it does not: where another error was raised, all
    products have to be ozfp4's, the library has none, or a part of the result may be written."""
    torch = torch_module()
    if getattr(error, "ends_product", False):  # of what ozfp4.progress calls
        return None
    if not isinstance(error, MemoryError if torch is None else (MemoryError, torch.cuda.OutOfMemoryError)):
        return None
    is_refused = isinstance(error, WorkspaceError)
    has_native = call.problem.on_cpu or not is_integer(call.problem.dtype)
    if options.mode == "always" or not has_native or not (is_refused or call.out is None):
        return None
    return Decision(
        False, "ozfp4 needs more than workspace_limit" if is_refused else "ozfp4 found no memory for it"
    )
