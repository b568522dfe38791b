"""A product of which this process holds a piece of K, on the CPU. It has the stages before the residues of all pieces are
summed, and the one after. ``_backends.cuda.partial`` has the same methods for a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from .._options import Options
from .._plans.plan import Plan
from .._request.library import array_of_tensor, require_torch

_WORKSPACE = 2**30  # where no limit is asked for
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
        self._listed = [np.empty((0, 2), np.int64)]

    def facts(self) -> Any:
        """The facts of the lines of the piece: int64 words, (m + n, 6)."""
        found = [_core.piece_facts(self.a, False), _core.piece_facts(self.b, True)]
        return self.torch.from_numpy(np.concatenate(found))

    def settle(self, facts: Any) -> None:
        """Scales and the number of moduli, from the facts of all pieces, (pieces, m + n, 6)."""
        self.shared = settled(self, facts, self.a.shape[0])
        self._dtype = np.dtype(f"u{self.shared.entry_bytes}")

    def rounded(self) -> Any:
        """How many entries of each line of this piece the scales round: int64, (m + n,)."""
        return self.torch.from_numpy(self.shared.count_rounded(self.a, self.b))

    def set_rounded(self, counts: Any) -> None:
        """The sums of these over all pieces."""
        self.shared.set_rounded(counts.numpy())

    def bytes_of(self, rows: int, columns: int) -> int:
        """Bytes of the residues of a block."""
        return self.shared.groups * rows * columns * self.shared.entry_bytes

    def tail(self, part: int) -> int:
        """Bytes that :meth:`finish` may read behind what was received, of parts of `part` bytes."""
        return 0

    def residues(self, parts: list[tuple[Range, Range]], targets: list[Any]) -> None:
        """The residues of each part, rows and columns of the result, into its target, a tensor of :meth:`bytes_of` bytes. Range:
        the parts lie side by side, in this order, along rows or along columns, and have the same range of the other axis."""
        # From the begin of the first to the end of the last.
        rows, columns = (
            (ranges[0][0], max(map(sum, ranges)) - ranges[0][0]) for ranges in zip(*parts, strict=True)
        )
        found = np.empty((self.shared.groups, rows[1], columns[1]), self._dtype)
        limit = self.asked.workspace_limit or _WORKSPACE
        a, b = self.a[_slice(rows)], self.b[:, _slice(columns)]
        self.shared.residues(a, rows[0], b, columns[0], found, limit)
        for (own_rows, own_columns), target in zip(parts, targets, strict=True):
            part = found[:, _slice(own_rows, rows[0]), _slice(own_columns, columns[0])]
            target.numpy().view(self._dtype).reshape(part.shape)[...] = part

    def finish(self, received: Any, pieces: int, rows: Range, columns: Range, out: Any) -> None:
        """Rounds a block of the result into `out`, a tensor of the block's shape, from the residues of all pieces, one
        piece behind the other. The places of entries without a certificate are kept."""
        parts = received.numpy()[: pieces * self.bytes_of(rows[1], columns[1])].view(self._dtype)
        parts = parts.reshape(pieces, self.shared.groups, rows[1], columns[1])
        out = array_of_tensor("out", out.detach())
        self._listed.append(self.shared.finish(parts, rows[0], columns[0], out))

    def count_listed(self) -> int:
        """How many entries of the finished blocks are still to be made."""
        return sum(map(len, self._listed))

    def listed(self) -> Any:
        """Rows and columns of these: int64, (entries, 2), on the CPU."""
        return self.torch.from_numpy(np.concatenate(self._listed))


def settled(piece: Any, facts: Any, rows: int) -> _core.Pieces:
    """The shared facts of lines of A (that many rows) and of B, from the facts of all pieces. `special_lines` of the piece
    are the places of lines with NaN or infinity, int64 tensors on the CPU."""
    asked, words = piece.asked, facts.cpu().numpy()
    shared = _core.Pieces(
        piece.plan._core,
        words,
        rows,
        piece.k,
        asked.accuracy,
        asked.rounding,
        piece.precision,
        piece.prefixes,
    )
    special = require_torch().from_numpy(shared.special)
    piece.special_lines = tuple(part.nonzero().view(-1) for part in (special[:rows], special[rows:]))
    return shared


def _slice(of: Range, begin: int = 0) -> slice:
    return slice(of[0] - begin, of[0] - begin + of[1])
