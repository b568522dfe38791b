"""Copies between the host and a device, in chunks through staging memory.

Few threads of Python carry chunks: each fills a staging buffer by many threads of C++, and lets it travel while it fills the
next. More of them would hold each other up.
"""

from __future__ import annotations

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
from .host import HostMatrices
from .tiles import Box

Array = npt.NDArray[Any]

# Bytes of a staging buffer at most. Large, as each chunk costs the interpreter some 100 microseconds; small, that those of all
# carriers stay in the processor's last cache, from where the device reads them.
CHUNK = 2**24
LEAST_CHUNK = 2**20
DIRECT_CHUNK = 2**26  # where the host's memory is staging memory itself
CARRIERS = 2
_BUFFERS = 2  # of each carrier


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
    """One direction of a device, "up" or "down", by threads of its own, and the bytes that it was given.

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
        if self._is_up:
            return self._device.upload(array, memory, place)
        self._device.download(memory, place, array)
        return DONE


def _copy(to: Array, view: Array) -> None:
    """Copy entries, converted where the dtypes differ."""
    if to.dtype == view.dtype:
        copy_entries(to, view)
    else:
        np.copyto(to, view, casting="unsafe")
