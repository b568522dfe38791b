"""``ozfp4.distributed.matmul`` of DTensors.

Along each dimension of the mesh DTensor brings the operands to rows, columns or matrices of a stack that belong to those of the
result. Along one of them the inner dimension may stay cut; the local tensors are multiplied over the group of that dimension.
"""

from __future__ import annotations

import platform
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from .._torch_ops.dtensors import Cut, cuts_of, placed, register, resolved
from .._torch_ops.shapes import Like, without_lines
from ._cost import METHODS
from ._gradients import Differentiable
from ._layout import Placed, Problem
from ._request import Asked, fields_of, result_dtype
from ._run import run

torch: Any = require_torch()


@dataclass(frozen=True)
class Way:
    """How DTensors are multiplied: placements, one for each dimension of the mesh, of both operands, of the result as it is
    computed, and of the result as it is wanted. Then the dimension along which K is cut, or None, the dtype of the result
    there, and the hosts of all ranks of the mesh.
    """

    a: tuple[Any, ...]
    b: tuple[Any, ...]
    made: tuple[Any, ...]
    wanted: tuple[Any, ...]
    inner: int | None
    dtype: Any = None
    hosts: Mapping[int, str] = field(default_factory=dict)


def matmul(asked: Asked) -> Any:
    """The product as a DTensor, or it and its bounds."""
    a, b = asked.a, asked.b
    one = a if is_dtensor(a) else b
    if one.device_mesh.get_coordinate() is None:
        raise RuntimeError(
            f"a: this process is not a member of {one.device_mesh}; only its members may call this"
        )
    with device_of(torch_private.local_of(one)):
        way = _agree(one.device_mesh, asked)
        multiply = partial(_product, asked, way)
        if torch.is_grad_enabled() and (a.requires_grad or b.requires_grad):
            # The gradient of an operand that is a sum over ranks is there as a whole.
            lying = [[placed(None) if p.is_partial() else p for p in x.placements] for x in (a, b)]
            likes = [(Like(x.shape, x.dtype), each) for x, each in zip((a, b), lying, strict=True)]
            return Differentiable.apply(a, b, multiply, partial(_derive, unusual(asked.options), likes))
        is_plain = asked.placements is None and not asked.return_bound and asked.options["plan"] is None
        if is_plain and way.inner is None and (way.a, way.b) == (a.placements, b.placements):
            return local_product(a, b, **unusual(asked.options))  # which keeps the way of such
        return multiply(a.detach(), b.detach())


# By mesh, the ranks of it, and what is the same of a mesh that some ranks make anew: torch finds it in tens of microseconds.
_places: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def _agree(mesh: Any, asked: Asked) -> Way:
    """The agreement of all ranks of the mesh, once for equal calls; each raises where one refuses its call or has another one."""
    a, b = asked.a, asked.b
    wanted: Any = None
    place = _places.get(mesh)
    if place is None:
        place = _places[mesh] = tuple(mesh.mesh.flatten().tolist()), mesh.device_type, tuple(mesh.shape)
    ranks = place[0]

    def describe() -> agree.Fields:
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
        agree.check_alike(found, ranks, ("host",))
        return replace(way, hosts={rank: each["host"] for rank, each in zip(ranks, found, strict=True)})

    known = take_group(mesh.get_group(0)).known[place]
    way: Way = agree.agreed(mesh, "a product of DTensors", known, describe, check, conclude)
    return way


def _derive(
    options: dict[str, Any], likes: Any, a: Any, b: Any, grad: Any, wanted: tuple[bool, ...]
) -> list[Any]:
    """Gradients are those of the operator of torch, products of DTensors as well, and lie as the operands do.

    They are contiguous: torch 2.11 replicates those that it copies for another order in memory.
    """
    call = Differentiated((a, b), tuple(like for like, _ in likes), wanted, options)
    return [
        None if x is None else x.redistribute(placements=placements).contiguous()
        for x, (_, placements) in zip(gradients.of_matmul(call, grad), likes, strict=True)
    ]


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
        axis = -1 if placement.dim == len(one.result) - 1 and not one.b_vector else -2
    result = Placed(matmul_shape(of_a, of_b).result).cut(axis, group.size)
    hosts = {way.hosts[rank] for rank in torch.distributed.get_process_group_ranks(group.handle)}
    problem = Problem(
        group.size, Placed(of_a).cut(-1, group.size), Placed(of_b).cut(-2, group.size), result,
        x.element_size(), y.element_size(), way.dtype.itemsize, x.device.type, len(hosts),
        way.dtype, asked.options, asked.method, asked.return_bound,
    )  # fmt: skip
    found = tuple(without_lines(one, c) for c in run(group, problem, x, y) if c is not None)
    return found if asked.return_bound else found[0]


# ---- How two DTensors are brought together, from placements and shapes alone, so that every rank chooses alike


def check_placements(placements: Any, dims: int, axes: int) -> tuple[Any, ...] | None:
    """The placements of a result with that many axes on a mesh of so many dimensions, axes from the front; None of None."""
    if placements is None:
        return None
    if not isinstance(placements, Sequence) or not all(hasattr(p, "is_shard") for p in placements):
        raise TypeError(
            f"placements: {placements!r} is no sequence of placements of torch.distributed.tensor"
        )
    if len(placements) != dims:
        raise ValueError(f"placements: {len(placements)} of them, and the mesh has {dims} dimensions")
    found = []
    for p in placements:
        if p.is_replicate():
            found.append(p)
            continue
        if p.is_partial():
            raise ValueError(
                f"placements: {p} leaves a sum over ranks to be made, of numbers that are rounded already; "
                "Shard and Replicate are exact"
            )
        axis = getattr(p, "dim", None)
        if axis is None or p != placed(axis) or not -axes <= axis < axes:
            raise ValueError(f"placements: {p} is no cut of a result with {axes} axes")
        found.append(placed(axis % axes))
    return tuple(found)


def choose(a: Any, b: Any, method: str, wanted: tuple[Any, ...] | None) -> Way:
    """The way of a product of these; ValueError if `method` needs a cut of K that is not there.

    Precondition: DTensors of one mesh, with shapes that fit, and placements as :func:`check_placements` gives them.
    """
    cuts = cuts_of(tuple(a.shape), tuple(b.shape))
    inner = _inner(a, b, method)
    of_a, of_b, made = list(a.placements), list(b.placements), list(a.placements)
    asked = wanted or (None,) * len(made)
    for dim in range(len(made)):
        if dim != inner:
            cut = _cut(a, b, cuts, dim, asked[dim])
            of_a[dim], of_b[dim] = placed(cut.a), placed(cut.b)
            made[dim] = placed(None if cut is _WHOLE else cut.result)
    if inner is not None:
        of_a[inner], of_b[inner] = _inner_cuts(a, b)
        made[inner] = _result(a, b, made, inner, asked[inner])
    return Way(tuple(of_a), tuple(of_b), tuple(made), wanted or tuple(made), inner)


_WHOLE = Cut(-1, None, None)  # every rank has all


def _inner_cuts(a: Any, b: Any) -> tuple[Any, Any]:
    """The placements of both operands where K is cut."""
    return placed(a.ndim - 1), placed(max(b.ndim - 2, 0))


def _inner(a: Any, b: Any, method: str) -> int | None:
    """The dimension of the mesh along which K stays cut: the largest one where both operands are cut so. With "reduce" also
    one where one of them is cut, and the other whole."""
    mesh, (of_a, of_b) = a.device_mesh, _inner_cuts(a, b)
    pairs, whole = list(zip(a.placements, b.placements, strict=True)), placed(None)
    found = [dim for dim, pair in enumerate(pairs) if pair == (of_a, of_b)]
    if method == "reduce" and not found:
        found = [dim for dim, pair in enumerate(pairs) if pair in ((of_a, whole), (whole, of_b))]
    if found:
        return max(found, key=mesh.size)
    if method == "reduce":
        raise ValueError(
            "method: 'reduce' adds partial products up, for which the inner dimension has to be cut; a lies as "
            f"{a.placements}, b as {b.placements}; 'auto' takes all placements"
        )
    return None


def _cut(a: Any, b: Any, cuts: list[Cut], dim: int, wanted: Any) -> Cut:
    """The placements that the operands need along a dimension of the mesh: as the result is wanted, else those that move
    the fewest bytes. Whole only where both are, or nothing can be cut."""
    if wanted is not None and wanted.is_shard():
        for cut in cuts:
            if cut.result == wanted.dim:
                return cut
    ranks, p, q = a.device_mesh.size(dim), a.placements[dim], b.placements[dim]
    if not cuts or (p.is_replicate() and q.is_replicate()):
        return _WHOLE
    return min(cuts, key=lambda cut: _moved(a, p, cut.a, ranks) + _moved(b, q, cut.b, ranks))


def _moved(x: Any, p: Any, axis: int | None, ranks: int) -> float:
    """Bytes that a rank receives of `x` where a placement becomes a cut along `axis`, or none."""
    if p.is_replicate() or p == placed(axis):
        return 0.0
    size = float(x.numel() * x.element_size())
    if p.is_partial():
        return size if axis is not None else 2 * size
    return size / ranks if axis is not None else size * (ranks - 1) / ranks


def _result(a: Any, b: Any, made: list[Any], inner: int, wanted: Any) -> Any:
    """How the result lies along the dimension where K is cut: as it is wanted, else by its longer axis. One that a later
    dimension cuts is not cut here: DTensor cuts in the order of the dimensions."""
    if wanted is not None and wanted.is_replicate():
        return wanted
    one = matmul_shape(tuple(a.shape), tuple(b.shape))
    lines = range(len(one.result) - 2 + one.a_vector + one.b_vector, len(one.result))
    free = [axis for axis in lines if placed(axis) not in made[inner + 1 :]]
    if wanted is not None and wanted.dim in free:
        return wanted
    return placed(max(free, key=lambda axis: one.result[axis])) if free else placed(None)
