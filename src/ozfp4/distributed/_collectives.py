"""The few collectives of products: whole matrices from parts, parts cut otherwise. Entries of any dtype travel as bytes, tensors
on a GPU in a Gloo group by the host."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any

from .._request.library import require_torch
from .._torch_ops.agree import Group, all_gather
from ._layout import Placed

torch: Any = require_torch()


class Pending:
    """An exchange under way: :meth:`wait` gives its result, and makes the current stream wait for a result on a GPU."""

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


def swap_bytes(group: Group, sent: Any, given: list[int], found: Any, coming: list[int]) -> Pending:
    """`given[r]` bytes of `sent` go to rank r, `coming[r]` of `found` come from there; gives `found`."""
    by_host = group.goes_by_host(sent)
    x, y = (sent.cpu(), found.cpu()) if by_host else (sent, found)
    work = torch.distributed.all_to_all_single(y, x, coming, given, group=group.handle, async_op=True)

    def result() -> Any:
        if by_host:
            found.copy_(y)
        return found if x is not None else None  # holds what is sent until it has gone

    return Pending(work, result)


def exchange(group: Group, parts: list[Any], shapes: list[tuple[int, ...]]) -> list[Any]:
    """`parts[r]` goes to rank r; back come those that the ranks sent here, of these shapes, as views of one memory."""
    x, item = parts[0], parts[0].element_size()
    counts = [part.numel() for part in parts]
    lines = x.new_empty(sum(counts))
    for target, part in zip(lines.split(counts), parts, strict=True):
        target.view(part.shape).copy_(part)
    coming = [item * prod(shape) for shape in shapes]
    found = torch.empty(sum(coming), dtype=torch.uint8, device=x.device)
    given = [item * count for count in counts]
    pieces = swap_bytes(group, as_bytes(lines), given, found, coming).wait().split(coming)
    return [piece.view(x.dtype).view(shape) for piece, shape in zip(pieces, shapes, strict=True)]


def filled_up(x: Any, axis: int, width: int) -> Any:
    """A tensor with that extent along an axis: behind its own entries is whatever memory holds."""
    if x.shape[axis] == width:
        return x
    shape = list(x.shape)
    shape[axis] = width
    filled = torch.empty(shape, dtype=x.dtype, device=x.device)
    filled.narrow(axis, 0, x.shape[axis]).copy_(x)
    return filled


def gather_whole(group: Group, x: Any, placed: Placed) -> Pending:
    """All of a matrix of which each rank has a part."""
    axis = placed.axis
    assert axis is not None
    pending = gather(group, packed(filled_up(x.movedim(axis, 0), 0, placed.sizes[0])))
    # Only last parts are filled up, so that the entries lie without gaps.
    return Pending(None, lambda: pending.wait().flatten(0, 1)[: placed.shape[axis]].movedim(0, axis))


def move(group: Group, x: Any, source: Placed, target: Placed) -> Any:
    """This rank's part of a matrix in the layout `target`, from its part in the layout `source`.

    Precondition: not two cuts of one axis that differ.
    """
    if source == target:
        return x
    if source.axis is None or group.size == 1:
        return target.part(x, group.rank)
    if target.axis is None:
        return gather_whole(group, x, source).wait()
    assert source.axis != target.axis
    if source.entries == 0:
        return torch.empty(target.local(group.rank), dtype=x.dtype, device=x.device)
    mine = replace(source, shape=target.local(group.rank))
    parts = [target.part(x, rank) for rank in range(group.size)]
    return torch.cat(exchange(group, parts, [mine.local(rank) for rank in range(group.size)]), source.axis)
