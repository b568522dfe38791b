"""Gradients of products over a group are products over it: G B^H and A^H G, each entry one sum, rounded once.

What broadcasting repeats goes into the inner dimension, as in ``torch_ops/gradients``. The order of that is the same in both
factors, and what is cut comes first in it, so that a rank's part is one range.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any, NamedTuple

from .._request.library import require_torch
from . import _agree as agree
from ._collectives import Group, move
from ._layout import Placed, Problem
from ._request import Call
from ._run import run

torch: Any = require_torch()


def product(group: Group, call: Call, a: Any, b: Any) -> Any:
    """This rank's part of the result, with a gradient."""
    return _Product.apply(a, b, group, call)


class _Product(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, a: Any, b: Any, group: Group, call: Call) -> Any:
        ctx.group, ctx.call = group, call
        ctx.likes = _Like(a.shape, a.dtype, call.problem.a), _Like(b.shape, b.dtype, call.problem.b)
        for_a, for_b = ctx.needs_input_grad[:2]
        ctx.save_for_backward(
            a if for_b else None, b if for_a else None
        )  # each is in the gradient of the other
        return run(group, call, a.detach(), b.detach())[0]

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        a, b = ctx.saved_tensors
        group, call, wanted = ctx.group, ctx.call, ctx.needs_input_grad[:2]
        problem = call.problem
        _check_together(group, problem, wanted)
        of_a = of_b = None
        g = _Part(grad, problem.result)
        if wanted[0]:
            of_a = _gradient(group, call, g, _Part(b, problem.b), ctx.likes[0], -1)
        if wanted[1]:
            of_b = _gradient(group, call, g, _Part(a, problem.a), ctx.likes[1], -2)
        return of_a, of_b, None, None


class _Like(NamedTuple):
    """What a gradient has to be like: the shape of this rank's part, the dtype, how the whole lies."""

    shape: Any
    dtype: Any
    placed: Placed


def _check_together(group: Group, problem: Problem, wanted: tuple[bool, ...]) -> None:
    """All ranks are in the gradient of the same product."""
    said = agree.encode({"gradient": repr(problem), "wanted": list(wanted)})
    agree.agree(group, said, None, lambda fields: agree.check_alike(fields, ("gradient", "wanted")))


class _Part:
    """A rank's part of a matrix, and how the matrix lies."""

    def __init__(self, x: Any, placed: Placed) -> None:
        self.x, self.placed = x, placed

    @property
    def adjoint(self) -> _Part:
        shape = list(self.placed.shape)
        shape[-2:] = shape[:-3:-1]
        axis = {-1: -2, -2: -1}.get(self.placed.axis or 0, self.placed.axis)
        return _Part(self.x.mH, Placed(tuple(shape), axis, self.placed.sizes))

    def padded(self, axes: int) -> _Part:
        """With that many axes, new ones of one entry first."""
        missing = axes - len(self.placed.shape)
        if not missing:
            return self
        x = self.x.reshape((*(1,) * missing, *self.x.shape))
        return _Part(x, replace(self.placed, shape=(*(1,) * missing, *self.placed.shape)))

    def merged(self, axes: list[int], into: int, order: list[int]) -> _Part:
        """With axes of its stack in the matrix axis `into`: there the axes follow each other in `order`, all counted from
        behind."""
        if not axes:
            return self
        placed, dims = self.placed, len(self.placed.shape)
        kept = [axis for axis in range(-dims, -2) if axis not in axes]
        other = -3 - into
        lead = [*kept, *([other] if into == -1 else [])]
        tail = [other] if into == -2 else []
        whole = prod(placed.shape[axis] for axis in order)
        shape = [placed.shape[axis] for axis in kept] + [whole, placed.shape[other]][
            :: 1 if into == -2 else -1
        ]
        local = [self.x.shape[axis] for axis in kept]
        rows = prod(self.x.shape[axis] for axis in order)
        local += [rows, self.x.shape[other]][:: 1 if into == -2 else -1]
        axis, sizes = placed.axis, placed.sizes
        if axis in order:
            assert axis == order[0]
            others = prod(placed.shape[each] for each in order[1:])
            axis, sizes = into, tuple(size * others for size in sizes)
        elif placed.is_stack_cut:
            axis = -len(shape)
        x = self.x.permute([*lead, *order, *tail]).reshape(local)
        return _Part(x, Placed(tuple(shape), axis, sizes))


def _gradient(group: Group, call: Call, grad: _Part, partner: _Part, own: _Like, inner: int) -> Any:
    """The gradient of an operand, this rank's part: `inner` is -1 for A, whose partner is B, and -2 for B, whose partner is A."""
    result = call.problem.result
    dims = len(result.shape)
    partner = partner.padded(dims)
    missing = dims - len(own.placed.shape)
    shape = (1,) * missing + own.placed.shape
    repeated = [axis for axis in range(-dims, -2) if shape[axis] == 1 and result.shape[axis] != 1]
    axes = [*repeated, inner]
    cuts = [x.placed.axis for x in (grad, partner) if x.placed.axis in axes]
    if len(set(cuts)) > 1:  # each cuts another of the axes that become one
        if torch.is_grad_enabled():
            raise RuntimeError(
                "a gradient of a gradient of this layout is not there: the result is cut along another axis of the stack than "
                "an operand; give both the same layout"
            )
        moved = Placed(partner.placed.shape, grad.placed.axis, grad.placed.sizes)
        partner = _Part(move(group, partner.x, partner.placed, moved), moved)
    order = [*cuts[:1], *(axis for axis in axes if axis not in cuts[:1])]
    g, p = grad.merged(repeated, inner, order), partner.merged(repeated, inner, order)
    left, right = (g, p.adjoint) if inner == -1 else (p.adjoint, g)
    kept = [result.shape[axis] for axis in range(-dims, -2) if axis not in repeated]
    gradient = (*kept, *own.placed.shape[-2:])
    placed = Placed(
        gradient, -len(gradient) if own.placed.is_stack_cut else own.placed.axis, own.placed.sizes
    )
    items = {"item_a": left.x.element_size(), "item_b": right.x.element_size()}
    problem = replace(call.problem, a=left.placed, b=right.placed, result=placed, **items)
    options = {name: value for name, value in call.options.items() if name != "overflow"}
    method = "auto" if call.method == "reduce" else call.method
    again = Call(problem, torch.promote_types(left.x.dtype, right.x.dtype), options, method, False, True)
    c = (
        product(group, again, left.x, right.x)
        if torch.is_grad_enabled()
        else run(group, again, left.x, right.x)[0]
    )
    if c.is_complex() and not own.dtype.is_complex:
        c = c.real
    return c.reshape(own.shape).to(own.dtype)
