"""The few collectives of products: whole matrices from parts, parts cut otherwise. Entries of any dtype travel as bytes, tensors
on a GPU in a Gloo group by the host."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from .._request.library import require_torch
from .._torch_ops.agree import Group, all_gather
from ._layout import Placed

torch: Any = require_torch()


class Pending:
    """What comes: :meth:`wait` gives it, and makes the current stream wait where it is on a GPU."""

    def __init__(self, work: Any, result: Callable[[], Any]) -> None:
        self._work, self._result = work, result

    def wait(self) -> Any:
        if self._work is not None:
            self._work.wait()
        return self._result()


def as_bytes(x: Any) -> Any:
    """The bytes of a contiguous tensor, one axis; a view."""
    # Not view(-1): an axis of one entry may have any stride.
    return x.as_strided((x.numel(),), (1,)).view(torch.uint8)


def packed(x: Any) -> Any:
    """The entries of a tensor one after the other; the tensor itself where they lie so."""
    return x.resolve_conj().resolve_neg().contiguous()


def gather(group: Group, x: Any) -> Pending:
    """The contiguous `x` of all ranks, of one shape, behind each other along a new first axis."""
    by_host = group.goes_by_host(x)
    sent = x.cpu() if by_host else x
    found = torch.empty((group.size, *x.shape), dtype=x.dtype, device=sent.device)
    work = None
    if x.numel():
        work = all_gather(as_bytes(found), as_bytes(sent), group)
    return Pending(work, lambda: found.to(x.device) if by_host else found)


def exchange(group: Group, parts: list[Any], shapes: list[tuple[int, ...]]) -> list[Any]:
    """`parts[r]` goes to rank r; back come those that the ranks sent here, of these shapes, as views of one memory."""
    x = parts[0]
    counts = [part.numel() for part in parts]
    lines = x.new_empty(sum(counts))
    for target, part in zip(lines.split(counts), parts, strict=True):
        target.view(part.shape).copy_(part)
    by_host, item = group.goes_by_host(x), x.element_size()
    sent = as_bytes(lines.cpu() if by_host else lines)
    received = [item * prod(shape) for shape in shapes]
    found = torch.empty(sum(received), dtype=torch.uint8, device=sent.device)
    given = [item * count for count in counts]
    torch.distributed.all_to_all_single(found, sent, received, given, group=group.handle)
    pieces = (found.to(x.device) if by_host else found).split(received)
    return [piece.view(x.dtype).view(shape) for piece, shape in zip(pieces, shapes, strict=True)]


def gather_whole(group: Group, x: Any, placed: Placed) -> Pending:
    """All of a matrix of which each rank has a part."""
    axis, most = placed.axis, placed.sizes[0]
    assert axis is not None
    lines = x.movedim(axis, 0)
    if lines.shape[0] < most:
        filled = torch.empty((most, *lines.shape[1:]), dtype=x.dtype, device=x.device)
        filled[: lines.shape[0]] = lines
        lines = filled
    pending = gather(group, packed(lines))
    # Only last parts are filled up, so that the entries lie without gaps.
    return Pending(None, lambda: pending.wait().flatten(0, 1)[: placed.shape[axis]].movedim(0, axis))


def move(group: Group, x: Any, source: Placed, target: Placed) -> Any:
    """This rank's part of a matrix that lies as `source` says, as `target` says. Range: not two cuts of one axis that differ."""
    if source == target:
        return x
    if source.axis is None or group.size == 1:
        return target.part(x, group.rank)
    if target.axis is None:
        return gather_whole(group, x, source).wait()
    assert source.axis != target.axis
    if source.entries == 0:
        return torch.empty(target.local(group.rank), dtype=x.dtype, device=x.device)
    shapes = []
    for rank in range(group.size):
        shape = list(target.local(group.rank))
        shape[source.axis] = source.sizes[rank]
        shapes.append(tuple(shape))
    return torch.cat(
        exchange(group, [target.part(x, rank) for rank in range(group.size)], shapes), source.axis
    )
