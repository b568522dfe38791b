"""Gradients of products over a group are products over it: G B^H and A^H G, each entry one sum, rounded once.

Repetitions by broadcasting go into the inner dimension, as in ``_torch_ops/gradients``, in the same order in both factors. An
axis that is cut comes first in it, so that a rank's part is one range.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any, NamedTuple

from .._request.library import require_torch
from .._torch_ops import agree
from .._torch_ops.agree import Group
from .._torch_ops.shapes import Like
from ._collectives import move
from ._layout import Placed, Problem
from ._run import run

torch: Any = require_torch()


class Differentiable(torch.autograd.Function):  # type: ignore[misc]
    """The results of `multiply` for detached operands, with gradients: `derive` makes them of both operands, None for one that no
    wanted gradient needs, of the result's gradient, and of which gradients are wanted."""

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any, multiply: Callable[..., Any], derive: Callable[..., Any]) -> Any:
        for_a, for_b = ctx.needs_input_grad[:2]
        ctx.save_for_backward(a if for_b else None, b if for_a else None)
        ctx.derive = derive
        return multiply(a.detach(), b.detach())

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return (*ctx.derive(*ctx.saved_tensors, grad, ctx.needs_input_grad[:2]), None, None)


def product(group: Group, problem: Problem, a: Any, b: Any) -> Any:
    """This rank's part of the result, with a gradient where that is wanted."""

    def multiply(a: Any, b: Any) -> Any:
        return run(group, problem, a, b)[0]

    likes = Like(a.shape, a.dtype), Like(b.shape, b.dtype)
    return Differentiable.apply(a, b, multiply, partial(_derive, group, problem, likes))


def _derive(
    group: Group,
    problem: Problem,
    likes: tuple[Like, Like],
    a: Any,
    b: Any,
    grad: Any,
    wanted: tuple[bool, ...],
) -> tuple[Any, Any]:
    fields = {"library": agree.identity(), "gradient": repr(problem), "wanted": wanted}
    agree.check_alike(agree.all_calls(group, "gradients", fields, None), range(group.size))
    g, of_a, of_b = _Part(grad, problem.result), None, None
    if wanted[0]:
        of_a = _gradient(group, problem, g, _Part(b, problem.b), likes[0], -1)
    if wanted[1]:
        of_b = _gradient(group, problem, g, _Part(a, problem.a), likes[1], -2)
    return of_a, of_b


class _Part(NamedTuple):
    """A rank's part of a matrix, and how the matrix lies."""

    x: Any
    placed: Placed

    @property
    def adjoint(self) -> _Part:
        *stack, rows, columns = self.placed.shape
        axis = {-1: -2, -2: -1}.get(self.placed.axis or 0, self.placed.axis)
        return _Part(self.x.mH, replace(self.placed, shape=(*stack, columns, rows), axis=axis))

    def joined(self, kept: list[int], order: list[int], into: int) -> _Part:
        """With the axes `order` one after the other in the matrix axis `into`, behind the `kept` ones of the stack. All are
        counted from behind, and one that is cut comes first.
        """
        placed = self.placed
        turned = (*kept, *order, -1) if into == -2 else (*kept, -2, *order)

        def shape_of(shape: Any) -> tuple[int, ...]:
            found = [shape[axis] for axis in (*kept, -2, -1)]
            found[into] = prod(shape[axis] for axis in order)
            return tuple(found)

        axis, sizes = placed.axis, placed.sizes
        if axis in order:
            others = prod(placed.shape[each] for each in order[1:])
            axis, sizes = into, tuple(size * others for size in sizes)
        elif placed.is_stack_cut:
            axis = -2 - len(kept)
        x = self.x.permute(turned).reshape(shape_of(self.x.shape))
        return _Part(x, Placed(shape_of(placed.shape), axis, sizes))


def _gradient(group: Group, problem: Problem, grad: _Part, partner: _Part, like: Like, inner: int) -> Any:
    """The gradient of an operand, this rank's part: `inner` is -1 for A, with the partner B, and -2 for B, with the partner
    A."""
    result, own = problem.result, problem.a if inner == -1 else problem.b
    dims = len(result.shape)
    new = (1,) * (dims - len(partner.placed.shape))
    partner = _Part(partner.x[(None,) * len(new)], replace(partner.placed, shape=new + partner.placed.shape))
    shape = (1,) * (dims - len(own.shape)) + own.shape
    axes = [axis for axis in range(-dims, -2) if shape[axis] == 1 and result.shape[axis] != 1]
    kept, order = [axis for axis in range(-dims, -2) if axis not in axes], [*axes, inner]
    cuts = [x.placed.axis for x in (grad, partner) if x.placed.axis in order]
    if len(set(cuts)) > 1:  # each cuts another of the axes that become one
        if torch.is_grad_enabled():
            raise RuntimeError(
                "second derivatives are not supported for this layout: the result is cut along another axis of the stack than "
                "an operand; give both the same layout"
            )
        moved = replace(partner.placed, axis=grad.placed.axis, sizes=grad.placed.sizes)
        partner = _Part(move(group, partner.x, partner.placed, moved), moved)
    order.sort(key=lambda axis: axis not in cuts[:1])  # what is cut comes first
    g, p = grad.joined(kept, order, inner), partner.joined(kept, order, inner).adjoint
    left, right = (g, p) if inner == -1 else (p, g)
    of_own = *(result.shape[axis] for axis in kept), *own.shape[-2:]
    placed = Placed(of_own, -len(of_own) if own.is_stack_cut else own.axis, own.sizes)
    again = replace(
        problem, a=left.placed, b=right.placed, result=placed,
        item_a=left.x.element_size(), item_b=right.x.element_size(),
        dtype=torch.promote_types(left.x.dtype, right.x.dtype),
        options={name: value for name, value in problem.options.items() if name != "overflow"},
        method="auto" if problem.method == "reduce" else problem.method, needs_gradient=True,
    )  # fmt: skip
    c = product(group, again, left.x, right.x)
    if c.is_complex() and not like.dtype.is_complex:
        c = c.real
    return c.reshape(like.shape).to(like.dtype)
