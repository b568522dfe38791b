"""A piece of K on a GPU: as :class:`ozfp4._backends.partial.Partial`, on the tensors' device and its current stream.

torch owns all memory. The facts of lines come to the host and go back as scales, which synchronises the GPU once. So does the
number of entries that are left, and nothing else.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any

from ... import _core
from ..._options import Options
from ..._plans.plan import Plan
from ..._request import library
from ..._support.torch_private import stream_function
from ..partial import Range, settled
from . import extension

_RECORD_BYTES, _SHIFT_BYTES = 32, 4
_SQUARES = 4  # the word of a piece that bounds its sum of squares
_ROUNDED = 2  # the word of a record that counts rounded entries


def _facts(x: Any, is_right: bool) -> Any:
    """Facts of the rows of a piece of A, or the columns of one of B: int64 words, (lines, 6)."""
    torch, cuda, device = library.require_torch(), extension.require_cuda(), x.device
    scratch = torch.empty(cuda.piece_facts_scratch(x, is_right), dtype=torch.uint8, device=device)
    found = torch.empty((x.shape[int(is_right)], _core.piece_words), dtype=torch.int64, device=device)
    stream = stream_function()(device.index)
    cuda.piece_facts(x, is_right, found.data_ptr(), scratch.data_ptr(), device.index, stream)
    return found


@lru_cache(maxsize=64)
def facts_refusal(index: int) -> str | None:
    """None where a device finds the CPU's facts of lines, of either way in which they may lie; else why it is not to be asked."""
    torch = library.require_torch()
    steps = torch.arange(-70, 71, dtype=torch.float64, device="cpu")
    x = torch.ldexp(torch.arange(1, 1 + 40 * len(steps), device="cpu").view(40, -1) % 7 - 3.0, 15 * steps)
    x[3, 5], x[4, 6] = float("inf"), float("nan")
    for own, is_right in ((x, False), (x.t(), True), (x.t().contiguous(), True)):
        words = torch.from_numpy(_core.piece_facts(own.numpy(), is_right))
        found = _facts(own.to(torch.device("cuda", index)), is_right).cpu()
        bounds = [of[:, _SQUARES].contiguous().view(torch.float64) for of in (words, found)]
        is_bound = bool((bounds[1] >= bounds[0] * (1 - 1e-12)).all() and (bounds[1] <= 2 * bounds[0]).all())
        words[:, _SQUARES] = found[:, _SQUARES]
        if not is_bound or not torch.equal(words, found):
            return f"cuda:{index} finds other facts of the lines of an operand than the CPU"
    return None


class Partial:
    """As :class:`ozfp4._backends.partial.Partial`, by a kernel of the device."""

    def __init__(self, a: Any, b: Any, k: int, plan: Plan, asked: Options, dtype: Any, kernel: int) -> None:
        self.torch, self.cuda = library.require_torch(), extension.require_cuda()
        self.a, self.b, self.device = a, b, a.device
        self.m, self.n = a.shape[0], b.shape[1]
        self.k, self.plan, self.asked = k, plan, asked
        self.precision = 24 if dtype == self.torch.float32 else 53
        self.prefixes = self.cuda.most_prefixes
        promise = asked.accuracy, asked.rounding, self.precision
        inner = max(1, a.shape[1]), k
        self.stages = self.cuda.Partial(plan._core, *inner, kernel, *promise, self.device.index)
        self.is_empty = a.shape[1] == 0
        self._listed: list[tuple[Range, Range, Any, Any]] = []

    @property
    def _stream(self) -> int:
        return stream_function()(self.device.index)

    def facts(self) -> Any:
        torch = self.torch
        if self.is_empty:
            none = torch.empty((self.m + self.n, 0), dtype=torch.float64, device="cpu")
            return torch.from_numpy(_core.piece_facts(none.numpy(), False)).to(self.device)
        return torch.cat([_facts(self.a, False), _facts(self.b, True)])

    def settle(self, facts: Any) -> None:
        torch, shared = self.torch, settled(self, facts, self.m)
        self.count, records = shared.count, shared.records
        if self.asked.accuracy == "correct":
            records[:, _ROUNDED] = 0
        self.shift, self.records = (
            torch.from_numpy(array).to(self.device) for array in (shared.shift, records)
        )
        decision = bytearray(struct.pack("ii", self.count, int(shared.is_certain)))
        self.decision = torch.frombuffer(decision, dtype=torch.uint8).to(self.device)
        if not self.is_empty:
            self.planes_a = self._encode(self.a, False, 0)
            self.planes_b = self._encode(self.b, True, self.m)

    def _encode(self, x: Any, is_right: bool, first: int) -> Any:
        """The planes of an operand, for its lines from `first` on."""
        size = max(1, self.stages.plane_bytes(x.shape[int(is_right)]))
        planes = self.torch.empty(size, dtype=self.torch.uint8, device=self.device)
        scales = self._addresses(first)
        self.stages.encode(x, is_right, *scales, planes.data_ptr(), self.decision.data_ptr(), self._stream)
        return planes

    def _addresses(self, line: int) -> tuple[int, int]:
        """Addresses of the shift and of the record of a line of both operands, those of A first."""
        records = self.records.data_ptr() + line * _RECORD_BYTES if self.records.numel() else 0
        return self.shift.data_ptr() + line * _SHIFT_BYTES, records

    def rounded(self) -> Any:
        return self.records[:, _ROUNDED].contiguous()

    def set_rounded(self, counts: Any) -> None:
        self.records[:, _ROUNDED] = counts

    def bytes_of(self, rows: int, columns: int) -> int:
        return int(self.stages.residue_bytes(self.count, rows, columns))

    def tail(self, part: int) -> int:
        return -(-part * int(self.stages.spare_planes(self.count)) // self.count) + 16

    def residues(self, parts: list[tuple[Range, Range]], targets: list[Any]) -> None:
        """Each target has to be aligned to 16 bytes."""
        if self.is_empty:
            for target in targets:
                target.zero_()
            return
        for (rows, columns), target in zip(parts, targets, strict=True):
            if rows[1] and columns[1]:
                self.stages.multiply(
                    self.planes_a.data_ptr(), self.m, *rows, self.planes_b.data_ptr(), self.n, *columns,
                    target.data_ptr(), self.decision.data_ptr(), self._stream,
                )  # fmt: skip

    def finish(self, received: Any, pieces: int, rows: Range, columns: Range, out: Any) -> None:
        """`received` has :meth:`tail` bytes more."""
        cuda, torch = self.cuda, self.torch
        listed = counts = None
        if self.asked.accuracy != "scaled":
            width = cuda.listed_words(columns[1])
            listed = torch.zeros((rows[1], width), dtype=torch.int32, device=self.device)
            counts = torch.zeros(cuda.repair_count_bytes // 8, dtype=torch.int64, device=self.device)
            self._listed.append((rows, columns, listed, counts))
        self.stages.finish(
            received.data_ptr(), pieces, self.bytes_of(rows[1], columns[1]),
            *self._addresses(rows[0]), *self._addresses(self.m + columns[0]), out,
            0 if listed is None else listed.data_ptr(), 0 if counts is None else counts.data_ptr(),
            self.decision.data_ptr(), self._stream,
        )  # fmt: skip

    def count_listed(self) -> int:
        """Waits for the device."""
        if not self._listed:
            return 0
        return int(self.torch.stack([block[3][0] for block in self._listed]).sum())

    def listed(self) -> Any:
        torch, found = self.torch, [self.torch.empty((0, 2), dtype=self.torch.int64, device="cpu")]
        bits = torch.arange(32, device=self.device, dtype=torch.int32)
        for rows, columns, words, _ in self._listed:
            places = words.nonzero()
            word, bit = (words[places[:, 0], places[:, 1]][:, None] >> bits & 1).nonzero(as_tuple=True)
            row, column = places[word, 0] + rows[0], 32 * places[word, 1] + bit + columns[0]
            found.append(torch.stack([row, column], 1).cpu())
        return torch.cat(found)
