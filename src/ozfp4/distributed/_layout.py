"""How matrices lie over the ranks of a group, and a product of such, as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

Extents = tuple[int, ...]

LAYOUTS = ("replicated", "rows", "columns", "stack")


def axis_of(word: str, axes: int) -> int | None:
    """The axis that a word cuts of an operand with that many axes, counted from behind; None for "replicated"."""
    return {"replicated": None, "rows": -2, "columns": -1, "stack": -axes}[word]


def chunk_sizes(extent: int, ranks: int) -> Extents:
    """The extent of an axis on each rank, as ``torch.chunk`` and DTensor cut it: the first ones equal parts, rounded up.

    >>> chunk_sizes(10, 4), chunk_sizes(3, 4)
    ((3, 3, 3, 1), (1, 1, 1, 0))
    """
    part = -(-extent // ranks)
    return tuple(min(part, max(0, extent - rank * part)) for rank in range(ranks))


@dataclass(frozen=True)
class Placed:
    """A matrix or a stack of them, and how it lies over the ranks."""

    shape: Extents  # of the whole
    axis: int | None = None  # that is cut, counted from behind (negative); None: each rank has all of it
    # The extent of that axis on each rank, in rank order: one size, but that the last ones of an operand may have less or none.
    sizes: Extents = ()

    def cut(self, axis: int | None, ranks: int) -> Placed:
        """The same, cut along an axis as ``torch.chunk`` does; the same on each rank with None."""
        if axis is None:
            return self.whole
        return Placed(self.shape, axis, chunk_sizes(self.shape[axis], ranks))

    def local(self, rank: int) -> Extents:
        """The shape of a rank's part."""
        return tuple(self.range(axis, rank)[1] for axis in range(-len(self.shape), 0))

    def range(self, axis: int, rank: int) -> tuple[int, int]:
        """Where a rank's part begins along an axis, and its extent there."""
        if axis != self.axis:
            return 0, self.shape[axis]
        return sum(self.sizes[:rank]), self.sizes[rank]

    def part(self, whole: Any, rank: int) -> Any:
        """The view of a rank's part of a whole tensor."""
        return whole if self.axis is None else whole.narrow(self.axis, *self.range(self.axis, rank))

    @property
    def whole(self) -> Placed:
        """The same on each rank."""
        return Placed(self.shape)

    @property
    def entries(self) -> int:
        return prod(self.shape)

    @property
    def largest(self) -> int:
        """The entries of the largest part."""
        return max(prod(self.local(rank)) for rank in range(max(1, len(self.sizes))))

    @property
    def is_stack_cut(self) -> bool:
        return self.axis is not None and self.axis < -2


@dataclass(frozen=True)
class Problem:
    """One product over a group, the same on all ranks: the layouts, which alone decide the way, and the options."""

    ranks: int
    # With both matrix axes. Cuts of K are the same in both operands where both have one. An operand that is cut along its stack
    # has all axes of the result's and the same extent there.
    a: Placed
    b: Placed
    result: Placed
    item_a: int  # bytes of an entry
    item_b: int
    item: int
    device: str  # "cpu" or "cuda": the kind of all devices
    hosts: int = 1  # on how many the ranks run
    dtype: Any = field(default=None, compare=False, repr=False)  # of the result
    options: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)  # of ``ozfp4.matmul``
    method: str = field(default="auto", compare=False, repr=False)
    return_bound: bool = field(default=False, compare=False, repr=False)
    needs_gradient: bool = field(default=False, compare=False, repr=False)  # an operand requires grad

    @property
    def m(self) -> int:
        return self.a.shape[-2]

    @property
    def k(self) -> int:
        return self.a.shape[-1]

    @property
    def n(self) -> int:
        return self.b.shape[-1]
