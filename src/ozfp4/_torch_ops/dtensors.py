"""Products of DTensors from ``ozfp4.matmul`` and ``gemm``: what is refused, in words of the arguments; and products like one that
needed no exchange before, which multiply the local tensors at once.

torch's way to the operator takes tens of microseconds for one that is not its own, as long as several small products.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._dispatch.plain import products
from .._request.library import check_kind, dtensor_class, is_dtensor, require_torch, unwatched
from .._request.operands import check_addend_shape, matmul_shape
from .._support import torch_private
from .._support.ranks import LONGEST, check_refusals, is_told, text_of
from .shardings import RULES, register, resolved

torch: Any = require_torch()

_results: dict[tuple[Any, ...], Any] = {}  # how the result lies, by the operator and how its tensors lie
_MOST_RESULTS = 512


def are_given(*tensors: Any) -> bool:
    """Whether one of these is a DTensor."""
    kind = dtensor_class()
    if kind is not None:
        for x in tensors:
            if isinstance(x, kind):
                return True
    return False


def check(out: Any, unasked: dict[str, Any], **given: Any) -> None:
    """Errors for what a product of DTensors does not take: an `out`, arguments that are `unasked` as a plain call has them,
    tensors beside DTensors, other meshes, shapes and dtypes."""
    if out is not None:
        raise ValueError(
            f"out: a {type(out).__name__} is not written to by products of DTensors; copy the result there"
        )
    for name, value in unasked.items():
        if value is not None and value is not False:
            what = repr(value) if isinstance(value, bool) else f"a {type(value).__name__}"
            raise ValueError(
                f"{name}: {what} is not for DTensors; multiply gathered operands, x.full_tensor()"
            )
    tensors = {name: x for name, x in given.items() if x is not None}
    _check_one_mesh(tensors)
    for name, x in tensors.items():
        check_kind(name, x)
    result = matmul_shape(tuple(tensors["a"].shape), tuple(tensors["b"].shape)).result
    if "c" in tensors:
        check_addend_shape(tensors["c"], result)


def _check_one_mesh(tensors: dict[str, Any]) -> None:
    """TypeError for tensors that are no DTensors, but a C without axes; ValueError for DTensors of another mesh than the first
    one's."""
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


def again(name: str, arguments: tuple[Any, ...], settings: dict[str, Any]) -> Any | None:
    """The product if one like it has been made before and needed no exchange; None otherwise, also for whatever may have to be
    refused. Settings are those of the operator, checked as the local tensors are multiplied."""
    if settings.get("overflow") == "raise" or "dtype" in settings:
        return None
    key = _key(name, arguments)
    spec = None if key is None else _results.get(key)
    if spec is None:
        return None
    tensor = torch.Tensor
    local = [torch_private.local_of(x) if isinstance(x, tensor) else x for x in arguments]
    return torch_private.dtensor_of(dtensor_class(), products[name](*local, **settings), spec)


def product(name: str, arguments: tuple[Any, ...], settings: dict[str, Any]) -> Any:
    """The product by the operator `name`. Range: arguments that :func:`check` has passed, in the order of the schema."""
    register()
    arguments = resolved(arguments)
    operator = getattr(torch.ops.ozfp4, name).default
    if settings.get("overflow") == "raise":
        return raised_alike(lambda: operator(*arguments, **settings), arguments)
    result = operator(*arguments, **settings)
    key = None if "dtype" in settings else _key(name, arguments)
    if key is not None and _stays(name, arguments, result):
        if len(_results) >= _MOST_RESULTS:
            _results.clear()
        _results[key] = torch_private.spec_of(result)
    return result


def raised_alike(multiply: Callable[[], Any], arguments: tuple[Any, ...]) -> Any:
    """What `multiply` gives; where it raises on any rank of the mesh, an error on every one, as those without would wait for the
    others later: their own, or one that says whose it is and what it says, an OverflowError where all are."""
    result: Any = None
    error: Exception | None = None
    try:
        result = multiply()
    except Exception as raised:
        error = raised
    mesh = next(x.device_mesh for x in arguments if is_dtensor(x))
    failed = torch.tensor([int(error is not None)], device="cpu")
    if not bool(_of_all_ranks(mesh, failed).any()):
        return result
    said = "" if error is None or is_told(error) else text_of(error)
    sent = said.encode(errors="replace")[:LONGEST].ljust(LONGEST, b"\0")
    words = torch.tensor(list(sent), dtype=torch.uint8, device="cpu")
    texts = [bytes(row).rstrip(b"\0").decode(errors="replace") for row in _of_all_ranks(mesh, words).tolist()]
    if said:
        assert error is not None
        raise error
    check_refusals(
        {rank: text for rank, text in zip(mesh.mesh.flatten().tolist(), texts, strict=True) if text}
    )
    raise error if error is not None else RuntimeError("the product failed on another rank")


def _of_all_ranks(mesh: Any, own: Any) -> Any:
    """What each rank has, a tensor of one axis and one shape, in the order of the mesh along a new first axis, on the CPU."""
    from torch.distributed.tensor import Shard

    local = own.to(mesh.device_type)[None]
    return (
        dtensor_class().from_local(local, mesh, [Shard(0)] * mesh.ndim, run_check=False).full_tensor().cpu()
    )


def _key(name: str, arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """What products share that differ in numbers alone; None where a tensor is none of DTensors of plain tensors, or torch has
    something to do with the product."""
    kind, tensor = dtensor_class(), torch.Tensor
    found: list[Any] = [name]
    local: list[Any] = []
    for x in arguments:
        if type(x) is kind:
            if x.requires_grad and torch.is_grad_enabled():
                return None
            found.append(torch_private.spec_of(x))
            local.append(torch_private.local_of(x))
        elif isinstance(x, tensor):
            return None
        else:
            found.append(x is None)
    return tuple(found) if unwatched().are(tuple(local)) else None


def _stays(name: str, arguments: tuple[Any, ...], result: Any) -> bool:
    """Whether the result is made of local tensors without any exchange: along each dimension of the mesh its placement and
    those of the operands are in the operator's list. An axis that is cut twice may be so in either order, and is left out."""
    lying = [torch_private.spec_of(x) if isinstance(x, torch.Tensor) else x for x in arguments]
    specs = [spec for spec, x in zip(lying, arguments, strict=True) if isinstance(x, torch.Tensor)]
    if result.device_mesh.get_coordinate() is None:  # a rank that has no part of it
        return False
    try:
        torch_private.dtensor_of(type(result), torch_private.local_of(result), torch_private.spec_of(result))
    except TypeError:
        return False
    for x in (*specs, result):
        axes = [p.dim for p in x.placements if p.is_shard()]
        if len(set(axes)) < len(axes):
            return False
    alike = [(out[0], *(p for p in each if p is not None)) for out, each in RULES[name](*lying)]
    return all(
        found in alike for found in zip(result.placements, *(x.placements for x in specs), strict=True)
    )
