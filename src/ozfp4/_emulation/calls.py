"""A call of a product of NumPy or torch as a value, and who makes it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from .._api.contraction import subscripts_of, tensordot
from .._api.matmul import matmul
from .._request.library import is_integer, name_of, torch_module
from .._request.operands import matmul_shape
from .._request.subscripts import Subscripts
from . import chains
from .choice import Options, decide
from .entered import Entered, nowhere
from .summary import Decision, Problem

# Raised for a product that the library has to compute itself: it has special errors, or arguments that ozfp4 lacks.
REFUSED = (TypeError, ValueError, IndexError)


class NoProductError(ValueError):
    """So it is with all operands of these shapes, dtypes and device."""


class Call(NamedTuple):
    """A product: the function that computes it by ozfp4 with its keywords, and the shape of the result. Then the tensors
    that it writes to meanwhile, and whether it is of more than two operands."""

    problem: Problem
    compute: Callable[..., Any]
    shape: tuple[int, ...]
    out: Any = None
    is_several: bool = False


def problem_of(operands: Sequence[Any], stack: int, m: int, n: int, k: int) -> Problem:
    first = operands[0]
    if isinstance(first, np.ndarray):
        return Problem("numpy", "cpu", np.result_type(*operands).name, stack, m, n, k)
    return Problem("torch", str(first.device), name_of(first.dtype), stack, m, n, k)


def by_shapes(a: Any, b: Any) -> Call:
    """The product of matrices, vectors or stacks of matrices."""
    found = matmul_shape(tuple(a.shape), tuple(b.shape))
    problem = problem_of((a, b), prod(found.stack), found.m, found.n, found.k)
    return Call(problem, partial(matmul, a, b), found.result)


def by_axes(a: Any, b: Any, axes: Any) -> Call:
    """The sum over axes as of tensordot."""
    found = subscripts_of(axes, (tuple(a.shape), tuple(b.shape)), False)
    return by_subscripts(found, (a, b), partial(tensordot, a, b, axes))


def by_subscripts(found: Subscripts, operands: Sequence[Any], compute: Callable[..., Any]) -> Call:
    """A sum of products; of more than two operands the result's entries are the rows. ValueError where of two nothing is
    summed."""
    result = set(found.result)
    summed = found.extents.keys() - result
    groups: Sequence[Any] = set(), result, set(), summed
    if len(operands) == 2:
        first, second = map(set, found.operands)
        groups = first & second & result, (first - second) & result, (second - first) & result, summed
        if not summed:
            raise ValueError("nothing is summed")
    stack, m, n, k = (prod(found.extents[label] for label in group) for group in groups)
    shape = tuple(found.extents[label] for label in found.result)
    problem = problem_of(operands, stack, m, n, k)
    return Call(problem, compute, shape, is_several=len(operands) > 2)


def multiplied(
    entered: Entered,
    name: str,
    key: Any,
    find: Callable[..., Call],
    native: Callable[..., Any],
    args: Any = (),
    named: Any = MappingProxyType({}),
) -> Any:
    """The product that `find` finds of these arguments, or the library's by `native`. The library's is taken where the
    choice leaves the product, by its `key` (None: it has none) or now. It is also taken where ozfp4 has no room for the
    product, or too much to repair."""
    record = entered.record
    if (calls := record.left.get(key)) is not None:
        calls.add()
        return native(*args, **named)
    try:
        call = find(*args, **named)
    except REFUSED as error:
        call = None
        if key is not None and isinstance(error, NoProductError):
            record.keep(key, _core.Calls())  # which is not read
    if call is None:
        return native(*args, **named)
    decision = decide(call.problem, entered.options, is_several=call.is_several)
    line = record.line(name, call.problem, decision)
    if decision.take:
        began = time.perf_counter()
        try:
            with nowhere():
                made = chains.made(call.problem, entered.options, call.compute)
        except (MemoryError, RuntimeError) as error:
            made = _without_room(call, entered.options, error)
            if made is None:
                raise
        if not isinstance(made, Decision):
            record.count(line, time.perf_counter() - began)
            return made
        line = record.line(name, call.problem, made)
    elif key is not None:
        record.keep(key, line.calls)
    line.calls.add()
    return native(*args, **named)


def _without_room(call: Call, options: Options, error: Exception) -> Decision | None:
    """Why the library makes a product for which memory ended, or None where it does not. It does not where another error
    was raised, all products have to be ozfp4's, the library has none, or a part of the result may be written."""
    torch = torch_module()
    if getattr(error, "ends_product", False):  # of what ozfp4.progress calls
        return None
    if not isinstance(error, MemoryError if torch is None else (MemoryError, torch.cuda.OutOfMemoryError)):
        return None
    is_refused = isinstance(error, _core.WorkspaceError)
    has_native = call.problem.on_cpu or not is_integer(call.problem.dtype)
    if options.mode == "always" or not has_native or not (is_refused or call.out is None):
        return None
    return Decision(
        False, "ozfp4 needs more than workspace_limit" if is_refused else "ozfp4 found no memory for it"
    )
