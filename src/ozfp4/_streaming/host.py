"""Matrices on the host, in the order in which their entries lie, and the parts of them that travel."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from .tiles import Box, Range

Array = npt.NDArray[Any]


class HostMatrices:
    """A stack of matrices that lies on the host, and the dtype that its entries have on a device, by default its own.

    Its lines are rows, or columns where these lie closer together (`is_turned`), so that what travels is read and written in the
    order of memory.
    """

    def __init__(self, matrices: Array, dtype: Any = None) -> None:
        rows, columns = matrices.strides[-2:]
        self.array = matrices
        self.dtype = np.dtype(matrices.dtype if dtype is None else dtype)
        self.is_converted = self.dtype != matrices.dtype
        self.is_turned = abs(rows) < abs(columns) and min(matrices.shape[-2:]) > 1
        self.count = math.prod(matrices.shape[:-2])
        self._lines = matrices.swapaxes(-1, -2) if self.is_turned else matrices
        self._merged = _merged(self._lines)

    def box(self, matrices: Range, rows: Range, columns: Range) -> Box:
        """That of these rows and columns."""
        return Box(matrices, columns, rows) if self.is_turned else Box(matrices, rows, columns)

    def view(self, box: Box) -> Array:
        """The entries of a box, of shape (matrices, lines, inner). Range: one matrix where axes of a stack cannot be merged."""
        (s, t), lines, inner = box
        if self._merged is not None:
            return self._merged[s:t, slice(*lines), slice(*inner)]
        matrix: Array = self._lines[np.unravel_index(s, self.array.shape[:-2])]
        return matrix[np.newaxis, slice(*lines), slice(*inner)]

    def chunks(self, box: Box, most_bytes: int) -> Iterator[tuple[Box, int]]:
        """Parts of a box of at most so many bytes on a device, at least one entry, that `view` shows: whole matrices, whole lines
        of one, or a part of a line. With each the entries of a compact box that lie before it."""
        _, lines, inner = box.shape
        (s, t), (i, j), (x, y) = box
        entries = max(1, most_bytes // self.dtype.itemsize)
        group = max(1, entries // (lines * inner)) if self._merged is not None else 1
        count = min(lines, max(1, entries // inner))
        length = min(inner, entries)
        for matrix in range(s, t, group):
            for line in range(i, j, count):
                for entry in range(x, y, length):
                    ends = min(matrix + group, t), min(line + count, j), min(entry + length, y)
                    part = Box(*zip((matrix, line, entry), ends, strict=True))
                    yield part, ((matrix - s) * lines + line - i) * inner + entry - x


def _merged(x: Array) -> Array | None:
    """A view of one stack axis; None where the axes of the stack cannot be merged."""
    count, step = 1, 0
    for extent, stride in zip(x.shape[-3::-1], x.strides[-3::-1], strict=True):
        if extent == 1:
            continue
        if count > 1 and stride != step * count:
            return None
        step = stride if count == 1 else step
        count *= extent
    own, steps = (count, *x.shape[-2:]), (step, *x.strides[-2:])
    return np.lib.stride_tricks.as_strided(x, own, steps, writeable=x.flags.writeable)
