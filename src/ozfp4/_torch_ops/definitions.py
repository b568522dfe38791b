"""The operators: their schemas, what computes them, and what torch is told of each. ``torch.ops.ozfp4.NAME`` gives a new tensor,
``torch.ops.ozfp4.NAME.out`` writes to `out` and returns nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from .._dispatch.plain import products
from .._options import DEFAULTS
from .._request.library import check_device, has_own_tangent, require_torch
from .._request.out import check_form
from .._support import torch_private
from . import gradients, shapes
from .derivatives import differentiable

torch: Any = require_torch()

if not hasattr(torch.library, "register_vmap"):
    raise RuntimeError(f"torch: version {torch.__version__}; gradients and tracing need 2.5 or later")

# The options that an operator has, with their types in its schema.
_TYPES = {
    "scheme": "str", "backend": "str", "bits": "int?", "family": "str", "workspace_limit": "int?", "accuracy": "str?",
    "rounding": "str", "overflow": "str",
}  # fmt: skip
_SETTINGS = ", ".join(
    f"{kind} {name}={'None' if DEFAULTS[name] is None else json.dumps(DEFAULTS[name])}"
    for name, kind in _TYPES.items()
)


class _Operator(NamedTuple):
    """A tensor is first of the `arguments`: DTensor of torch 2.11 and before takes the mesh from there."""

    arguments: str
    shape: Callable[..., Any]
    mapped: Callable[..., Any]
    gradients: Callable[..., Any]
    tangent: Callable[..., Any]


_OPERATORS = {
    "matmul": _Operator(
        f"Tensor a, Tensor b, *, {_SETTINGS}, ScalarType? dtype=None",
        shapes.of_product, shapes.mapped_product, gradients.of_matmul, gradients.tangent_of_matmul,
    ),
    "gemm": _Operator(
        f"Tensor a, Tensor b, Scalar alpha, Scalar beta=0, Tensor? c=None, *, {_SETTINGS}",
        shapes.of_product, shapes.mapped_product, gradients.of_gemm, gradients.tangent_of_gemm,
    ),
    "gram": _Operator(
        f"Tensor a, *, bool left=False, {_SETTINGS}, ScalarType? dtype=None",
        shapes.of_gram, shapes.mapped_gram, gradients.of_gram, gradients.tangent_of_gram,
    ),
}  # fmt: skip
# Devices of torch that the package multiplies on; an error names the kernels that its build lacks.
_DEVICES = ("CPU", "CUDA")
# Lazily conjugated and negated tensors are taken as they are.
_LAZY = ("Conjugate", "Negative")

_library: Any = torch.library.Library("ozfp4", "DEF")


def _define(name: str, operator: _Operator) -> None:
    variant = f"{name}.out"
    tags = (torch.Tag.pt2_compliant_tag,)
    _library.define(f"{name}({operator.arguments}) -> Tensor", tags=tags)
    _library.define(f"{variant}({operator.arguments}, Tensor(a!) out) -> ()", tags=tags)
    operators: Any = getattr(torch.ops.ozfp4, name)

    def compute(*args: Any, **settings: Any) -> Any:
        result = products[name](*args, **settings)
        return None if "out" in settings else result

    def write(*args: Any, **settings: Any) -> None:
        """With gradients and tangents `out` cannot be written; the error has torch's words."""
        tensors = [x for x in (*args, settings["out"]) if isinstance(x, torch.Tensor)]
        what = ""
        if torch.is_grad_enabled() and any(x.requires_grad for x in tensors):
            what = "requires grad"
        elif any(map(has_own_tangent, tensors)):
            what = "has a tangent"
        if what:
            raise RuntimeError(
                f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
                f"arguments {what}."
            )
        with torch_private.below_gradients():
            operators.out(*args, **settings)

    def shape_of_out(*args: Any, out: Any, **settings: Any) -> None:
        like = operator.shape(*args, **settings)
        check_device("out", out, like)
        check_form(out, tuple(like.shape), like.dtype)

    for each in (name, variant):
        for device in _DEVICES:
            _library.impl(each, compute, device)
        for key in _LAZY:
            _library.impl(each, torch.library.fallthrough_kernel, key)
    _library.impl(name, differentiable(operators.default, operator.gradients, operator.tangent), "Autograd")
    _library.impl(variant, write, "Autograd")
    torch.library.register_fake(f"ozfp4::{name}", operator.shape, lib=_library)
    torch.library.register_fake(f"ozfp4::{variant}", shape_of_out, lib=_library)
    torch.library.register_vmap(f"ozfp4::{name}", operator.mapped, lib=_library)


for _name, _operator in _OPERATORS.items():
    _define(_name, _operator)
