"""A CUDA device of torch as the pipeline's device: a stream for each queue, staging in pinned memory."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from .._dispatch import on_cuda, plain
from .._request import library
from .._request.operands import MatmulRequest
from .devices import Event, multiply_into

Array = npt.NDArray[Any]
_SHARE = 0.8  # of free memory, where no limit is given
_QUEUES = ("up", "product", "down")


@lru_cache(maxsize=64)
def _streams_of(index: int) -> dict[str, Any]:
    """The streams of a device by the names of queues. The same ones for all products: torch keeps memory for the stream that it
    was allocated for."""
    torch = library.require_torch()
    return {queue: torch.cuda.Stream(torch.device("cuda", index)) for queue in _QUEUES}


class CudaEvent:
    """An event of torch. Who waits for it sleeps: the processor is for those that copy."""

    def __init__(self, event: Any) -> None:
        self.event = event

    def wait(self) -> None:
        self.event.synchronize()


class Cuda:
    """A CUDA device.

    Parameters
    ----------
    device : torch.device
        With its index.
    """

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
        cuda = self._torch.cuda
        self._streams = _streams_of(device.index)
        # What the caller enqueued may have freed memory that is allocated here.
        for stream in self._streams.values():
            stream.wait_stream(cuda.current_stream(device))

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

    def settle(self) -> None:
        # torch may fill what it gives, and another product may have freed it that is still under way there.
        for queue in ("up", "down"):
            self._streams[queue].wait_stream(self._streams["product"])

    def staging(self, nbytes: int) -> Any:
        with self._torch.inference_mode(False):
            return self._torch.empty(nbytes, dtype=self._torch.uint8, device="cpu", pin_memory=True)

    def host(self, staging: Any) -> Array:
        array: Array = staging.numpy()
        return array

    def is_staging(self, array: Array) -> bool:
        # Of the rest torch has no view.
        if not array.flags.writeable or any(x < 0 or x % array.itemsize for x in array.strides):
            return False
        return bool(self._torch.from_numpy(array).is_pinned())

    def direct(self, view: Array) -> Any:
        return self._torch.from_numpy(view.reshape(-1).view(np.uint8))

    def view(self, memory: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
        nbytes = math.prod(shape) * dtype.itemsize
        return memory[:nbytes].view(getattr(self._torch, dtype.name)).view(shape)

    def upload(self, staging: Any, memory: Any, first: int, nbytes: int) -> None:
        with self._torch.cuda.stream(self._streams["up"]):
            memory[first : first + nbytes].copy_(staging[:nbytes], non_blocking=True)

    def download(self, memory: Any, first: int, nbytes: int, staging: Any) -> None:
        with self._torch.cuda.stream(self._streams["down"]):
            staging[:nbytes].copy_(memory[first : first + nbytes], non_blocking=True)

    def mark(self, queue: str) -> Event:
        event = self._torch.cuda.Event(blocking=True)
        event.record(self._streams[queue])
        return CudaEvent(event)

    def multiply(self, a: Any, b: Any, outs: list[Any], after: list[Any], options: dict[str, Any]) -> Event:
        with self._torch.cuda.stream(self._streams["product"]):
            self._follow(after)
            multiply_into(a, b, outs, options)
        return self.mark("product")

    def prepare(self, x: Any, side: str, after: list[Any], options: dict[str, Any]) -> Any:
        with self._torch.cuda.stream(self._streams["product"]):
            self._follow(after)
            return plain.products["prepare"](x, side, **options)

    def _follow(self, events: list[Any]) -> None:
        """Let the queue of products wait for these."""
        for event in events:
            self._streams["product"].wait_event(event.event)

    def finish(self) -> None:
        for stream in self._streams.values():
            stream.synchronize()
