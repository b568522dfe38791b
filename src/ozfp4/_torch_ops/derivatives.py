"""The functions that torch's automatic differentiation calls: the product below it, and the rules of its gradients and
tangents above."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._dispatch.plain import products
from .._options import current_accuracy
from .._request.library import dtensor_class, require_torch, unwatched
from .._support import torch_private
from .dtensors import register, resolved
from .shapes import Like

torch: Any = require_torch()
forward_ad: Any = torch.autograd.forward_ad
is_compiling: Any = torch.compiler.is_compiling


@dataclass
class Call:
    """A product that needs a derivative. Its arguments are in the order of the schema, with None for tensors that no
    derivative reads. Then: what each tensor is like, which gradients are wanted, the settings."""

    arguments: tuple[Any, ...]
    likes: tuple[Like | None, ...]
    needed: tuple[bool, ...]
    settings: dict[str, Any]

    def shared(self, *own: str) -> dict[str, Any]:
        """The settings of the products of a tangent, too, which has the dtype of the result; gradients leave out their `own`."""
        return {
            name: value for name, value in self.settings.items() if name not in ("left", "overflow", *own)
        }


Gradients = Callable[[Call, Any], tuple[Any, ...]]
Tangent = Callable[[Call, tuple[Any, ...]], Any]


def differentiable(operator: Any, gradients: Gradients, tangent: Tangent) -> Callable[..., Any]:
    """The function that torch calls for `operator` where gradients and tangents are looked after. `gradients` maps a call
    and the gradient of its result to the gradients of the arguments, None for those that need none. `tangent` maps a call
    and the tangents of its arguments, some of them None, to the tangent of the result."""
    name, are_here = operator.overloadpacket.__name__, unwatched().are_here

    def below(arguments: tuple[Any, ...], settings: dict[str, Any]) -> Any:
        """The product where they have been. Between here and the product torch has nothing to do for plain tensors without
        observers, and its way there takes microseconds."""
        if are_here(arguments) and not is_compiling():
            return products[name](*arguments, **settings)
        with torch_private.below_gradients():
            return operator(*arguments, **settings)

    function = _function(name, below, gradients, tangent)

    def product(*arguments: Any, **settings: Any) -> Any:
        if are_here(arguments) and not is_compiling():  # as below
            return products[name](*arguments, **settings)
        if dtensor_class() is not None:
            register()
            arguments = resolved(arguments)
        # Tangents are not seen without asking each tensor: while there may be any, all products take the long way.
        records = torch.is_grad_enabled() and any(
            isinstance(x, torch.Tensor) and x.requires_grad for x in arguments
        )
        if not records and torch_private.tangent_level() < 0:
            return below(arguments, settings)
        if torch_private.interpreter() is None:
            return function.apply(settings, *arguments)
        with torch_private.functions_of_one_level():
            return function.apply(settings, *arguments)

    return product


def _function(name: str, below: Callable[..., Any], gradients: Gradients, tangent: Tangent) -> Any:
    """The node of an operator in the graph of gradients."""
    # By its place, the argument that the gradient of each reads.
    partners = {0: 0} if name == "gram" else {0: 1, 1: 0}

    def forward(ctx: Any, settings: dict[str, Any], *arguments: Any) -> Any:
        if torch_private.interpreter() is None:
            result = below(arguments, settings)
        else:  # torch has switched both modes off, which outer levels still need
            with torch.enable_grad(), torch_private.with_tangents():
                result = below(arguments, settings)
        ctx.set_materialize_grads(False)
        ctx.arguments = [(x.shape, x.dtype) if isinstance(x, torch.Tensor) else x for x in arguments]
        ctx.settings = settings
        if not is_compiling() and settings.get("accuracy") is None:
            # That of this product, wherever the backward pass runs; code that torch compiles reads the default as it runs.
            ctx.settings = {**settings, "accuracy": current_accuracy()}
        needed, kept = ctx.needs_input_grad, [None] * len(arguments)
        has_tangents = torch_private.tangent_level() >= 0
        for place, other in partners.items():
            if has_tangents or needed[1 + place]:
                kept[other] = arguments[other]
        if has_tangents:
            ctx.save_for_forward(*kept)
        ctx.save_for_backward(*kept)
        return result

    def call(ctx: Any, saved: Any) -> Call:
        likes = tuple(Like(*x) if type(x) is tuple else None for x in ctx.arguments)
        arguments = tuple(
            number if like is None else x for x, number, like in zip(saved, ctx.arguments, likes, strict=True)
        )
        return Call(arguments, likes, ctx.needs_input_grad[1:], ctx.settings)

    def backward(ctx: Any, grad: Any) -> tuple[Any, ...]:
        if grad is None:
            return (None,) * (1 + len(ctx.arguments))
        return (None, *gradients(call(ctx, ctx.saved_tensors), grad))

    def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
        if all(x is None for x in tangents):
            return None
        # For outer levels, as torch has switched it off; what is saved has the tangents of this level too.
        with torch_private.with_tangents():
            primals = [None if x is None else forward_ad.unpack_dual(x).primal for x in ctx.saved_tensors]
            return tangent(call(ctx, primals), tangents)

    methods = {f.__name__: staticmethod(f) for f in (forward, backward, jvp)}
    # For the one level of torch.func that the dispatcher is at; a torch.autograd.Function would begin with the innermost again.
    return type(f"ozfp4_{name}", (torch_private.function_of_one_level(),), methods)
