"""A device that does everything late: what is asked of it runs in threads, one a queue, after random delays.

What reads memory before it is written, or writes to it before it is read, makes another result here. Its memory is counted.
"""

from __future__ import annotations

import queue
import random
import threading
import time
from typing import Any

import numpy as np

from ozfp4._dispatch import plain
from ozfp4._streaming.devices import multiply_into


class LateEvent:
    def __init__(self) -> None:
        self._reached = threading.Event()

    def wait(self) -> None:
        assert self._reached.wait(60), "an event that never comes"

    def reach(self) -> None:
        self._reached.set()


class Later:
    """What `prepare` returns before it has run."""

    nbytes = 0
    made: Any = None


class LateDevice:
    """As :class:`ozfp4._streaming.devices.Device`; `delay` is the longest in seconds, `keeps` whether operands are prepared."""

    least_workspace = 2**20
    inner_workspace = 0.5
    line_workspace = 0
    slack = 0

    def __init__(self, name: str = "late", delay: float = 0.0003, keeps: bool = True, seed: int = 1) -> None:
        self.name, self.keeps, self.delay = name, keeps, delay
        self.allocated = self.reserved = 0
        self.workspaces: list[int] = []
        self.products = 0
        self.failure: BaseException | None = None
        self._random = random.Random(seed)
        self._queues = {kind: queue.SimpleQueue() for kind in ("up", "product", "down")}
        for each in self._queues.values():
            threading.Thread(target=self._work, args=(each,), daemon=True).start()

    def _work(self, jobs: Any) -> None:
        while (job := jobs.get()) is not None:
            time.sleep(self._random.random() * self.delay)
            try:
                job()
            except BaseException as error:
                self.failure = self.failure or error

    def close(self) -> None:
        for each in self._queues.values():
            each.put(None)

    def check(self, request: Any, is_integer: bool) -> None:
        return

    def default_limit(self) -> int:
        return 2**30

    def memory(self, nbytes: int) -> Any:
        self.allocated += nbytes
        memory = np.empty(nbytes, np.uint8)
        self._queues["product"].put(
            lambda: memory.fill(0xA5)
        )  # as torch fills what is used deterministically
        return memory

    def reserve(self, nbytes: int) -> None:
        assert nbytes > 0
        self.reserved += nbytes

    def settle(self) -> None:
        there = self.mark("product")
        for kind in ("up", "down"):
            self._queues[kind].put(there.wait)

    def staging(self, nbytes: int) -> Any:
        return np.full(nbytes, 0x5A, np.uint8)

    def host(self, staging: Any) -> Any:
        return staging

    def is_staging(self, array: Any) -> bool:
        return False

    def direct(self, view: Any) -> Any:
        return view.reshape(-1).view(np.uint8)

    def view(self, memory: Any, dtype: Any, shape: tuple[int, ...]) -> Any:
        return memory[: int(np.prod(shape)) * dtype.itemsize].view(dtype).reshape(shape)

    def upload(self, staging: Any, memory: Any, first: int, nbytes: int) -> None:
        def copy() -> None:
            memory[first : first + nbytes] = staging[:nbytes]

        self._queues["up"].put(copy)

    def download(self, memory: Any, first: int, nbytes: int, staging: Any) -> None:
        def copy() -> None:
            staging[:nbytes] = memory[first : first + nbytes]

        self._queues["down"].put(copy)

    def mark(self, kind: str) -> LateEvent:
        event = LateEvent()
        self._queues[kind].put(event.reach)
        return event

    def multiply(self, a: Any, b: Any, outs: Any, after: Any, options: Any) -> LateEvent:
        self.workspaces.append(options["workspace_limit"])
        self.products += 1

        def product() -> None:
            for event in after:
                event.wait()
            operands = [x.made if isinstance(x, Later) else x for x in (a, b)]
            for out in outs:
                out.view(np.uint8 if out.dtype == bool else out.real.dtype)[...] = 77
            multiply_into(*operands, outs, options)

        self._queues["product"].put(product)
        return self.mark("product")

    def prepare(self, x: Any, side: str, after: Any, options: Any) -> Later:
        later = Later()

        def make() -> None:
            for event in after:
                event.wait()
            later.made = plain.products["prepare"](x, side, **options)

        self._queues["product"].put(make)
        return later

    def finish(self) -> None:
        for kind in self._queues:
            self.mark(kind).wait()
        if self.failure is not None:
            raise self.failure
