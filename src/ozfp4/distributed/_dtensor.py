"""``ozfp4.distributed.matmul`` of DTensors: where the result is to lie is asked for, and what is cut along the inner dimension is
reduced exactly or moved, whichever is cheaper.

Along each dimension of the mesh DTensor brings the operands to rows, columns or matrices of a stack that belong to the result's;
along one of them the inner dimension may stay cut, and the local tensors are multiplied over the group of that dimension.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

from .._api.matmul import matmul as local_product
from .._options import Options, unusual
from .._request.library import check_storage, dtensor_class, is_dtensor, require_torch
from .._request.operands import matmul_shape
from .._torch_ops import dtensors, gradients
from .._torch_ops.derivatives import Call as Differentiated
from .._torch_ops.derivatives import Like
from .._torch_ops.shardings import placed, register, resolved
from . import _agree as agree
from ._collectives import device_of, take_group
from ._inner import check_method
from ._placements import Way, check_placements, choose, rows_of
from ._request import shown

torch: Any = require_torch()


@dataclass(frozen=True)
class _Asked:
    """Keywords of a product: those of ``ozfp4.matmul``, the way of what is cut along K, whether bounds are wanted. `over_group`:
    the product of plain tensors over a group, ``ozfp4.distributed.matmul`` itself."""

    over_group: Callable[..., Any]
    options: dict[str, Any]
    method: str
    return_bound: bool


def matmul(
    over_group: Callable[..., Any],
    a: Any,
    b: Any,
    placements: Any,
    method: Any,
    options: dict[str, Any],
    return_bound: bool,
) -> Any:
    """The product as a DTensor, or it and its bounds."""
    # A return_bound that is to be refused is not plain.
    is_plain = placements is None and method == "auto" and return_bound is False and options["plan"] is None
    settings = {name: value for name, value in unusual(options).items() if name != "plan"}
    mesh = (a if is_dtensor(a) else b).device_mesh
    if mesh.get_coordinate() is None:
        raise RuntimeError(f"a: this process is no member of {mesh}; its members alone multiply there")
    asked = _Asked(over_group, options, method, return_bound)
    known = _known(mesh)
    key = _key(a, b, placements, asked)
    is_known = key is not None and key in known
    if is_plain and is_known:  # as one before that needed no exchange
        found = dtensors.again("matmul", (a, b), settings)
        if found is not None:
            return found
    wanted = _check(a, b, placements, asked) if is_known else _agreed(mesh, a, b, placements, asked)
    if key is not None and not is_known:
        agree.remember(known, key, True)
    if any(_gradients(a, b)):
        return _Differentiable.apply(a, b, asked, wanted)
    a, b = a.detach(), b.detach()
    way = choose(a, b, asked.method, wanted)
    if is_plain and way.inner is None and (way.a, way.b) == (a.placements, b.placements):
        return dtensors.product("matmul", (a, b), settings)
    return _product(a, b, asked, way)


_meshes: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()  # what _known tells them apart by


def _known(mesh: Any) -> dict[Any, Any]:
    """By :func:`_key`, the calls that all ranks of the mesh have made. It is of this mesh alone, as only then its ranks all have
    the same there, and lives as long as the group of the first dimension: a mesh may be made anew by some of them."""
    found = _meshes.get(mesh)
    if found is None:
        found = mesh.device_type, tuple(mesh.shape), tuple(mesh.mesh.flatten().tolist())
        _meshes[mesh] = found
    return agree.channel(take_group(mesh.get_group(0))).meshes.setdefault(found, {})


def _key(a: Any, b: Any, placements: Any, asked: _Asked) -> Any:
    """What :func:`_fields` makes of the call, and nothing else: ranks that once said the same have the same. None where it has to
    be refused."""
    if not (is_dtensor(a) and is_dtensor(b)) or a.device_mesh != b.device_mesh:
        return None
    try:
        if placements is not None:
            axes = len(matmul_shape(tuple(a.shape), tuple(b.shape)).result)
            placements = check_placements(placements, a.device_mesh.ndim, axes)
        key = (
            a.placements, a.shape, a.dtype, b.placements, b.shape, b.dtype, _gradients(a, b), placements, asked.method,
            asked.return_bound, *map(shown, asked.options.values()),
        )  # fmt: skip
        hash(key)
    except Exception:
        return None
    return key


def _gradients(a: Any, b: Any) -> tuple[bool, bool]:
    """Of which operands they are asked for."""
    is_enabled = torch.is_grad_enabled()
    a, b = (
        is_enabled and bool(getattr(x, "requires_grad", False)) for x in (a, b)
    )  # arrays are refused later
    return a, b


def _check(a: Any, b: Any, placements: Any, asked: _Asked) -> Any:
    """The placements that are asked for, checked as all else."""
    dtensors.check(None, {}, a=a, b=b)
    for name, x in (("a", a), ("b", b)):
        local = x.detach().to_local()
        if type(local) is torch.Tensor:  # others say themselves where their entries are
            check_storage(name, local)
    Options.of({**asked.options, "return_bound": asked.return_bound})
    check_method(asked.method)
    axes = len(matmul_shape(tuple(a.shape), tuple(b.shape)).result)
    wanted = check_placements(placements, a.device_mesh.ndim, axes)
    register()
    if any(_gradients(a, b)):
        if asked.return_bound:
            raise RuntimeError("return_bound: bounds have no derivative; pass detached operands")
        if asked.options["plan"] is not None:
            raise ValueError("plan: a Plan is not for DTensors that require grad; pass detached operands")
    return wanted


def _agreed(mesh: Any, a: Any, b: Any, placements: Any, asked: _Asked) -> Any:
    """The placements that are asked for, once all ranks of the mesh have made the same call; else raises on each."""
    wanted, fields, refusal = None, None, None
    try:
        wanted = _check(a, b, placements, asked)
        fields = _fields(a, b, wanted, asked)
    except Exception as error:
        refusal = error
    groups = [take_group(mesh.get_group(dim)) for dim in range(mesh.ndim)]
    with device_of((a if is_dtensor(a) else b).detach().to_local()):
        agree.over_mesh(groups, mesh.mesh.flatten().tolist(), fields, refusal)
    return wanted


def _fields(a: Any, b: Any, wanted: Any, asked: _Asked) -> agree.Fields:
    """What this rank says of the call."""
    fields: agree.Fields = {"library": agree.identity(), "device": a.device_mesh.device_type}
    for name, x in (("a", a), ("b", b)):
        fields[f"shape of {name}"] = tuple(x.shape)
        fields[f"dtype of {name}"] = str(x.dtype)
        fields[f"placements of {name}"] = str(x.placements)
    return {
        **fields, "gradients": list(_gradients(a, b)), "placements": None if wanted is None else str(wanted),
        "method": asked.method, "return_bound": bool(asked.return_bound),
        **{name: shown(value) for name, value in asked.options.items()},
    }  # fmt: skip


class _Differentiable(torch.autograd.Function):  # type: ignore[misc]
    """Gradients are those of the operator of torch, products of DTensors as well, and lie as the operands do."""

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any, asked: _Asked, wanted: Any) -> Any:
        ctx.save_for_backward(a, b)
        ctx.asked = asked
        return _product(a.detach(), b.detach(), asked, choose(a, b, asked.method, wanted))

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        a, b = ctx.saved_tensors
        options = unusual(ctx.asked.options)
        options.pop("overflow", None)
        likes = tuple(Like(x.shape, x.dtype) for x in (a, b))
        call = Differentiated((a, b), likes, ctx.needs_input_grad[:2], options)
        found = gradients.of_matmul(call, grad)
        laid = [
            None if x is None else x.redistribute(placements=_without_sums(like.placements))
            for x, like in zip(found, (a, b), strict=True)
        ]
        return (*laid, None, None)


def _without_sums(placements: Any) -> tuple[Any, ...]:
    """What a gradient's placements are: that of an operand which is a sum over ranks is there as a whole."""
    return tuple(placed(None) if p.is_partial() else p for p in placements)


def _product(a: Any, b: Any, asked: _Asked, way: Way) -> Any:
    """The product without gradients."""
    a, b = resolved((a, b))
    x = a.redistribute(placements=way.a).to_local()
    y = b.redistribute(placements=way.b).to_local()
    if asked.options["overflow"] == "raise" or way.made != way.wanted:  # others wait for this part
        made = dtensors.raised_alike(lambda: _of_local(x, y, a, b, way, asked), (a, b))
    else:
        made = _of_local(x, y, a, b, way, asked)
    mesh, shape = a.device_mesh, torch.Size(matmul_shape(tuple(a.shape), tuple(b.shape)).result)
    strides = tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))
    found = [
        dtensor_class().from_local(c, mesh, way.made, run_check=False, shape=shape, stride=strides)
        for c in (made if asked.return_bound else (made,))
    ]
    if way.made != way.wanted:
        found = [c.redistribute(placements=way.wanted) for c in found]
    return tuple(found) if asked.return_bound else found[0]


def _of_local(x: Any, y: Any, a: Any, b: Any, way: Way, asked: _Asked) -> Any:
    """This rank's part of the result, of its parts `x` of A and `y` of B."""
    if way.inner is None:
        return local_product(x, y, **unusual({**asked.options, "return_bound": asked.return_bound}))
    axes = x.ndim > 1, y.ndim > 1
    x, y = x if axes[0] else x.unsqueeze(0), y if axes[1] else y.unsqueeze(1)
    k = a.shape[-1]
    whole = (*x.shape[:-1], k), (*y.shape[:-2], k, y.shape[-1])
    placement = way.made[way.inner]
    word = "replicated"
    if placement.is_shard():
        word = "rows" if axes[0] and placement.dim == rows_of(a, b) else "columns"
    made = asked.over_group(
        x, y, group=a.device_mesh.get_group(way.inner), layout=("columns", "rows"), result=word, whole=whole,
        check="first", method=asked.method, return_bound=asked.return_bound, **asked.options,
    )  # fmt: skip
    found = [_without_axes(c, axes) for c in (made if asked.return_bound else (made,))]
    return tuple(found) if asked.return_bound else found[0]


def _without_axes(c: Any, axes: tuple[bool, bool]) -> Any:
    """A part of a result without the axis of each operand that has none."""
    c = c if axes[1] else c.squeeze(-1)
    return c if axes[0] else c.squeeze(-2 if axes[1] else -1)
