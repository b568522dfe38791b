"""The interface of a device for the pipeline: memory, copies in both directions, products, and events between them.

A device works through three queues, "up", "product" and "down", each in order; what is asked of it is enqueued. The CPU is a
device with queues that are always empty: its copies are plain ones.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from .._dispatch import on_cuda
from .._dispatch.decision import decide_on_cpu
from .._request import library
from .._request.operands import MatmulRequest

Array = npt.NDArray[Any]
_SHARE = 0.8  # of a GPU's free memory, where no limit is given


class Done:
    """The event of what has been done; others are torch's."""

    def synchronize(self) -> None:
        """Return once the queue has come there."""


DONE = Done()


class Cpu:
    """The CPU as a device, and what other devices do in their way."""

    name = "cpu"
    least_workspace = 2**20  # of products of short lines
    inner_workspace = 0.5  # that each entry of a line adds to it
    line_workspace = 0  # that each row and column adds to it
    slack = 0  # bytes of a limit that rounded sizes of allocations may take
    keeps = False  # whether operands can be prepared within a limit

    def check(self, request: MatmulRequest, is_integer: bool) -> None:
        """Raise what a product would, without its operands."""
        if not is_integer:
            decide_on_cpu(request)

    def default_limit(self) -> int:
        """Bytes that a product takes where no limit is given."""
        return 2**30

    def memory(self, nbytes: int) -> Any:
        """Bytes on the device."""
        return np.empty(nbytes, np.uint8)

    def reserve(self, nbytes: int) -> None:
        """Room for products, one after the other, each in its own pieces. Once, after `memory` and before the first copy."""

    def view(self, memory: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
        """The first bytes as an array, or a tensor, of the device."""
        return memory[: prod(shape) * dtype.itemsize].view(dtype).reshape(shape)

    def staging(self, nbytes: int) -> Array:
        """Bytes on the host from and to which the device copies while the host goes on."""
        return np.empty(nbytes, np.uint8)

    def is_staging(self, array: Array) -> bool:
        """Whether an array lies in such memory."""
        return True

    def upload(self, data: Array, there: Any) -> Any:
        """Copy bytes of staging memory to as many of the device; the event of their arrival."""
        there[...] = data
        return DONE

    def download(self, there: Any, data: Array) -> None:
        """The other way round; returns once they are there."""
        data[...] = there

    def run(self, after: list[Any], work: Callable[[], object]) -> Any:
        """Enqueue the products that `work` makes, behind these events; the event of their end."""
        work()
        return DONE

    def finish(self) -> None:
        """Return once all queues are empty."""


@lru_cache(maxsize=64)
def _streams_of(index: int) -> dict[str, Any]:
    """The streams of a device by the names of queues. The same ones for all products: torch keeps memory for the stream that it
    was allocated for."""
    torch = library.require_torch()
    return {queue: torch.cuda.Stream(torch.device("cuda", index)) for queue in ("up", "product", "down")}


class Cuda(Cpu):
    """A CUDA device of torch, with its index: a stream for each queue, staging in pinned memory."""

    least_workspace = 2**25
    inner_workspace = 0.0  # the inner dimension is cut
    line_workspace = 48
    slack = 2**25
    keeps = True

    def __init__(self, device: Any) -> None:
        self._torch = library.require_torch()
        self.device = device
        self.name = str(device)
        on_cuda.check_device(device)
        self._streams = _streams_of(device.index)
        # Work that the caller enqueued may still use memory that it has freed and that is allocated here.
        for stream in self._streams.values():
            stream.wait_stream(self._torch.cuda.current_stream(device))

    def check(self, request: MatmulRequest, is_integer: bool) -> None:
        there = self._torch.empty(0, device=self.device)
        shape = request.shape
        tile = shape._replace(m=min(shape.m, 2**20), n=min(shape.n, 2**20))
        a, b = (there.to(getattr(self._torch, library.name_of(x.dtype))) for x in (request.a, request.b))
        on_cuda.decide(replace(request, a=a, b=b, out=None, shape=tile))

    def default_limit(self) -> int:
        """A share of what the driver has, and of what torch holds without a use for it."""
        cuda = self._torch.cuda
        free, _ = cuda.mem_get_info(self.device)
        held = cuda.memory_reserved(self.device) - cuda.memory_allocated(self.device)
        return int(_SHARE * (free + held))

    def memory(self, nbytes: int) -> Any:
        # Written by threads without the caller's inference mode, which an inference tensor would refuse.
        with self._torch.inference_mode(False), self._torch.cuda.stream(self._streams["product"]):
            return self._torch.empty(nbytes, dtype=self._torch.uint8, device=self.device)

    def reserve(self, nbytes: int) -> None:
        # torch keeps what is let go of and cuts it. Products that grow would each leave it a piece too small for the next one.
        with suppress(self._torch.cuda.OutOfMemoryError):
            self.memory(nbytes)
        # torch may fill what it gives, and another product may have freed it that is still under way there.
        for queue in ("up", "down"):
            self._streams[queue].wait_stream(self._streams["product"])

    def view(self, memory: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
        nbytes = prod(shape) * dtype.itemsize
        return memory[:nbytes].view(getattr(self._torch, dtype.name)).view(shape)

    def staging(self, nbytes: int) -> Array:
        with self._torch.inference_mode(False):
            pinned = self._torch.empty(nbytes, dtype=self._torch.uint8, device="cpu", pin_memory=True)
        array: Array = pinned.numpy()
        return array

    def is_staging(self, array: Array) -> bool:
        # torch has no view of read-only arrays, nor of these strides.
        if not array.flags.writeable or any(x < 0 or x % array.itemsize for x in array.strides):
            return False
        return bool(self._torch.from_numpy(array).is_pinned())

    def upload(self, data: Array, there: Any) -> Any:
        with self._torch.cuda.stream(self._streams["up"]):
            there.copy_(self._torch.from_numpy(data), non_blocking=True)
        return self._mark("up")

    def download(self, there: Any, data: Array) -> None:
        with self._torch.cuda.stream(self._streams["down"]):
            self._torch.from_numpy(data).copy_(there, non_blocking=True)
        self._mark("down").synchronize()

    def run(self, after: list[Any], work: Callable[[], object]) -> Any:
        with self._torch.cuda.stream(self._streams["product"]):
            for event in after:
                self._streams["product"].wait_event(event)
            work()
        return self._mark("product")

    def _mark(self, queue: str) -> Any:
        # Who waits for it sleeps: the processor is for those that copy.
        event = self._torch.cuda.Event(blocking=True)
        event.record(self._streams[queue])
        return event

    def finish(self) -> None:
        for stream in self._streams.values():
            stream.synchronize()


def devices_of(given: Any) -> list[Cpu]:
    """Devices by their names, or torch's devices; one, or a sequence of them. TypeError or ValueError for an object that is
    no device, twice the same device, and an empty sequence. RuntimeError for a device that does not exist or has no
    kernels, or without torch."""
    names = list(given) if isinstance(given, (list, tuple)) else [given]
    if not names:
        raise ValueError(f"device: {given!r} names no device")
    devices = [_device(name) for name in names]
    known = [device.name for device in devices]
    twice = [name for name in known if known.count(name) > 1]
    if twice:
        raise ValueError(f"device: {twice[0]!r} is named twice")
    return devices


def _device(name: Any) -> Cpu:
    if str(name).startswith("cuda") and library.torch_module() is None:  # arrays may be NumPy's
        try:
            import_module("torch")
        except ImportError:
            raise RuntimeError(f"device: {name!r} needs torch, which is not installed") from None
    index = on_cuda.index_of(name)
    return Cpu() if index is None else Cuda(library.require_torch().device("cuda", index))
