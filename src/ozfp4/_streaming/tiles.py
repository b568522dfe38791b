"""Which tiles a product is cut into, in which order, so that a device's memory suffices and few bytes cross the bus.

All of it is worked out before anything is allocated. One operand is resident: a block of it stays on the device while strips of
the other pass. So the resident operand crosses the bus once, and the other as often as there are blocks. Every tile has the
whole inner dimension.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import prod
from typing import NamedTuple

Range = tuple[int, int]

# Nominal figures of an H200, which decide between cuts and nothing else. Bytes a second of the bus in one direction, operations
# a second of a large FP64 product, bytes a second of planes that are encoded, seconds of a launch.
BUS = 5e10
GATHERED = 4e10  # of parts of lines
OPERATIONS = 9e13
ENCODED = 2e12
LAUNCH = 1e-4

_HALF_BUSY = 2**20  # entries of a tile that reaches half of the operations a second
_ROOM = 1.25  # that the bus shall not have to wait for products that take longer than they should
_ALIGNED = 128  # tiles of more rows or columns have multiples of it, as those of kernels have
_FEW_TILES = 4  # with fewer strips to a block, the next block travels while this one is in use


class Box(NamedTuple):
    """Matrices of a stack, and their rows and columns, each from the first up to and without the last. It is a tile of the
    result, or a part of matrices on the host; the rows of that are the lines that are contiguous there."""

    matrices: Range
    rows: Range
    columns: Range

    @property
    def shape(self) -> tuple[int, int, int]:
        return tuple(last - first for first, last in self)  # type: ignore[return-value]

    @property
    def entries(self) -> int:
        return prod(self.shape)


class Matrix(NamedTuple):
    """A, B or C: bytes of an entry on the device, of C in all results together.

    `planes` are bytes of workspace of an entry, an estimate, as the product runs in blocks if it has less. `copied` are bytes
    in addition, during the product, that no limit of the workspace counts. `is_shared`: one matrix stands in all products.
    `is_turned`: on the host columns lie together; what is a part of every line is copied there, and travels slower.
    """

    entry: int
    planes: int
    copied: int = 0
    is_shared: bool = False
    is_turned: bool = False


@dataclass(frozen=True)
class Sizes:
    """`matrices` products of m × k by k × n, every extent at least 1, as their cutter sees them.

    `operations` of real numbers are made for each of the m n k. A resident operand can be prepared where it `keeps`, and is then
    encoded once. The smallest blocks need `least_workspace` bytes, and `line_workspace` for each row and column of a tile.
    """

    matrices: int
    m: int
    n: int
    k: int
    a: Matrix
    b: Matrix
    c: Matrix
    operations: int = 2
    keeps: bool = False
    least_workspace: int = 2**20
    line_workspace: int = 0


@dataclass(frozen=True)
class Tiling:
    """Tiles of `matrices` × `rows` × `columns`; `resident` is "a" or "b", which is prepared where it `is_kept`."""

    sizes: Sizes
    matrices: int
    rows: int
    columns: int
    resident: str
    is_kept: bool = False

    def tiles(self) -> Iterator[Box]:
        """All of them, in order. Every other pass goes backwards, so that it begins with the strips that are there."""
        sizes = self.sizes
        groups = _ranges(sizes.matrices, self.matrices)
        outer, inner = _ranges(sizes.n, self.columns), _ranges(sizes.m, self.rows)
        if self.resident == "a":
            outer, inner = inner, outer
        if self._matrix(self.resident).is_shared:
            passes = [(block, [(group, strip) for group in groups for strip in inner]) for block in outer]
        else:
            passes = [(block, [(group, strip) for strip in inner]) for group in groups for block in outer]
        for number, (block, steps) in enumerate(passes):
            for group, strip in steps[:: -1 if number % 2 else 1]:
                yield Box(group, strip, block) if self.resident == "b" else Box(group, block, strip)

    @cached_property
    def _counts(self) -> tuple[int, int, int]:
        """How many groups of matrices, blocks of rows and blocks of columns there are."""
        sizes = self.sizes
        return (
            _count(sizes.matrices, self.matrices), _count(sizes.m, self.rows), _count(sizes.n, self.columns)
        )  # fmt: skip

    @property
    def count(self) -> int:
        """How many tiles there are."""
        return prod(self._counts)

    @property
    def strips(self) -> int:
        """Tiles that a resident block is used for, one after the other."""
        groups, rows, columns = self._counts
        inner = rows if self.resident == "b" else columns
        return inner * (groups if self._matrix(self.resident).is_shared else 1)

    def slots(self, name: str) -> int:
        """Places for pieces of a matrix: two where one is filled while the other is used."""
        if name == "c":
            return min(2, self.count)
        pieces = self.count // self.strips if name == self.resident else self.strips
        if name != self.resident and not (self.sizes.a.is_shared or self.sizes.b.is_shared):
            pieces *= self._counts[0]  # each group of matrices brings its own
        return 1 if pieces == 1 or (name == self.resident and self.strips >= _FEW_TILES) else 2

    def piece(self, side: str, tile: Box) -> Box:
        """The part of an operand that a tile needs."""
        matrices, inner = (0, 1) if self._matrix(side).is_shared else tile.matrices, (0, self.sizes.k)
        return Box(matrices, tile.rows, inner) if side == "a" else Box(matrices, inner, tile.columns)

    def _matrix(self, name: str) -> Matrix:
        sizes = self.sizes
        return sizes.a if name == "a" else sizes.b if name == "b" else sizes.c

    def _entries(self, name: str) -> int:
        """How many the largest piece of an operand has, or the largest tile of the result."""
        lines = self.columns if name == "b" else self.rows
        inner = self.columns if name == "c" else self.sizes.k
        return (1 if self._matrix(name).is_shared else self.matrices) * lines * inner

    def piece_bytes(self, name: str) -> int:
        """Bytes of these."""
        return self._entries(name) * self._matrix(name).entry

    @property
    def kept_bytes(self) -> int:
        """Bytes of a resident block that is prepared, an estimate."""
        return self._entries(self.resident) * self._matrix(self.resident).planes if self.is_kept else 0

    @property
    def _slot_bytes(self) -> int:
        """Bytes of the places for pieces of the operands and for tiles of the result."""
        return sum(self.slots(name) * self.piece_bytes(name) for name in "abc")

    @property
    def held_bytes(self) -> int:
        """Bytes of everything on the device but the workspace."""
        copied = sum(self._entries(name) * self._matrix(name).copied for name in "abc")
        return self._slot_bytes + copied + self.kept_bytes

    def product_bytes(self, limit: int) -> int:
        """Bytes for products in addition to the slots: all of the limit, unless twice the estimate is less."""
        return min(limit, 2 * (self.held_bytes + self.wanted_workspace)) - self._slot_bytes

    @property
    def least_workspace(self) -> int:
        """Bytes with which a tile can be made at all."""
        lines = self.matrices * (self.rows + self.columns)
        return self.sizes.least_workspace + lines * self.sizes.line_workspace

    @property
    def wanted_workspace(self) -> int:
        """Bytes with which a tile is one block, an estimate."""
        return self._encoded + self._entries("c") * self.sizes.c.planes + self.least_workspace

    @property
    def _encoded(self) -> int:
        """Bytes of planes that a tile encodes."""
        return sum(self._entries(name) * self._matrix(name).planes for name in "ab") - self.kept_bytes

    def seconds(self, limit: int) -> float:
        """By the nominal figures, within a limit in which it is held."""
        sizes = self.sizes
        entries = self.matrices * (self.rows + _ALIGNED) * (self.columns + _ALIGNED) + _HALF_BUSY
        work = entries * sizes.k * sizes.operations / OPERATIONS
        blocks = max(1.0, self.wanted_workspace / max(1, limit - self.held_bytes))
        tile = work + self._encoded * blocks / ENCODED + LAUNCH * blocks
        moved = {name: self.piece_bytes(name) / self._rate(name) for name in "abc"}
        up, down = moved["a" if self.resident == "b" else "b"], moved["c"]
        resident = moved[self.resident] + self.kept_bytes / ENCODED
        passes = self.count // self.strips
        return passes * resident + self.count * max(up, _ROOM * tile, down) + up + tile + down

    def _rate(self, name: str) -> float:
        """Bytes a second that pieces of a matrix travel."""
        whole_rows = name == "a" or self.columns == self.sizes.n
        whole_columns = name == "b" or self.rows == self.sizes.m
        return BUS if (whole_columns if self._matrix(name).is_turned else whole_rows) else GATHERED


@lru_cache(maxsize=64)
def best_tiling(sizes: Sizes, limit: int) -> Tiling:
    """The cut that takes least time by the nominal figures, within `limit` bytes on the device.

    Raises
    ------
    MemoryError
        Where not even tiles of one entry fit, naming the least that would do.
    """
    for least in (_ALIGNED, 1):
        fitting = [x for x in _candidates(sizes, least) if x.held_bytes + x.least_workspace <= limit]
        if fitting:
            return min(fitting, key=lambda tiling: tiling.seconds(limit))
    smallest = (Tiling(sizes, 1, 1, 1, resident) for resident in "ab")
    raise MemoryError(
        f"workspace_limit: {limit} bytes are too few for an inner dimension of {sizes.k}: the smallest tiles take "
        f"{min(x.held_bytes + x.least_workspace for x in smallest)}"
    )


def _candidates(sizes: Sizes, least: int) -> Iterator[Tiling]:
    """Cuts into about equal tiles of at least so many rows and columns, if there are; groups of whole matrices."""
    rows, columns = ([x for x in _parts(extent) if x >= min(least, extent)] for extent in (sizes.m, sizes.n))
    cuts = [(1, i, j) for i in rows for j in columns]
    cuts += [(each, sizes.m, sizes.n) for each in _parts(sizes.matrices, 1) if each > 1]
    for cut in cuts:
        for resident in "ba":
            tiling = Tiling(sizes, *cut, resident)
            yield tiling
            if sizes.keeps and tiling.strips > 1:
                yield replace(tiling, is_kept=True)


def _parts(extent: int, aligned: int = _ALIGNED) -> list[int]:
    """Lengths of about equal parts of an extent, the longest first.

    >>> _parts(1000), _parts(5, 1)
    ([1000, 512, 384, 256, 125, 63, 32, 16, 8, 4, 2, 1], [5, 3, 2, 1])
    """
    found = set()
    parts = 1
    while parts < 2 * extent:
        for count in (parts, parts + parts // 2) if parts < 8 else (parts,):
            length = _count(extent, count)
            found.add(min(extent, _count(length, aligned) * aligned if length > aligned else length))
        parts *= 2
    return sorted(found, reverse=True)


def _count(extent: int, length: int) -> int:
    return -(-extent // length)


def _ranges(extent: int, length: int) -> list[Range]:
    """Ranges of `length` each; the last one has what is left.

    >>> _ranges(5, 2)
    [(0, 2), (2, 4), (4, 5)]
    """
    return [(first, min(first + length, extent)) for first in range(0, extent, length)]
