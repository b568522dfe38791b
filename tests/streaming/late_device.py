"""A device that does everything late: its work runs in threads, one a queue, after random delays.

Reads before a write, or writes before a read, give other results here. Its memory is counted.
"""

from __future__ import annotations

import queue
import random
import threading
import time
from typing import Any

import numpy as np

from ozfp4._streaming.devices import Cpu


class LateEvent:
    def __init__(self) -> None:
        self._reached = threading.Event()

    def synchronize(self) -> None:
        assert self._reached.wait(60), "an event that never comes"

    def reach(self) -> None:
        self._reached.set()


class LateDevice(Cpu):
    """`delay` is the longest in seconds, `keeps` whether operands are prepared."""

    def __init__(self, name: str = "late", delay: float = 0.0003, keeps: bool = True, seed: int = 1) -> None:
        self.name, self.keeps, self.delay = name, keeps, delay
        self.allocated = self.reserved = 0
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
        there = self._mark("product")
        for kind in ("up", "down"):
            self._queues[kind].put(there.synchronize)

    def staging(self, nbytes: int) -> Any:
        return np.full(nbytes, 0x5A, np.uint8)

    def is_staging(self, array: Any) -> bool:
        return False

    def upload(self, data: Any, there: Any) -> LateEvent:
        self._queues["up"].put(lambda: np.copyto(there, data))
        return self._mark("up")

    def download(self, there: Any, data: Any) -> None:
        self._queues["down"].put(lambda: np.copyto(data, there))
        self._mark("down").synchronize()

    def run(self, after: Any, work: Any) -> LateEvent:
        self.products += 1

        def product() -> None:
            for event in after:
                event.synchronize()
            work()

        self._queues["product"].put(product)
        return self._mark("product")

    def _mark(self, kind: str) -> LateEvent:
        event = LateEvent()
        self._queues[kind].put(event.reach)
        return event

    def finish(self) -> None:
        for kind in self._queues:
            self._mark(kind).synchronize()
        if self.failure is not None:
            raise self.failure
