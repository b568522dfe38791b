"""Matrices on the host, and copies between them and a device, in chunks through staging memory.

Few threads of Python carry chunks: each fills a staging buffer by many threads of C++, and lets it travel while it fills the
next. More of them would hold each other up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core import copy_entries
from .devices import DONE, Cpu
from .tiles import Box, Range

Array = npt.NDArray[Any]

# Bytes of a staging buffer at most. Large, as each chunk costs the interpreter some 100 microseconds; small, that those of all
# carriers stay in the processor's last cache, from where the device reads them.
CHUNK = 2**24
LEAST_CHUNK = 2**20
DIRECT_CHUNK = 2**26  # where the host's memory is staging memory itself
CARRIERS = 2
_BUFFERS = 2  # of each carrier


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
        self._lines = matrices.swapaxes(-1, -2) if self.is_turned else matrices
        self._merged = _merged(self._lines)
        self.count = math.prod(matrices.shape[:-2]) if self._merged is None else len(self._merged)

    def box(self, matrices: Range, rows: Range, columns: Range) -> Box:
        """That of these rows and columns."""
        return Box(matrices, columns, rows) if self.is_turned else Box(matrices, rows, columns)

    def view(self, box: Box) -> Array:
        """The entries of a box, of shape (matrices, lines, inner).

        Precondition: one matrix where axes of a stack cannot be merged.
        """
        (s, t), lines, inner = box
        if self._merged is not None:
            return self._merged[s:t, slice(*lines), slice(*inner)]
        matrix: Array = self._lines[np.unravel_index(s, self.array.shape[:-2])]
        return matrix[np.newaxis, slice(*lines), slice(*inner)]

    def chunks(self, box: Box, most_bytes: int) -> Iterator[tuple[Box, int]]:
        """Parts of a box of at most so many bytes on a device, at least one entry, that `view` shows. They are whole
        matrices, whole lines of one, or a part of a line. With each the entries of a compact box that lie before it."""
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
    """A view of one stack axis, with one matrix where a stack repeats it; None where the axes of the stack cannot be merged."""
    count, step = 1, 0
    for extent, stride in zip(x.shape[-3::-1], x.strides[-3::-1], strict=True):
        if extent == 1:
            continue
        if count > 1 and stride != step * count:
            return None
        step = stride if count == 1 else step
        count *= extent
    own, steps = (count if step else 1, *x.shape[-2:]), (step, *x.strides[-2:])
    return np.lib.stride_tricks.as_strided(x, own, steps, writeable=x.flags.writeable)


# ---- Copies ---------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Buffer:
    """Staging memory, allocated by its first user, and the event behind which it can be written again."""

    memory: Any = None
    free: Any = DONE


class Workers:
    """Daemon threads that do what they are given in its order. ThreadPoolExecutor refuses work once the main thread has
    ended, though products in other threads and at exit go on."""

    def __init__(self, count: int, name: str) -> None:
        self._tasks: SimpleQueue[Any] = SimpleQueue()
        self._ends: list[Future[None]] = [Future() for _ in range(count)]
        for number, end in enumerate(self._ends):
            Thread(target=self._serve, args=(end,), name=f"{name} {number}", daemon=True).start()

    def submit(self, do: Callable[..., Any], *args: Any) -> Future[Any]:
        done: Future[Any] = Future()
        self._tasks.put((done, do, args))
        return done

    def shutdown(self) -> None:
        """Cancel what has not begun, and wait for the rest. May be called again after an interrupt."""
        try:
            while True:
                if (task := self._tasks.get_nowait()) is not None:
                    task[0].cancel()
        except Empty:
            pass
        for _ in self._ends:
            self._tasks.put(None)
        for end in self._ends:
            end.result()

    def _serve(self, end: Future[None]) -> None:
        while (task := self._tasks.get()) is not None:
            done, do, args = task
            if done.set_running_or_notify_cancel():
                try:
                    done.set_result(do(*args))
                except BaseException as error:
                    done.set_exception(error)
            del task, done, do, args  # which hold memory of devices
        end.set_result(None)


class Copies:
    """One direction of a device, "up" or "down", with its own threads, and its number of bytes.

    `largest`: bytes of the largest box. Chunks of it are smaller than the whole, so that a part travels while another is copied.
    """

    def __init__(self, device: Cpu, name: str, largest: int) -> None:
        self._device, self._is_up = device, name == "up"
        self._chunk = max(min(CHUNK, largest // 8), min(CHUNK, LEAST_CHUNK))
        self._buffers: SimpleQueue[_Buffer] = SimpleQueue()
        for _ in range(CARRIERS * _BUFFERS):
            self._buffers.put(_Buffer())
        self.threads = Workers(CARRIERS, f"ozfp4 {name} {device.name}")
        self.bytes = 0

    def begin(self, host: HostMatrices, piece: Box, memory: Any, behind: Any) -> list[Future[Any]]:
        """Begin to copy a piece, once an event is there. Parts of it are done when they are enqueued, with the event of their
        end; on the way down when they are there."""
        self.bytes += piece.entries * host.dtype.itemsize
        parts = self._parts(host, host.box(*piece))
        return [self.threads.submit(self._carry, host, memory, behind, *part) for part in parts]

    def _parts(self, host: HostMatrices, box: Box) -> Iterator[tuple[Box, int, bool]]:
        """A box in chunks, which begin at these entries, and whether one travels by itself: it lies in staging memory, one entry
        behind the other."""
        if host.is_converted or not self._device.is_staging(host.array):
            for chunk, first in host.chunks(box, self._chunk):
                yield chunk, first, False
            return
        for chunk, first in host.chunks(box, DIRECT_CHUNK):
            if host.view(chunk).flags.c_contiguous:
                yield chunk, first, True
            else:
                for part, inner in host.chunks(chunk, self._chunk):
                    yield part, first + inner, False

    def _carry(
        self, host: HostMatrices, memory: Any, behind: Any, box: Box, first: int, is_direct: bool
    ) -> Any:
        view, place = host.view(box), first * host.dtype.itemsize
        behind.synchronize()
        if is_direct:
            return self._travel(view, memory, place)
        buffer = self._buffers.get()  # the one that was not used for longest
        try:
            if buffer.memory is None:
                buffer.memory = self._device.staging(self._chunk)
            buffer.free.synchronize()
            part = buffer.memory[: view.size * host.dtype.itemsize].view(host.dtype).reshape(view.shape)
            if self._is_up:
                _copy(part, view)
            buffer.free = self._travel(part, memory, place)
            if not self._is_up:
                _copy(view, part)
            return buffer.free
        finally:
            self._buffers.put(buffer)

    def _travel(self, array: Array, memory: Any, place: int) -> Any:
        data = array.reshape(-1).view(np.uint8)
        there = memory[place : place + data.nbytes]
        if self._is_up:
            return self._device.upload(data, there)
        self._device.download(there, data)
        return DONE


def _copy(to: Array, view: Array) -> None:
    """Copy entries, converted where the dtypes differ."""
    if to.dtype == view.dtype:
        copy_entries(to, view)
    else:
        np.copyto(to, view, casting="unsafe")
