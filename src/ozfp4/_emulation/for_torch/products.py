"""torch's functions of products, as ozfp4 makes them: what each multiplies, and how; one of calls.REFUSED where torch has to see
to it itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any, NamedTuple

from ..._api.contraction import einsum
from ..._api.gemm import gemm
from ..._api.matmul import matmul
from ..._request.library import require_torch
from ..._request.operands import matmul_shape
from ..._request.subscripts import parse
from ..._support import torch_private
from ..calls import Call, NoProductError, by_axes, by_shapes, by_subscripts, problem_of
from .operators import BY_NAME, Operator, check_alike

torch: Any = require_torch()
PLAIN = frozenset({torch.Tensor, torch.nn.Parameter})


def _check(*tensors: Any, no: Any = None) -> None:
    """ValueError for what is no plain tensor, for a result in `no`; where torch writes down what is called, or multiplies in
    another precision than the operands'."""
    if no is not None or any(type(x) not in PLAIN for x in tensors):
        raise ValueError("not plain tensors alone")
    check_alike(*tensors)
    first = tensors[0]
    is_cast = first.dtype == torch.float32 and torch.is_autocast_enabled(first.device.type)
    if is_cast or torch_private.is_recorded():
        raise ValueError("torch's own")


def _by(operator: Operator) -> Callable[..., Call]:
    """A function with the operands of an operator of torch."""

    def call(*args: Any, **named: Any) -> Call:
        out = named.get("out")
        if len(args) != len(operator.axes) + (operator.places[2] is not None) or not named.keys() <= _NAMED:
            raise TypeError("other arguments")
        _check(*args, *([] if out is None else [out]))
        found = operator.call(args, named)
        if out is not None and out.numel() and tuple(out.shape) != found.shape:
            raise ValueError("torch warns that it resizes it")
        if found.out is not None and _may_be_refused(found.out, args):
            raise ValueError("torch refuses to write to it")
        return found

    return call


_NAMED = {"alpha", "beta", "out"}


def _may_be_refused(out: Any, read: Any) -> bool:
    """Whether torch has something against what is written to, as where gradients or tangents may be wanted."""
    return bool(
        (out.is_inference() and not torch.is_inference_mode_enabled())
        or (torch.is_grad_enabled() and any(x.requires_grad for x in (*read, out)))
        or torch_private.tangent_level() >= 0
        or torch_private.interpreter() is not None
    )


def _matmul(a: Any, b: Any, *, out: Any = None) -> Call:
    like = _BY_AXES.get((a.ndim, b.ndim))
    if like is not None and a.shape[:-2] == b.shape[:-2]:
        return like(a, b) if out is None else like(a, b, out=out)
    _check(a, b, no=out)
    return _of_lines(a, b) if b.ndim <= 2 else by_shapes(a, b)


_BY_AXES = {BY_NAME[name].axes: _by(BY_NAME[name]) for name in ("dot", "mv", "mm", "bmm")}


def _of_lines(a: Any, b: Any, bias: Any = None) -> Call:
    """A stack by one matrix or vector, as torch multiplies them: all lines of the stack are those of one matrix. The result is
    no view of anything, as torch's is none: it may be detached in place."""
    found = matmul_shape(tuple(a.shape), tuple(b.shape))
    m = prod(a.shape[:-1])

    def compute(**keywords: Any) -> Any:
        lines = a.reshape(m, found.k)
        made = matmul(lines, b, **keywords) if bias is None else gemm(1, lines, b, 1, bias, **keywords)
        return made if tuple(made.shape) == found.result else torch_private.in_shape(made, found.result)

    return Call(problem_of((a, b), 1, m, found.n, found.k), compute, found.result)


def _linear(x: Any, weight: Any, bias: Any = None) -> Call:
    _check(x, weight, *([] if bias is None else [bias]))
    if weight.ndim != 2 or (bias is not None and tuple(bias.shape) != tuple(weight.shape[:1])):
        raise ValueError("no weights, or bias, of a layer")
    return _of_lines(x, weight.mT, bias)


def _inner(a: Any, b: Any, *, out: Any = None) -> Call:
    _check(a, b, no=out)
    return by_axes(a, b, ([-1], [-1]))


def _tensordot(a: Any, b: Any, dims: Any = 2, out: Any = None) -> Call:
    _check(a, b, no=out)
    return by_axes(a, b, dims)


def _einsum(equation: Any, *operands: Any) -> Call:
    if len(operands) < 2 or not isinstance(equation, str):
        raise TypeError("another form, or no product")
    _check(*operands)
    found = parse(equation, [tuple(x.shape) for x in operands])
    if len(operands) == 2:
        summed = [set(labels) - set(found.result) for labels in found.operands]
        if summed[0] != summed[1] or not summed[0]:
            raise NoProductError("sums of one operand alone, products without a sum")
        for x, labels in zip(operands, found.operands, strict=True):
            if len(set(labels)) < len(labels) or tuple(x.shape) != tuple(found.extents[y] for y in labels):
                raise NoProductError("diagonals, what is broadcast")
    return by_subscripts(found, operands, partial(einsum, equation, *operands))


class Function(NamedTuple):
    """A product by its name: its operands' names in torch, the place of A, which B follows. `form` maps all arguments to
    the further facts that decide what is multiplied. Or it names the next argument, which decides by its presence
    (csrc/bindings/tensors/left.cpp)."""

    product: Callable[..., Call]
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
