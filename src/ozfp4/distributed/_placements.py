"""How two DTensors are brought together for their product, from placements and shapes alone, so that every rank chooses alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .._request.operands import matmul_shape
from .._torch_ops.shardings import Cut, cuts_of, placed


@dataclass(frozen=True)
class Way:
    """Placements, one a dimension of the mesh: of both operands as they are multiplied, of the result as it is made, and as it is
    wanted; the dimension along which K is cut, or None, the dtype of the result there, and the hosts of all ranks of the mesh."""

    a: tuple[Any, ...]
    b: tuple[Any, ...]
    made: tuple[Any, ...]
    wanted: tuple[Any, ...]
    inner: int | None
    dtype: Any = None
    hosts: Mapping[int, str] = field(default_factory=dict)


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
    """The way of a product of these; ValueError where `method` asks for a cut of K that is not there. Range: DTensors of one mesh
    whose shapes fit, placements as :func:`check_placements` gives them."""
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


def rows_of(a: Any, b: Any) -> int | None:
    """The axis of the result that is A's rows; None of a vector."""
    return None if a.ndim < 2 else max(a.ndim, b.ndim) - 2


_WHOLE = Cut(-1, None, None)  # every rank has all


def _inner_cuts(a: Any, b: Any) -> tuple[Any, Any]:
    """The placements of both operands where K is cut."""
    return placed(a.ndim - 1), placed(max(b.ndim - 2, 0))


def _inner(a: Any, b: Any, method: str) -> int | None:
    """The dimension of the mesh along which K stays cut: the largest one where both operands are cut so; where "reduce" is asked
    for, also one where one of them is, and the other whole."""
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
            f"{a.placements}, b as {b.placements}; 'auto' serves all placements"
        )
    return None


def _cut(a: Any, b: Any, cuts: list[Cut], dim: int, wanted: Any) -> Cut:
    """What the operands have to be along a dimension of the mesh: as the result is wanted, else what moves the fewest bytes;
    whole only where both are, or nothing can be cut."""
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
    shape = matmul_shape(tuple(a.shape), tuple(b.shape)).result
    rows, axes = rows_of(a, b), len(shape)
    free = [axis for axis in (rows, axes - 1 if b.ndim > 1 else None) if axis is not None]
    free = [axis for axis in free if placed(axis) not in made[inner + 1 :]]
    if wanted is not None and wanted.dim in free:
        return wanted
    return placed(max(free, key=lambda axis: shape[axis])) if free else placed(None)
