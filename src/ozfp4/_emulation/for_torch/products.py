"""torch's functions of products, as ozfp4 makes them: what each multiplies, and how.

None, and errors, where torch has to see to it itself; NOTHING where so for all tensors of these shapes, dtype and device.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

from ..._api.gemm import gemm
from ..._api.matmul import matmul
from ..._request.library import require_torch
from ..._request.operands import matmul_shape
from ..._request.subscripts import parse
from ..._support import torch_private
from ..calls import Call, Keywords, axes_of, by_axes, by_subscripts, problem_of
from ..problem import Problem
from .operators import BY_NAME, Operator, are_alike

torch: Any = require_torch()
PLAIN = frozenset({torch.Tensor, torch.nn.Parameter})
NOTHING = Call(Problem("torch", "cpu", "", 0, 0, 0, 0), lambda keywords: None, ())


def _are_taken(*tensors: Any) -> bool:
    return all(type(x) in PLAIN for x in tensors) and are_alike(*tensors)


def _by(operator: Operator) -> Callable[..., Call | None]:
    """A function with the operands of an operator of torch."""

    def call(*args: Any, **named: Any) -> Call | None:
        out = named.get("out")
        if len(args) != len(operator.axes) + (operator.places[2] is not None) or not named.keys() <= _NAMED:
            return None
        if not _are_taken(*args, *([] if out is None else [out])):
            return None
        found = operator.call(args, named)
        if found is not None and out is not None and out.numel() and tuple(out.shape) != found.shape:
            return None  # torch warns that it resizes it
        return found

    return call


_NAMED = {"alpha", "beta", "out"}


def _matmul(a: Any, b: Any, *, out: Any = None) -> Call | None:
    like = _BY_AXES.get((a.ndim, b.ndim))
    if like is not None and a.shape[:-2] == b.shape[:-2]:
        return like(a, b) if out is None else like(a, b, out=out)
    if out is not None or not _are_taken(a, b):
        return None
    if b.ndim <= 2:
        return _of_lines(a, b)
    found = matmul_shape(tuple(a.shape), tuple(b.shape))
    problem = problem_of((a, b), prod(found.stack), found.m, found.n, found.k)
    return Call(problem, lambda keywords: matmul(a, b, **keywords), found.result, (a, b))


_BY_AXES = {BY_NAME[name].axes: _by(BY_NAME[name]) for name in ("dot", "mv", "mm", "bmm")}


def _of_lines(a: Any, b: Any, bias: Any = None) -> Call:
    """A stack by one matrix or vector, as torch multiplies them: all lines of the stack are those of one matrix. The result is
    no view of anything, as torch's is none: it may be detached in place."""
    found = matmul_shape(tuple(a.shape), tuple(b.shape))
    m = prod(a.shape[:-1])

    def compute(keywords: Keywords) -> Any:
        lines = a.reshape(m, found.k)
        made = matmul(lines, b, **keywords) if bias is None else gemm(1, lines, b, 1, bias, **keywords)
        return made if tuple(made.shape) == found.result else torch_private.in_shape(made, found.result)

    read = (a, b) if bias is None else (a, b, bias)
    return Call(problem_of((a, b), 1, m, found.n, found.k), compute, found.result, read)


def _linear(x: Any, weight: Any, bias: Any = None) -> Call | None:
    read = [x, weight] if bias is None else [x, weight, bias]
    if not _are_taken(*read) or weight.ndim != 2:
        return None
    if bias is not None and tuple(bias.shape) != tuple(weight.shape[:1]):
        return None
    return _of_lines(x, weight.mT, bias)


def _inner(a: Any, b: Any, *, out: Any = None) -> Call | None:
    return by_axes(a, b, [-1], [-1]) if out is None and _are_taken(a, b) else None


def _tensordot(a: Any, b: Any, dims: Any = 2, out: Any = None) -> Call | None:
    return by_axes(a, b, *axes_of(dims, a.ndim)) if out is None and _are_taken(a, b) else None


def _einsum(equation: Any, *operands: Any) -> Call | None:
    if len(operands) < 2 or not isinstance(equation, str) or not _are_taken(*operands):
        return None
    found = parse(equation, [tuple(x.shape) for x in operands])
    if len(operands) == 2:
        summed = [set(labels) - set(found.result) for labels in found.operands]
        if summed[0] != summed[1] or not summed[0]:
            return NOTHING  # sums of one operand alone, products without a sum
        for x, labels in zip(operands, found.operands, strict=True):
            if len(set(labels)) < len(labels) or tuple(x.shape) != tuple(found.extents[y] for y in labels):
                return NOTHING  # diagonals, what is broadcast
    return by_subscripts(equation, found, operands)


class Function(NamedTuple):
    """A product by its name: its operands' names in torch, the place of A, which B follows. `form` says of all arguments (those
    by name as a dictionary or None) what else decides what is multiplied; or it names the next one, where that it is there
    does."""

    product: Callable[..., Call | None]
    operands: tuple[str, ...]
    place: int = 0
    form: Callable[[Any, Any], Any] | str | None = None


def _form_of_tensordot(args: Any, named: Any) -> Any:
    dims = args[2] if len(args) > 2 else (named or {}).get("dims", 2)
    if type(dims) is int:
        return dims
    if type(dims) not in (tuple, list) or len(dims) != 2:
        raise TypeError("no such axes are looked up")  # torch takes them as they are
    return tuple(dims[0]), tuple(dims[1])


def _form_of_einsum(args: Any, named: Any) -> Any:
    return args[0] if len(args) == 3 else (args[0], *((x.shape, x.dtype) for x in args[3:]))


_OPERANDS: dict[str, tuple[str, ...]] = {
    "mm": ("input", "mat2"), "bmm": ("input", "mat2"), "mv": ("input", "vec"), "dot": ("input", "tensor"),
    "vdot": ("input", "other"), "addmm": ("input", "mat1", "mat2"), "addmv": ("input", "mat", "vec"),
    "baddbmm": ("input", "batch1", "batch2"), "addbmm": ("input", "batch1", "batch2"),
}  # fmt: skip
FUNCTIONS: dict[str, Function] = {
    "matmul": Function(_matmul, ("input", "other")),
    "linear": Function(_linear, ("input", "weight"), 0, "bias"),
    "inner": Function(_inner, ("input", "other")),
    "tensordot": Function(_tensordot, ("a", "b"), 0, _form_of_tensordot),
    "einsum": Function(_einsum, (), 1, _form_of_einsum),
    **{
        name: Function(_by(operator), operands, len(operands) - 2)
        for name, operator in BY_NAME.items()
        if (operands := _OPERANDS[name.removesuffix("_")])
    },
}
