"""What the pipeline asks of a device: memory, copies in both directions, products, and events between them.

A device works through three queues, "up", "product" and "down", each in order; what is asked of it is enqueued. The CPU is a
device whose queues are always empty: its copies are plain ones.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from .._dispatch import on_cpu, plain
from .._request.operands import MatmulRequest

Array = npt.NDArray[Any]


class Event(Protocol):
    """A place in a queue."""

    def wait(self) -> None:
        """Return once the queue has come there."""


class Device(Protocol):
    """See the module."""

    name: str
    least_workspace: int  # of products of short lines
    inner_workspace: float  # that each entry of a line adds to it
    line_workspace: int  # that each row and column adds to it
    slack: int  # bytes of a limit that rounded sizes of allocations may take
    keeps: bool  # whether operands can be prepared within a limit

    def check(self, request: MatmulRequest, is_integer: bool) -> None:
        """Raise what a product would, without its operands."""

    def default_limit(self) -> int:
        """Bytes that a product takes where nobody says how many."""

    def memory(self, nbytes: int) -> Any:
        """Bytes on the device."""

    def reserve(self, nbytes: int) -> None:
        """So much will products take on the device, one after the other and each in pieces of its own."""

    def settle(self) -> None:
        """Let copies wait for what the queue of products does to the memory that was taken. Once, before the first copy."""

    def staging(self, nbytes: int) -> Any:
        """Bytes on the host from and to which it copies while the host goes on."""

    def host(self, staging: Any) -> Array:
        """Such bytes as an array."""

    def is_staging(self, array: Array) -> bool:
        """Whether an array lies in such memory."""

    def direct(self, view: Array) -> Any:
        """The bytes of such an array as they were allocated. Range: its entries lie one behind the other."""

    def view(self, memory: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
        """The first bytes as an array, or a tensor, of the device."""

    def upload(self, staging: Any, memory: Any, first: int, nbytes: int) -> None:
        """Copy the first `nbytes` from the host to those of the device from `first` on."""

    def download(self, memory: Any, first: int, nbytes: int, staging: Any) -> None: ...

    def mark(self, queue: str) -> Event: ...

    def multiply(self, a: Any, b: Any, outs: list[Any], after: list[Event], options: dict[str, Any]) -> Event:
        """Enqueue a product, and what is beside it, into `outs`, behind these events; the event of its end."""

    def prepare(self, x: Any, side: str, after: list[Event], options: dict[str, Any]) -> Any:
        """An operand as it is encoded once for many products, which its `nbytes` counts."""

    def finish(self) -> None:
        """Return once all queues are empty."""


class Done:
    """The event of what has been done."""

    def wait(self) -> None:
        return


DONE = Done()


class Cpu:
    """The CPU as a device."""

    name = "cpu"
    least_workspace = 2**20
    inner_workspace = 0.5
    line_workspace = 0
    slack = 0
    keeps = False

    def check(self, request: MatmulRequest, is_integer: bool) -> None:
        if not is_integer:
            on_cpu.decide(request)

    def default_limit(self) -> int:
        return 2**30

    def memory(self, nbytes: int) -> Array:
        return np.empty(nbytes, np.uint8)

    def reserve(self, nbytes: int) -> None:
        return

    def settle(self) -> None:
        return

    def staging(self, nbytes: int) -> Array:
        return np.empty(nbytes, np.uint8)

    def host(self, staging: Array) -> Array:
        return staging

    def is_staging(self, array: Array) -> bool:
        return True

    def direct(self, view: Array) -> Array:
        return view.reshape(-1).view(np.uint8)

    def view(self, memory: Array, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
        nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        return memory[:nbytes].view(dtype).reshape(shape)

    def upload(self, staging: Array, memory: Array, first: int, nbytes: int) -> None:
        memory[first : first + nbytes] = staging[:nbytes]

    def download(self, memory: Array, first: int, nbytes: int, staging: Array) -> None:
        staging[:nbytes] = memory[first : first + nbytes]

    def mark(self, queue: str) -> Event:
        return DONE

    def multiply(self, a: Any, b: Any, outs: list[Any], after: list[Event], options: dict[str, Any]) -> Event:
        for event in after:
            event.wait()
        multiply_into(a, b, outs, options)
        return DONE

    def prepare(self, x: Any, side: str, after: list[Event], options: dict[str, Any]) -> Any:
        for event in after:
            event.wait()
        return plain.products["prepare"](x, side, **options)

    def finish(self) -> None:
        return


def multiply_into(a: Any, b: Any, outs: list[Any], options: dict[str, Any]) -> None:
    """The product into the first of `outs`, its bounds into the second if there is one."""
    bounds = (
        {"return_bound": True} if len(outs) > 1 else {}
    )  # what is as by default costs a repeated product least
    found = plain.products["matmul"](a, b, out=outs[0], **bounds, **options)
    if len(outs) > 1:
        outs[1][...] = found[1]
