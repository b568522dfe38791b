"""torch's functions of products, as ozfp4 makes them: what each multiplies, and how.

None where torch has to see to it itself, NOTHING where so for all tensors of these shapes, dtype and device. All is made of
ozfp4.matmul and gemm, and of what torch derives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..._api.gemm import gemm
from ..._api.matmul import matmul
from ..._request.library import name_of, require_torch
from ..._request.subscripts import parse
from ..._support import torch_private
from ..problem import Problem
from .operators import BY_NAME, Operator

torch: Any = require_torch()
Keywords = dict[str, Any]
PLAIN = frozenset({torch.Tensor, torch.nn.Parameter})


class Call(NamedTuple):
    """A product, what makes it by ozfp4 with keywords of it, the tensors that it reads, the one that it writes to; whether it is
    of more than two operands."""

    problem: Problem
    compute: Callable[[Keywords], Any]
    read: Sequence[Any]
    out: Any = None
    is_several: bool = False


NOTHING = Call(Problem("torch", "cpu", "", 0, 0, 0, 0), lambda keywords: None, ())


def _are_taken(*tensors: Any) -> bool:
    """Whether all are dense, of one dtype, and on one device that ozfp4 multiplies on."""
    dtype, device, strided = tensors[0].dtype, tensors[0].device, torch.strided
    for x in tensors:
        if type(x) not in PLAIN or x.layout is not strided or x.is_nested or x.dtype != dtype:
            return False
        if x.device != device:
            return False
    return device.type in ("cpu", "cuda")


def _in_shape(result: Any, shape: Sequence[int]) -> Any:
    """A new result, which is no view of anything as torch's is none: it may be detached in place. Range: as many entries."""
    return result if tuple(result.shape) == tuple(shape) else torch_private.in_shape(result, shape)


def _problem(a: Any, stack: int, m: int, n: int, k: int) -> Problem:
    return Problem("torch", str(a.device), name_of(a.dtype), stack, m, n, k)


def _by(operator: Operator) -> Callable[..., Call | None]:
    """A function with the operands of an operator of torch."""

    def call(*args: Any, **named: Any) -> Call | None:
        if len(args) != len(operator.axes) + (operator.places[2] is not None) or not named.keys() <= _NAMED:
            return None
        a, b, c = operator.operands(args)
        out = c if operator.in_place else named.get("out")
        read = [x for x in (a, b, c) if x is not None]
        if not _are_taken(*read, *([] if out is None else [out])) or not operator.fits(a, b, c, named):
            return None
        if out is not None and out.numel() and tuple(out.shape) != operator.result(a, b):
            return None  # torch warns that it resizes it
        return Call(
            operator.problem(a, b), lambda keywords: operator.compute(a, b, c, named, keywords), read, out
        )

    return call


_NAMED = {"alpha", "beta", "out"}


def _matmul(a: Any, b: Any, *, out: Any = None) -> Call | None:
    like = _BY_AXES.get((a.ndim, b.ndim))
    if like is not None and (a.ndim < 3 or a.shape[0] == b.shape[0]):
        return like(a, b) if out is None else like(a, b, out=out)
    if out is not None or not _are_taken(a, b) or not a.ndim or not b.ndim:
        return None
    if a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        return None
    k = a.shape[-1]
    if b.ndim <= 2:  # as torch does: one matrix of all lines
        n = b.shape[1] if b.ndim == 2 else 1
        shape = (*a.shape[:-1], *b.shape[1:])
        return Call(
            _problem(a, 1, math.prod(a.shape[:-1]), n, k),
            lambda keywords: _in_shape(matmul(a.reshape(math.prod(a.shape[:-1]), k), b, **keywords), shape),
            (a, b),
        )
    try:
        stack = math.prod(torch.broadcast_shapes(a.shape[:-2], b.shape[:-2]))
    except RuntimeError:
        return None
    m = a.shape[-2] if a.ndim > 1 else 1
    return Call(_problem(a, stack, m, b.shape[-1], k), lambda keywords: matmul(a, b, **keywords), (a, b))


_BY_AXES = {BY_NAME[name].axes: _by(BY_NAME[name]) for name in ("dot", "mv", "mm", "bmm")}


def _linear(x: Any, weight: Any, bias: Any = None) -> Call | None:
    read = [x, weight] if bias is None else [x, weight, bias]
    if not _are_taken(*read) or not x.ndim or weight.ndim != 2 or x.shape[-1] != weight.shape[1]:
        return None
    n, k = weight.shape
    if bias is not None and tuple(bias.shape) != (n,):
        return None
    m = math.prod(x.shape[:-1])

    def compute(keywords: Keywords) -> Any:
        lines = x.reshape(m, k)
        shape = (*x.shape[:-1], n)
        if bias is None:
            return _in_shape(matmul(lines, weight.mT, **keywords), shape)
        return gemm(1, lines, weight.mT, 1, bias, **keywords).reshape(shape)

    return Call(_problem(x, 1, m, n, k), compute, read)


def _inner(a: Any, b: Any, *, out: Any = None) -> Call | None:
    if out is not None or not _are_taken(a, b) or not a.ndim or not b.ndim:
        return None
    return _over(a, b, [a.ndim - 1], [b.ndim - 1])


def _tensordot(a: Any, b: Any, dims: Any = 2, out: Any = None) -> Call | None:
    if out is not None or not _are_taken(a, b):
        return None
    try:
        if isinstance(dims, int):
            of_a, of_b = list(range(a.ndim - dims, a.ndim)), list(range(dims))
        else:
            of_a, of_b = (
                [range(x.ndim)[axis] for axis in axes] for x, axes in zip((a, b), dims, strict=True)
            )
    except (TypeError, IndexError, ValueError):
        return None  # torch's own error, and other forms
    return _over(a, b, of_a, of_b)


def _over(a: Any, b: Any, of_a: list[int], of_b: list[int]) -> Call | None:
    """The sum over axes of each. Range: numbers below those of the axes; what they are otherwise is looked at."""
    if not of_a or len(set(of_a)) < len(of_a) or len(set(of_b)) < len(of_b) or min(*of_a, *of_b) < 0:
        return None
    if max(of_a) >= a.ndim or max(of_b) >= b.ndim or [a.shape[i] for i in of_a] != [b.shape[i] for i in of_b]:
        return None
    # In the order of the first operand's axes, as ozfp4.tensordot takes them: chains show the order of their terms.
    of_a, of_b = (list(axes) for axes in zip(*sorted(zip(of_a, of_b, strict=True)), strict=True))
    rest_a = [i for i in range(a.ndim) if i not in of_a]
    rest_b = [i for i in range(b.ndim) if i not in of_b]
    rows, columns = [a.shape[i] for i in rest_a], [b.shape[i] for i in rest_b]
    m, n, k = math.prod(rows), math.prod(columns), math.prod(a.shape[i] for i in of_a)

    def compute(keywords: Keywords) -> Any:
        left = a.permute(*rest_a, *of_a).reshape(m, k)
        right = b.permute(*of_b, *rest_b).reshape(k, n)
        return matmul(left, right, **keywords).reshape([*rows, *columns])

    return Call(_problem(a, 1, m, n, k), compute, (a, b))


def _einsum(equation: Any, *operands: Any) -> Call | None:
    if len(operands) < 2 or not isinstance(equation, str) or not _are_taken(*operands):
        return None
    try:
        found = parse(equation, [tuple(x.shape) for x in operands])
    except ValueError:
        return NOTHING  # torch's own error
    extents, result = found.extents, found.result
    if len(operands) > 2:
        m = math.prod(extents[label] for label in result)
        k = math.prod(extents[label] for label in extents.keys() - set(result))
        return Call(_problem(operands[0], 1, m, 1, k), lambda keywords: None, operands, is_several=True)
    a, b = operands
    of_a, of_b = found.operands
    full = all(
        tuple(x.shape) == tuple(extents[label] for label in labels) and len(set(labels)) == len(labels)
        for x, labels in ((a, of_a), (b, of_b))
    )
    inner = [label for label in of_a if label not in result]
    if not full or not inner or set(inner) != {label for label in of_b if label not in result}:
        return NOTHING  # sums of one operand alone, diagonals, what is broadcast, products without a sum
    stack = [label for label in of_a if label in of_b and label in result]
    rows = [label for label in of_a if label not in of_b]
    columns = [label for label in of_b if label not in of_a]
    s, m, n, k = (math.prod(extents[label] for label in group) for group in (stack, rows, columns, inner))

    def compute(keywords: Keywords) -> Any:
        left = a.permute(*(of_a.index(label) for label in (*stack, *rows, *inner)))
        right = b.permute(*(of_b.index(label) for label in (*stack, *inner, *columns)))
        lines = (s,) if stack else ()
        c = matmul(left.reshape(*lines, m, k), right.reshape(*lines, k, n), **keywords)
        made = (*stack, *rows, *columns)
        c = c.reshape([extents[label] for label in made])
        return c.permute([made.index(label) for label in result])

    return Call(_problem(a, s, m, n, k), compute, (a, b))


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
