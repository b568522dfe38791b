"""The operators: their schemas, what computes them, and what torch is told of each.

``torch.ops.ozfp4.NAME`` gives a new tensor, ``torch.ops.ozfp4.NAME.out`` writes to `out` and returns nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from .._dispatch.plain import products
from .._options import DEFAULTS
from .._request.library import has_own_tangent, require_torch
from .._support import torch_private
from . import batches, derivatives, gradients, shapes

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
# A tensor is first in each: DTensor of torch 2.11 and before takes the mesh from there.
_ARGUMENTS = {
    "matmul": f"Tensor a, Tensor b, *, {_SETTINGS}, ScalarType? dtype=None",
    "gemm": f"Tensor a, Tensor b, Scalar alpha, Scalar beta=0, Tensor? c=None, *, {_SETTINGS}",
    "gram": f"Tensor a, *, bool left=False, {_SETTINGS}, ScalarType? dtype=None",
}
_RULES = {
    "matmul": derivatives.Rule({0: 1, 1: 0}, gradients.of_matmul, gradients.tangent_of_matmul),
    "gemm": derivatives.Rule({0: 1, 1: 0}, gradients.of_gemm, gradients.tangent_of_gemm),
    "gram": derivatives.Rule({0: 0}, gradients.of_gram, gradients.tangent_of_gram),
}
# Devices of torch whose tensors the package multiplies; it says itself what its build has no kernel for.
_DEVICES = ("CPU", "CUDA")
# Lazily conjugated and negated tensors are taken as they are.
_LAZY = ("Conjugate", "Negative")

_library: Any = torch.library.Library("ozfp4", "DEF")


def _computing(name: str, *, returns: bool) -> Callable[..., Any]:
    def compute(*args: Any, **settings: Any) -> Any:
        result = products[name](*args, **settings)
        return result if returns else None

    return compute


def _refusing(name: str, operator: Any) -> Callable[..., None]:
    """With gradients and tangents there is no writing to `out`; torch says so in these words."""

    def write(*args: Any, **settings: Any) -> None:
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
            operator(*args, **settings)

    return write


def _define(name: str) -> None:
    arguments, variant = _ARGUMENTS[name], f"{name}.out"
    tags = (torch.Tag.pt2_compliant_tag,)
    _library.define(f"{name}({arguments}) -> Tensor", tags=tags)
    _library.define(f"{variant}({arguments}, Tensor(a!) out) -> ()", tags=tags)
    operators: Any = getattr(torch.ops.ozfp4, name)
    for device in _DEVICES:
        _library.impl(name, _computing(name, returns=True), device)
        _library.impl(variant, _computing(name, returns=False), device)
    for key in _LAZY:
        for each in (name, variant):
            _library.impl(each, torch.library.fallthrough_kernel, key)
    _library.impl(name, derivatives.differentiable(operators.default, _RULES[name]), "Autograd")
    _library.impl(variant, _refusing(name, operators.out), "Autograd")
    torch.library.register_fake(f"ozfp4::{name}", shapes.FAKES[name], lib=_library)
    torch.library.register_fake(f"ozfp4::{variant}", shapes.written(name), lib=_library)
    torch.library.register_vmap(f"ozfp4::{name}", batches.RULES[name], lib=_library)


for _name in _ARGUMENTS:
    _define(_name)
