"""``ozfp4.distributed.matmul`` of DTensors: where the result is to lie is asked for, and what is cut along the inner dimension is
reduced exactly or moved, whichever is cheaper.

Along each dimension of the mesh DTensor brings the operands to rows, columns or matrices of a stack that belong to the result's;
along one of them the inner dimension may stay cut, and the local tensors are multiplied over the group of that dimension.
"""

from __future__ import annotations

import platform
import weakref
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

from .._api.matmul import matmul as local_product
from .._options import Options, unusual
from .._request.library import check_storage, dtensor_class, is_dtensor, require_torch
from .._request.operands import matmul_shape
from .._support import torch_private
from .._torch_ops import dtensors, gradients
from .._torch_ops.derivatives import Call as Differentiated
from .._torch_ops.derivatives import Like
from .._torch_ops.shardings import placed, register, resolved
from . import _agree as agree
from . import _reduce as reduce
from ._collectives import device_of, take_group
from ._cost import check_method
from ._gradients import Differentiable
from ._layout import Placed, Problem
from ._placements import Way, check_placements, choose, rows_of
from ._request import fields_of, result_dtype
from ._run import Call, run

torch: Any = require_torch()


@dataclass(frozen=True)
class Asked:
    """Keywords of ``ozfp4.matmul``, the way of what is cut along K, whether bounds are wanted."""

    options: dict[str, Any]
    method: str
    return_bound: bool


@dataclass(frozen=True)
class _Agreed:
    """How a product is made, the dtype of its result where K is cut, and the hosts of all ranks of the mesh."""

    way: Way
    dtype: Any
    hosts: dict[int, str]


def matmul(a: Any, b: Any, placements: Any, asked: Asked) -> Any:
    """The product as a DTensor, or it and its bounds."""
    mesh = (a if is_dtensor(a) else b).device_mesh
    if mesh.get_coordinate() is None:
        raise RuntimeError(f"a: this process is no member of {mesh}; its members alone multiply there")
    agreed = _agree(mesh, a, b, placements, asked)
    multiply, way = partial(_product, asked, agreed), agreed.way
    if torch.is_grad_enabled() and (a.requires_grad or b.requires_grad):
        likes = [(Like(x.shape, x.dtype), _without_sums(x.placements)) for x in (a, b)]
        return Differentiable.apply(a, b, multiply, partial(_derive, unusual(asked.options), likes))
    is_plain = placements is None and not asked.return_bound and asked.options["plan"] is None
    if is_plain and way.inner is None and (way.a, way.b) == (a.placements, b.placements):
        return local_product(a, b, **unusual(asked.options))  # which keeps the way of such
    return multiply(a.detach(), b.detach())


# By mesh, what is the same of one that some ranks make anew; it takes microseconds.
_places: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def _agree(mesh: Any, a: Any, b: Any, placements: Any, asked: Asked) -> _Agreed:
    """The agreement of all ranks of the mesh, once for equal calls; each raises where one refuses its call or has another one."""
    place = _places.get(mesh)
    if place is None:
        place = _places[mesh] = mesh.device_type, tuple(mesh.shape), tuple(mesh.mesh.flatten().tolist())
    ranks = place[2]
    known = agree.channel(take_group(mesh.get_group(0))).known[place]
    agreed: _Agreed | None = None
    way, dtype, fields, key, error = None, None, None, None, None
    try:
        dtensors.check(None, {}, a=a, b=b)
        axes = len(matmul_shape(tuple(a.shape), tuple(b.shape)).result)
        wanted = check_placements(placements, mesh.ndim, axes)
        fields = {
            **fields_of(a, b, mesh.device_type, asked),
            **{f"shape of {name}": tuple(x.shape) for name, x in (("a", a), ("b", b))},
            **{f"placements of {name}": str(x.placements) for name, x in (("a", a), ("b", b))},
            "placements": None if wanted is None else str(wanted),
            "host": platform.node(),
        }
        key = agree.key_of(fields)
        agreed = known.get(key)
        local = [torch_private.local_of(x) for x in (a, b)]
        for name, x in zip("ab", local, strict=True):
            if type(x) is torch.Tensor:  # others say themselves where their entries are
                check_storage(name, x)
        if agreed is None:
            _check(asked, fields["gradients"])
            way = choose(a, b, asked.method, wanted)
            dtype = None if way.inner is None else result_dtype(local[0], local[1], a.shape[-1], asked)
    except Exception as refusal:
        error = refusal
    if agreed is not None:
        if error is not None:
            raise error
        return agreed
    groups = [take_group(mesh.get_group(dim)) for dim in range(mesh.ndim)]
    with device_of(torch_private.local_of(a if is_dtensor(a) else b)):
        found = agree.all_calls(groups, ranks, "a product of DTensors", fields, error)
    agree.check_alike(found, ranks, ("host",))
    assert way is not None
    hosts = {rank: each["host"] for rank, each in zip(ranks, found, strict=True)}
    agreed = _Agreed(way, dtype, hosts)
    agree.remember(known, key, agreed)
    return agreed


def _check(asked: Asked, wanted: tuple[bool, ...]) -> None:
    """Keywords; `wanted`: of which operands gradients are."""
    Options.of({**asked.options, "return_bound": asked.return_bound})
    check_method(asked.method)
    register()
    if any(wanted):
        if asked.return_bound:
            raise RuntimeError("return_bound: bounds have no derivative; pass detached operands")
        if asked.options["plan"] is not None:
            raise ValueError("plan: a Plan is not for DTensors that require grad; pass detached operands")


def _derive(
    options: dict[str, Any],
    likes: list[tuple[Like, Any]],
    a: Any,
    b: Any,
    grad: Any,
    wanted: tuple[bool, ...],
) -> Any:
    """Gradients are those of the operator of torch, products of DTensors as well, and lie as the operands do."""
    found = gradients.of_matmul(
        Differentiated((a, b), tuple(like for like, _ in likes), wanted, options), grad
    )
    return [
        None if x is None else x.redistribute(placements=placements)
        for x, (_, placements) in zip(found, likes, strict=True)
    ]


def _without_sums(placements: Any) -> tuple[Any, ...]:
    """What a gradient's placements are: that of an operand which is a sum over ranks is there as a whole."""
    return tuple(placed(None) if p.is_partial() else p for p in placements)


def _product(asked: Asked, agreed: _Agreed, a: Any, b: Any) -> Any:
    """The product without gradients."""
    way, mesh = agreed.way, a.device_mesh
    a, b = resolved((a, b))
    x = a.redistribute(placements=way.a).to_local()
    y = b.redistribute(placements=way.b).to_local()

    def local() -> Any:
        if way.inner is None:
            return local_product(x, y, **unusual({**asked.options, "return_bound": asked.return_bound}))
        return _over_group(x, y, a, b, asked, agreed)

    others_wait = asked.options["overflow"] == "raise" or way.made != way.wanted
    made = dtensors.raised_alike(local, (a, b)) if others_wait else local()
    shape = torch.Size(matmul_shape(tuple(a.shape), tuple(b.shape)).result)
    strides = tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))
    found = []
    for c in made if asked.return_bound else (made,):
        whole = dtensor_class().from_local(c, mesh, way.made, run_check=False, shape=shape, stride=strides)
        found.append(whole if way.made == way.wanted else whole.redistribute(placements=way.wanted))
    return tuple(found) if asked.return_bound else found[0]


def _over_group(x: Any, y: Any, a: Any, b: Any, asked: Asked, agreed: _Agreed) -> Any:
    """This rank's part of the result, of its parts `x` of A and `y` of B, which are cut along K."""
    way = agreed.way
    assert way.inner is not None
    group = take_group(a.device_mesh.get_group(way.inner))
    axes = x.ndim > 1, y.ndim > 1
    x, y = x if axes[0] else x.unsqueeze(0), y if axes[1] else y.unsqueeze(1)
    k, placement = a.shape[-1], way.made[way.inner]
    of_a, of_b = (*x.shape[:-1], k), (*y.shape[:-2], k, y.shape[-1])
    axis = None
    if placement.is_shard():
        axis = -2 if axes[0] and placement.dim == rows_of(a, b) else -1
    result = Placed(matmul_shape(of_a, of_b).result).cut(axis, group.size)
    hosts = {agreed.hosts[rank] for rank in torch.distributed.get_process_group_ranks(group.handle)}
    problem = Problem(
        group.size, Placed(of_a).cut(-1, group.size), Placed(of_b).cut(-2, group.size), result,
        x.element_size(), y.element_size(), agreed.dtype.itemsize, x.device.type, len(hosts),
    )  # fmt: skip
    reduce.check_serves(problem, asked.method, x.dtype, y.dtype, asked.options, asked.return_bound)
    call = Call(problem, agreed.dtype, asked.options, asked.method, asked.return_bound, False)
    with device_of(x):
        made = run(group, call, x, y)
    found = [_without_axes(c, axes) for c in (made if asked.return_bound else made[:1])]
    return tuple(found) if asked.return_bound else found[0]


def _without_axes(c: Any, axes: tuple[bool, bool]) -> Any:
    """A part of a result without the axis of each operand that has none."""
    c = c if axes[1] else c.squeeze(-1)
    return c if axes[0] else c.squeeze(-2 if axes[1] else -1)
