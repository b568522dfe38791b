"""A product of which this process holds a piece of K, on the CPU: the stages before its residues are summed with those of the
other pieces, and the one behind that. ``backends.cuda.partial`` has the same methods for a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from .._options import Options
from .._plans.plan import Plan
from .._request.library import array_of_tensor, require_torch
from . import cpu

Range = tuple[int, int]  # where it begins, and how many lines it has


class Partial:
    """A piece a (m x K_r) of A, and b (K_r x n) of B, tensors on the CPU, of products of `k` terms by a plan of moduli.

    The order of calls: :meth:`facts`, :meth:`settle`, for accuracy "correct" :meth:`rounded` and :meth:`set_rounded`, then
    :meth:`residues` and :meth:`finish` of blocks of the result, and :meth:`listed`.
    """

    prefixes = 2**30  # of the plan's moduli: all counts of them are tried

    def __init__(self, a: Any, b: Any, k: int, plan: Plan, asked: Options, dtype: Any) -> None:
        self.torch = require_torch()
        self.a, self.b = (array_of_tensor(name, x.detach()) for name, x in (("a", a), ("b", b)))
        self.k, self.plan, self.asked = k, plan, asked
        self.precision = 53 if dtype == self.torch.float64 else 24
        self.entry = _core.residue_bytes(plan._core)
        self.scales: tuple[Any, Any] = (None, None)
        self.count = 0
        self._listed: list[Any] = []

    def facts(self) -> Any:
        """What the lines of the piece say of themselves: int64 words, (m + n, 6)."""
        found = [_core.piece_facts(self.a, False), _core.piece_facts(self.b, True)]
        return self.torch.from_numpy(np.concatenate(found))

    def settle(self, facts: Any) -> None:
        """Scales and the number of moduli, from the facts of all pieces, (pieces, m + n, 6)."""
        words, m = facts.cpu().numpy(), self.a.shape[0]
        rest = (self.k, self.asked.accuracy, self.plan.bits, self.precision)
        self.scales = _core.SharedScales(words[:, :m], *rest), _core.SharedScales(words[:, m:], *rest)
        norms = self.scales[0].norm_squared * self.scales[1].norm_squared
        self.count = _core.moduli_needed(self.plan._core, self.prefixes, norms)

    @property
    def special_lines(self) -> tuple[Any, Any]:
        """Places of the rows of A and columns of B that hold NaN or infinity: int64 tensors on the CPU."""
        rows, columns = (self.torch.from_numpy(np.flatnonzero(scales.special)) for scales in self.scales)
        return rows, columns

    @property
    def groups(self) -> int:
        """Residues of an entry."""
        return int(_core.groups_of(self.plan._core, self.count))

    def rounded(self) -> Any:
        """How many entries of each line of this piece the scales round: int64, (m + n,)."""
        a, b = self.scales
        return self.torch.from_numpy(
            np.concatenate([a.count_rounded(self.a, False), b.count_rounded(self.b, True)])
        )

    def set_rounded(self, counts: Any) -> None:
        """The sums of these over all pieces."""
        numbers, m = counts.numpy(), self.a.shape[0]
        self.scales[0].set_rounded(numbers[:m])
        self.scales[1].set_rounded(numbers[m:])

    def bytes_of(self, rows: int, columns: int) -> int:
        """Of the residues of a block."""
        return self.groups * rows * columns * self.entry

    def tail(self, part: int) -> int:
        """Bytes that :meth:`finish` may read behind what was received, of parts of `part` bytes."""
        return 0

    def residues(self, parts: list[tuple[Range, Range]], targets: list[Any]) -> None:
        """The residues of each part, rows and columns of the result, into its target, a tensor of :meth:`bytes_of` bytes. Range:
        the parts lie side by side, in this order, along rows or along columns, and have the same range of the other axis."""
        rows, columns = (_hull([part[axis] for part in parts]) for axis in (0, 1))
        found = np.empty((self.groups, rows[1], columns[1]), self._dtype)
        _core.residues(
            self.plan._core, self.count, self.a[_slice(rows)], self.b[:, _slice(columns)],
            self.scales[0], rows[0], self.scales[1], columns[0], found, self._limit,
        )  # fmt: skip
        for (own_rows, own_columns), target in zip(parts, targets, strict=True):
            part = found[:, _slice(own_rows, rows[0]), _slice(own_columns, columns[0])]
            target.numpy().view(self._dtype).reshape(part.shape)[...] = part

    def finish(self, received: Any, pieces: int, rows: Range, columns: Range, out: Any) -> None:
        """The block of the result whose residues of all pieces were received, one piece behind the other, rounded into `out`, a
        tensor of the block's shape; the places of what nothing certifies are kept."""
        shape = (pieces, self.groups, rows[1], columns[1])
        parts = (
            received.numpy()[: pieces * self.bytes_of(rows[1], columns[1])].view(self._dtype).reshape(shape)
        )
        for part in parts[1:]:
            _core.add_residues(self.plan._core, self.count, parts[0], part)
        places = _core.finish_residues(
            self.plan._core, self.count, parts[0], self.k, self.asked.accuracy, self.asked.rounding,
            self.scales[0], rows[0], self.scales[1], columns[0], array_of_tensor("out", out.detach()),
        )  # fmt: skip
        if len(places):
            self._listed.append(places + np.array([rows[0], columns[0]]))

    def count_listed(self) -> int:
        """How many entries of the finished blocks are still to be made."""
        return sum(map(len, self._listed))

    def listed(self) -> Any:
        """Rows and columns of these: int64, (entries, 2), on the CPU."""
        found = np.concatenate(self._listed) if self._listed else np.empty((0, 2), np.int64)
        return self.torch.from_numpy(found)

    @property
    def _dtype(self) -> Any:
        return np.dtype(f"u{self.entry}")

    @property
    def _limit(self) -> int:
        return self.asked.workspace_limit or cpu.DEFAULT_WORKSPACE


def _slice(of: Range, begin: int = 0) -> slice:
    return slice(of[0] - begin, of[0] - begin + of[1])


def _hull(ranges: list[Range]) -> Range:
    """From the begin of the first to the end of the last."""
    first = ranges[0][0]
    return first, max(begin + count for begin, count in ranges) - first
