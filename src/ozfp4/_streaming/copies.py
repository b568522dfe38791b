"""Copies between the host and a device, in chunks through staging memory.

Few threads of Python carry chunks: each fills a staging buffer by many threads of C++, and lets it travel while it fills the
next. More of them would hold each other up.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._core import copy_entries
from .devices import DONE, Device, Event
from .host import Box, Chunk, HostMatrices
from .run import Countdown, Run

Array = npt.NDArray[Any]

# Bytes of a staging buffer at most. Large, as each chunk costs the interpreter some 100 microseconds; small, that those of all
# carriers stay in the processor's last cache, from where the device reads them.
CHUNK = 2**24
LEAST_CHUNK = 2**20
DIRECT_CHUNK = 2**26  # where the host's memory is staging memory itself
CARRIERS = 2
_BUFFERS = 2  # of each carrier


class Copies:
    """One direction of one device.

    Parameters
    ----------
    run : Run
    device : Device
    queue : {"up", "down"}
        Of the device.
    largest : int
        Bytes of the largest box: chunks of it are smaller than the whole, so that a part travels while another is copied.
    """

    def __init__(self, run: Run, device: Device, queue: str, largest: int) -> None:
        self._run, self._device, self._queue = run, device, queue
        self._chunk = max(min(CHUNK, largest // 8), min(CHUNK, LEAST_CHUNK))
        self._works: SimpleQueue[Callable[[_Carrier], object] | None] = SimpleQueue()
        self._is_closed = False
        self._staging: dict[
            int, bool
        ] = {}  # by the identity of host matrices: whether this device copies from there by itself
        self._threads = [run.thread(self._carry, f"{queue} {device.name}") for _ in range(CARRIERS)]

    def upload(self, host: HostMatrices, box: Box, memory: Any, then: Callable[[], object]) -> Countdown:
        """Begin to copy a box to the device; every part is done when it is enqueued there."""
        return self._begin(host, box, partial(self._up, host, memory), then)

    def download(
        self, memory: Any, host: HostMatrices, box: Box, behind: Event, then: Callable[[], object]
    ) -> Countdown:
        """Begin to copy a box to the host, once the device is behind an event; every part is done when it is there."""
        return self._begin(host, box, partial(self._down, host, memory, behind), then)

    def close(self) -> None:
        """Return once all carriers have ended; may be called again where that was interrupted. Range: no copy begins any more."""
        if (
            not self._is_closed
        ):  # none of them waits for ever where this is interrupted: some would be told twice
            for _ in self._threads:
                self._works.put(None)
            self._is_closed = True
        for thread in self._threads:
            thread.join()

    def _begin(
        self,
        host: HostMatrices,
        box: Box,
        copy: Callable[[_Part, _Carrier], None],
        then: Callable[[], object],
    ) -> Countdown:
        parts = self._parts(host, box)
        left = Countdown(self._run, len(parts), then)

        def one(part: _Part, carrier: _Carrier) -> None:
            copy(part, carrier)
            left.part_is_done()

        for part in parts:
            self._works.put(partial(one, part))
        return left

    def _parts(self, host: HostMatrices, box: Box) -> list[_Part]:
        """A box in chunks: those that lie in staging memory, one entry behind the other, travel by themselves."""
        if id(host) not in self._staging:
            self._staging[id(host)] = not host.is_converted and self._device.is_staging(host.array)
        if not self._staging[id(host)]:
            return [_Part(chunk, False) for chunk in host.chunks(box, self._chunk)]
        parts = []
        for chunk in host.chunks(box, DIRECT_CHUNK):
            if host.view(chunk.box).flags.c_contiguous:
                parts.append(_Part(chunk, True))
            else:
                inner = host.chunks(chunk.box, self._chunk)
                parts += [_Part(Chunk(each.box, chunk.first + each.first), False) for each in inner]
        return parts

    def _carry(self) -> None:
        """What a carrier does until it is closed; once something has failed, it takes what is left and does nothing with it."""
        carrier = _Carrier(self._device, self._chunk)
        while (work := self._works.get()) is not None:
            if self._run.failure is None:
                self._run.guard(partial(work, carrier))

    def _up(self, host: HostMatrices, memory: Any, part: _Part, carrier: _Carrier) -> None:
        (box, first), device = part.chunk, self._device
        view, item = host.view(box), host.dtype.itemsize
        nbytes = box.entries * item
        if part.is_direct:
            device.upload(device.direct(view), memory, first * item, nbytes)
            return
        buffer = carrier.buffer()
        self._copy(buffer.array[:nbytes].view(host.dtype).reshape(view.shape), view)
        device.upload(buffer.memory, memory, first * item, nbytes)
        buffer.free = device.mark("up")

    def _down(self, host: HostMatrices, memory: Any, behind: Event, part: _Part, carrier: _Carrier) -> None:
        (box, first), device = part.chunk, self._device
        view, item = host.view(box), host.dtype.itemsize
        nbytes = box.entries * item
        behind.wait()
        if part.is_direct:
            device.download(memory, first * item, nbytes, device.direct(view))
            device.mark("down").wait()
            return
        buffer = carrier.buffer()
        device.download(memory, first * item, nbytes, buffer.memory)
        device.mark("down").wait()
        self._copy(view, buffer.array[:nbytes].view(host.dtype).reshape(view.shape))

    def _copy(self, to: Array, view: Array) -> None:
        """Copy entries, converted where the dtypes differ."""
        if to.dtype == view.dtype:
            copy_entries(to, view)
        else:
            np.copyto(to, view, casting="unsafe")


class _Part(NamedTuple):
    """A chunk, and whether it travels without a staging buffer."""

    chunk: Chunk
    is_direct: bool


class _Buffer:
    """Staging memory, as an array, and the event behind which it can be written again."""

    def __init__(self, device: Device, nbytes: int) -> None:
        self.memory = device.staging(nbytes)
        self.array = device.host(self.memory)
        self.free: Event = DONE


class _Carrier:
    """What a thread that carries chunks holds: staging buffers, as it needs them."""

    def __init__(self, device: Device, nbytes: int) -> None:
        self._device, self._nbytes = device, nbytes
        self._buffers: list[_Buffer] = []

    def buffer(self) -> _Buffer:
        """The one that was not used for longest, once what was in it has travelled."""
        if len(self._buffers) < _BUFFERS:
            buffer = _Buffer(self._device, self._nbytes)
        else:
            buffer = self._buffers.pop(0)
            buffer.free.wait()
        self._buffers.append(buffer)
        return buffer
