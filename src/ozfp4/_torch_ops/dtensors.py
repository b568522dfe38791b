"""Products of DTensors from ``ozfp4.matmul`` and ``gemm``: what is refused; and products like one that needed no exchange before,
which multiply the local tensors at once, as torch's way to an operator of ours takes as long as several small products."""

from __future__ import annotations

from typing import Any

from .._dispatch.plain import products
from .._request.library import check_kind, dtensor_class, is_dtensor, require_torch, unwatched
from .._request.operands import check_addend_shape, matmul_shape
from .._support import torch_private
from .agree import device_of, together
from .shardings import RULES, register, resolved

torch: Any = require_torch()

_results: dict[tuple[Any, ...], Any] = {}  # how the result lies, by the operator and how its tensors lie
_MOST_RESULTS = 512


def check(**given: Any) -> None:
    """Errors for what a product of DTensors does not take: tensors beside DTensors, other meshes, shapes and dtypes."""
    tensors = {name: x for name, x in given.items() if x is not None}
    first = next(name for name, x in tensors.items() if is_dtensor(x))
    mesh = tensors[first].device_mesh
    for name, x in tensors.items():
        if not is_dtensor(x):
            if name == "c" and x.ndim == 0:
                continue
            raise TypeError(
                f"{name}: a {type(x).__name__} beside a DTensor ({first}); pass a DTensor, "
                f"torch.distributed.tensor.distribute_tensor({name}, {first}.device_mesh)"
            )
        if x.device_mesh != mesh:
            raise ValueError(
                f"{name}: lies on {x.device_mesh}, and {first} on {mesh}; the operands of a product share one mesh"
            )
    for name, x in tensors.items():
        check_kind(name, x)
    result = matmul_shape(tuple(tensors["a"].shape), tuple(tensors["b"].shape)).result
    if "c" in tensors:
        check_addend_shape(tensors["c"], result)


def again(key: Any, name: str, arguments: tuple[Any, ...], settings: dict[str, Any]) -> Any | None:
    """The product if one with this key has been made before and needed no exchange; None otherwise. Settings are those of the
    operator, checked as the local tensors are multiplied."""
    spec = None if key is None else _results.get(key)
    if spec is None:
        return None
    local = [torch_private.local_of(x) if isinstance(x, torch.Tensor) else x for x in arguments]
    return torch_private.dtensor_of(dtensor_class(), products[name](*local, **settings), spec)


def product(key: Any, name: str, arguments: tuple[Any, ...], settings: dict[str, Any]) -> Any:
    """The product by the operator `name`. Range: arguments that :func:`check` has passed, in the order of the schema."""
    register()
    arguments = resolved(arguments)
    operator = getattr(torch.ops.ozfp4, name).default
    first = next(x for x in arguments if is_dtensor(x))
    if settings.get("overflow") == "raise" and first.device_mesh.get_coordinate() is not None:
        with device_of(torch_private.local_of(first)):
            return together(first.device_mesh, lambda: operator(*arguments, **settings))
    result = operator(*arguments, **settings)
    if key is not None and _stays(name, arguments, result):
        if len(_results) >= _MOST_RESULTS:
            _results.clear()
        _results[key] = torch_private.spec_of(result)
    return result


def key_of(name: str, arguments: tuple[Any, ...], settings: dict[str, Any]) -> tuple[Any, ...] | None:
    """What products share that differ in numbers alone; None for whatever may have to be refused, where a tensor is none of
    DTensors of plain tensors, or torch has something to do with the product."""
    if settings.get("overflow") == "raise" or "dtype" in settings:
        return None
    kind: Any = dtensor_class()
    found: list[Any] = [name]
    local: list[Any] = []
    for x in arguments:
        if type(x) is kind:
            if x.requires_grad and torch.is_grad_enabled():
                return None
            found.append(torch_private.spec_of(x))
            local.append(torch_private.local_of(x))
        elif isinstance(x, torch.Tensor):
            return None
        else:
            found.append(x is None)
    return tuple(found) if unwatched().are(tuple(local)) else None


def _stays(name: str, arguments: tuple[Any, ...], result: Any) -> bool:
    """Whether the result is made of local tensors without any exchange: along each dimension of the mesh its placement and
    those of the operands are in the operator's list. An axis that is cut twice may be so in either order, and is left out."""
    lying = [torch_private.spec_of(x) if isinstance(x, torch.Tensor) else x for x in arguments]
    specs = [result, *(spec for spec, x in zip(lying, arguments, strict=True) if isinstance(x, torch.Tensor))]
    if result.device_mesh.get_coordinate() is None:  # a rank that has no part of it
        return False
    try:
        torch_private.dtensor_of(type(result), torch_private.local_of(result), torch_private.spec_of(result))
    except TypeError:
        return False
    for x in specs:
        axes = [p.dim for p in x.placements if p.is_shard()]
        if len(set(axes)) < len(axes):
            return False
    alike = [(out[0], *(p for p in each if p is not None)) for out, each in RULES[name](*lying)]
    return all(found in alike for found in zip(*(x.placements for x in specs), strict=True))
