"""Products of DTensors from ``ozfp4.matmul``, ``gemm`` and ``gram``: what is refused, in words of the arguments; and products like one
that needed no exchange before, which multiply the local tensors at once.

torch's way to the operator takes tens of microseconds for one that is not its own, as long as several small products.
"""

from __future__ import annotations

from typing import Any

from ..dispatch.plain import products
from ..request.library import check_kind, dtensor_class, require_torch, unwatched
from ..request.operands import check_matrices, matmul_shape
from ..request.update import check_addend_shape
from .shardings import RULES, register

torch: Any = require_torch()
forward_ad: Any = torch.autograd.forward_ad

_results: dict[tuple[Any, ...], Any] = {}  # how the result lies, by the operator and how its tensors lie
_MOST_RESULTS = 512


def are_given(*tensors: Any) -> bool:
    """Whether one of these is a DTensor."""
    kind = dtensor_class()
    return kind is not None and any(isinstance(x, kind) for x in tensors)


def check(out: Any, unasked: dict[str, Any], **given: Any) -> None:
    """Errors for what a product of DTensors does not take: an `out`, arguments that are `unasked` as a plain call has them, tensors
    beside DTensors, other meshes, shapes and dtypes."""
    for name, value in {"out": out, **unasked}.items():
        if value is not None and value is not False:
            what = repr(value) if isinstance(value, bool) else f"a {type(value).__name__}"
            remedy = "copy the result there" if name == "out" else "multiply gathered operands, x.full_tensor()"
            raise ValueError(f"{name}: {what} is not for DTensors; {remedy}")
    tensors = {name: x for name, x in given.items() if x is not None}
    _check_one_mesh(tensors)
    for name, x in tensors.items():
        check_kind(name, x)
    if "b" not in tensors:
        check_matrices(tuple(tensors["a"].shape))
        return
    result = matmul_shape(tuple(tensors["a"].shape), tuple(tensors["b"].shape)).result
    if "c" in tensors:
        check_addend_shape(tensors["c"], result)


def _check_one_mesh(tensors: dict[str, Any]) -> None:
    """TypeError for tensors that are no DTensors, but a C without axes; ValueError for DTensors of another mesh than the first."""
    kind: Any = dtensor_class()
    first = next(name for name, x in tensors.items() if isinstance(x, kind))
    mesh = tensors[first].device_mesh
    for name, x in tensors.items():
        if not isinstance(x, kind):
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


def product(name: str, arguments: tuple[Any, ...], settings: dict[str, Any]) -> Any:
    """The product by the operator `name`. Range: arguments that :func:`check` has passed, in the order of the schema."""
    tensors = [x for x in arguments if isinstance(x, torch.Tensor)]
    operator = getattr(torch.ops.ozfp4, name).default
    if not _are_unwatched(tensors):
        register()
        return operator(*arguments, **settings)
    key = (name, *(x._spec for x in tensors))
    spec = _results.get(key)
    if spec is None:
        register()
        result = operator(*arguments, **settings)
        _enter(key, arguments, result)
        return result
    local = (x._local_tensor if isinstance(x, torch.Tensor) else x for x in arguments)
    return type(tensors[0])(products[name](*local, **settings), spec, requires_grad=False)


def _are_unwatched(tensors: list[Any]) -> bool:
    """Whether these are DTensors of plain tensors, and torch has nothing to do with their product."""
    kind, follows = dtensor_class(), torch.is_grad_enabled()
    for x in tensors:
        if type(x) is not kind or (follows and x.requires_grad):
            return False
    return unwatched().are(tuple(x._local_tensor for x in tensors))


def _enter(key: tuple[Any, ...], arguments: tuple[Any, ...], result: Any) -> None:
    """Let products like this one be made of local tensors if they are here as they have to be."""
    if not _stays(key[0], arguments, result):
        return
    if len(_results) >= _MOST_RESULTS:
        _results.clear()
    _results[key] = result._spec


def _stays(name: str, arguments: tuple[Any, ...], result: Any) -> bool:
    """Whether the result is made of local tensors without any exchange: along each dimension of the mesh its placement and
    those of the operands are in the operator's list. An axis that is cut twice may be so in either order, and is left out."""
    lying = [x._spec if isinstance(x, torch.Tensor) else x for x in arguments]
    specs = [spec for spec, x in zip(lying, arguments, strict=True) if isinstance(x, torch.Tensor)]
    for x in (*specs, result):
        axes = [p.dim for p in x.placements if p.is_shard()]
        if len(set(axes)) < len(axes):
            return False
    alike = [(out[0], *(p for p in each if p is not None)) for out, each in RULES[name](*lying)]
    return all(found in alike for found in zip(result.placements, *(x.placements for x in specs), strict=True))


