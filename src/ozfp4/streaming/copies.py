"""Copies between the host and a device, in chunks that several threads carry through staging memory."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from .devices import DONE, Device, Event
from .host import Box, Chunk, HostMatrices
from .run import Countdown, Run

# A thread has two staging buffers of this size: one travels while the other is filled.
CHUNK = 2**22
DIRECT_CHUNK = 2**26  # where the host's memory is staging memory itself
_BUFFERS = 2


class Copies:
    """One direction of one device.

    Parameters
    ----------
    run : Run
    device : Device
    threads : int
    name : str
    """

    def __init__(self, run: Run, device: Device, threads: int, name: str) -> None:
        self._run, self._device = run, device
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"ozfp4 {name} {device.name}")
        self._own = threading.local()

    def upload(self, host: HostMatrices, box: Box, memory: Any, then: Callable[[], object]) -> Countdown:
        """Begin to copy a box to the device; every part is done when it is enqueued there."""
        return self._begin(host, box, lambda chunk, is_direct: self._up(host, chunk, memory, is_direct), then)

    def download(
        self, memory: Any, host: HostMatrices, box: Box, behind: Event, then: Callable[[], object]
    ) -> Countdown:
        """Begin to copy a box to the host, once the device is behind an event; every part is done when it is there."""
        return self._begin(
            host, box, lambda chunk, is_direct: self._down(host, chunk, memory, is_direct, behind), then
        )

    def close(self) -> None:
        """Return once all threads have ended."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _begin(
        self, host: HostMatrices, box: Box, copy: Callable[[Chunk, bool], None], then: Callable[[], object]
    ) -> Countdown:
        is_direct = not host.is_converted and self._is_staging(host)
        chunks = list(host.chunks(box, DIRECT_CHUNK if is_direct else CHUNK))
        left = Countdown(self._run, len(chunks), then)

        def one(chunk: Chunk) -> None:
            self._run.check()
            copy(chunk, is_direct)
            left.part_is_done()

        for chunk in chunks:
            self._pool.submit(self._run.guard, partial(one, chunk))
        return left

    def _is_staging(self, host: HostMatrices) -> bool:
        if host.is_staging is None:
            host.is_staging = self._device.is_staging(host.array)
        return host.is_staging

    def _up(self, host: HostMatrices, chunk: Chunk, memory: Any, is_direct: bool) -> None:
        view, item = host.view(chunk.box), host.dtype.itemsize
        nbytes = chunk.box.entries * item
        if is_direct and view.flags.c_contiguous:
            self._device.upload(self._device.direct(view), memory, chunk.first * item, nbytes)
            return
        for part in host.chunks(chunk.box, CHUNK):
            buffer, piece = self._buffer(), host.view(part.box)
            own = part.box.entries * item
            filled = self._device.host(buffer.memory)[:own].view(host.dtype).reshape(piece.shape)
            np.copyto(filled, piece, casting="unsafe")
            self._device.upload(buffer.memory, memory, (chunk.first + part.first) * item, own)
            buffer.free = self._device.mark("up")

    def _down(self, host: HostMatrices, chunk: Chunk, memory: Any, is_direct: bool, behind: Event) -> None:
        view, item = host.view(chunk.box), host.dtype.itemsize
        nbytes = chunk.box.entries * item
        behind.wait()
        if is_direct and view.flags.c_contiguous:
            self._device.download(memory, chunk.first * item, nbytes, self._device.direct(view))
            self._device.mark("down").wait()
            return
        for part in host.chunks(chunk.box, CHUNK):
            buffer, piece = self._buffer(), host.view(part.box)
            own = part.box.entries * item
            self._device.download(memory, (chunk.first + part.first) * item, own, buffer.memory)
            self._device.mark("down").wait()
            piece[...] = self._device.host(buffer.memory)[:own].view(host.dtype).reshape(piece.shape)

    def _buffer(self) -> _Buffer:
        """The calling thread's next buffer, once what was in it has travelled."""
        own = self._own
        if not hasattr(own, "buffers"):
            own.buffers, own.next = [], 0
        if len(own.buffers) < _BUFFERS:
            own.buffers.append(_Buffer(self._device.staging(CHUNK)))
        own.next = (own.next + 1) % len(own.buffers)
        buffer: _Buffer = own.buffers[own.next]
        buffer.free.wait()
        return buffer


class _Buffer:
    """Staging memory, and the event behind which it can be written again."""

    def __init__(self, memory: Any) -> None:
        self.memory = memory
        self.free: Event = DONE
