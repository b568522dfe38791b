"""``ozfp4.distributed.matmul`` of DTensors: where the result is to lie is asked for, and what is cut along the inner dimension is
reduced exactly or moved, whichever is cheaper.

Along each dimension of the mesh DTensor brings the operands to rows, columns or matrices of a stack that belong to the result's;
along one of them the inner dimension may stay cut, and the local tensors are multiplied over the group of that dimension.
"""

from __future__ import annotations

import platform
import weakref
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any

from .._api.matmul import matmul as local_product
from .._options import Options, check_name, unusual
from .._request.library import check_storage, dtensor_class, is_dtensor, require_torch
from .._request.operands import matmul_shape
from .._support import torch_private
from .._torch_ops import agree, dtensors, gradients
from .._torch_ops.agree import device_of, take_group
from .._torch_ops.derivatives import Call as Differentiated
from .._torch_ops.shapes import Like, without_lines
from .._torch_ops.shardings import placed, register, resolved
from ._cost import METHODS
from ._gradients import Differentiable
from ._layout import Placed, Problem
from ._placements import Way, check_placements, choose, rows_of
from ._request import Asked, fields_of, result_dtype
from ._run import run

torch: Any = require_torch()


def matmul(asked: Asked) -> Any:
    """The product as a DTensor, or it and its bounds."""
    a, b = asked.a, asked.b
    one = a if is_dtensor(a) else b
    if one.device_mesh.get_coordinate() is None:
        raise RuntimeError(
            f"a: this process is no member of {one.device_mesh}; its members alone multiply there"
        )
    with device_of(torch_private.local_of(one)):
        way = _agree(one.device_mesh, asked)
        multiply = partial(_product, asked, way)
        if torch.is_grad_enabled() and (a.requires_grad or b.requires_grad):
            likes = [(Like(x.shape, x.dtype), _without_sums(x.placements)) for x in (a, b)]
            return Differentiable.apply(a, b, multiply, partial(_derive, unusual(asked.options), likes))
        is_plain = asked.placements is None and not asked.return_bound and asked.options["plan"] is None
        if is_plain and way.inner is None and (way.a, way.b) == (a.placements, b.placements):
            return local_product(a, b, **unusual(asked.options))  # which keeps the way of such
        return multiply(a.detach(), b.detach())


# By mesh, what is the same of one that some ranks make anew; it takes microseconds.
_places: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def _agree(mesh: Any, asked: Asked) -> Way:
    """The agreement of all ranks of the mesh, once for equal calls; each raises where one refuses its call or has another one."""
    a, b = asked.a, asked.b
    wanted: Any = None
    place = _places.get(mesh)
    if place is None:
        place = _places[mesh] = mesh.device_type, tuple(mesh.shape), tuple(mesh.mesh.flatten().tolist())

    def ask() -> agree.Fields:
        nonlocal wanted
        dtensors.check(a=a, b=b)
        axes = len(matmul_shape(tuple(a.shape), tuple(b.shape)).result)
        wanted = check_placements(asked.placements, mesh.ndim, axes)
        return {
            **fields_of(asked, mesh.device_type),
            **{f"shape of {name}": tuple(x.shape) for name, x in (("a", a), ("b", b))},
            **{f"placements of {name}": str(x.placements) for name, x in (("a", a), ("b", b))},
            "placements": None if wanted is None else str(wanted),
            "host": platform.node(),
        }

    def check(fields: agree.Fields, is_new: bool) -> Any:
        local = [torch_private.local_of(x) for x in (a, b)]
        for name, x in zip("ab", local, strict=True):
            if type(x) is torch.Tensor:  # others say themselves where their entries are
                check_storage(name, x)
        if not is_new:
            return None
        Options.of({**asked.options, "return_bound": asked.return_bound})
        check_name("method", asked.method, METHODS)
        register()
        if any(fields["gradients"]):
            if asked.return_bound:
                raise RuntimeError("return_bound: bounds have no derivative; pass detached operands")
            if asked.options["plan"] is not None:
                raise ValueError("plan: a Plan is not for DTensors that require grad; pass detached operands")
        way = choose(a, b, asked.method, wanted)
        is_cut = way.inner is not None
        return replace(way, dtype=result_dtype(local[0], local[1], a.shape[-1], asked)) if is_cut else way

    def conclude(found: list[agree.Fields], way: Way) -> Way:
        agree.check_alike(found, place[2], ("host",))
        return replace(way, hosts={rank: each["host"] for rank, each in zip(place[2], found, strict=True)})

    known = agree.channel(take_group(mesh.get_group(0))).known[place]
    way: Way = agree.agreed(mesh, "a product of DTensors", known, ask, check, conclude)
    return way


def _derive(
    options: dict[str, Any], likes: Any, a: Any, b: Any, grad: Any, wanted: tuple[bool, ...]
) -> list[Any]:
    """Gradients are those of the operator of torch, products of DTensors as well, and lie as the operands do."""
    call = Differentiated((a, b), tuple(like for like, _ in likes), wanted, options)
    return [
        None if x is None else x.redistribute(placements=placements)
        for x, (_, placements) in zip(gradients.of_matmul(call, grad), likes, strict=True)
    ]


def _without_sums(placements: Any) -> tuple[Any, ...]:
    """What a gradient's placements are: that of an operand which is a sum over ranks is there as a whole."""
    return tuple(placed(None) if p.is_partial() else p for p in placements)


def _product(asked: Asked, way: Way, a: Any, b: Any) -> Any:
    """The product without gradients."""
    mesh = a.device_mesh
    a, b = resolved((a, b))
    x = a.redistribute(placements=way.a).to_local()
    y = b.redistribute(placements=way.b).to_local()

    def local() -> Any:
        if way.inner is None:
            return local_product(x, y, **unusual({**asked.options, "return_bound": asked.return_bound}))
        return _over_group(x, y, a, b, asked, way)

    others_wait = asked.options["overflow"] == "raise" or way.made != way.wanted
    made = agree.together(mesh, local) if others_wait else local()
    shape = torch.Size(matmul_shape(tuple(a.shape), tuple(b.shape)).result)
    strides = tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))
    found = []
    for c in made if asked.return_bound else (made,):
        whole = dtensor_class().from_local(c, mesh, way.made, run_check=False, shape=shape, stride=strides)
        found.append(whole if way.made == way.wanted else whole.redistribute(placements=way.wanted))
    return tuple(found) if asked.return_bound else found[0]


def _over_group(x: Any, y: Any, a: Any, b: Any, asked: Asked, way: Way) -> Any:
    """This rank's part of the result, of its parts `x` of A and `y` of B, which are cut along K."""
    assert way.inner is not None
    group = take_group(a.device_mesh.get_group(way.inner))
    one = matmul_shape(tuple(a.shape), tuple(b.shape))
    x, y = x.unsqueeze(0) if one.a_vector else x, y.unsqueeze(1) if one.b_vector else y
    placement = way.made[way.inner]
    of_a, of_b = (*x.shape[:-1], one.k), (*y.shape[:-2], one.k, y.shape[-1])
    axis = None
    if placement.is_shard():
        axis = -2 if placement.dim == rows_of(a, b) else -1
    result = Placed(matmul_shape(of_a, of_b).result).cut(axis, group.size)
    hosts = {way.hosts[rank] for rank in torch.distributed.get_process_group_ranks(group.handle)}
    problem = Problem(
        group.size, Placed(of_a).cut(-1, group.size), Placed(of_b).cut(-2, group.size), result,
        x.element_size(), y.element_size(), way.dtype.itemsize, x.device.type, len(hosts),
        way.dtype, asked.options, asked.method, asked.return_bound,
    )  # fmt: skip
    found = tuple(without_lines(one, c) for c in run(group, problem, x, y) if c is not None)
    return found if asked.return_bound else found[0]
