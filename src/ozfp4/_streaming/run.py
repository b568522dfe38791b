"""One product under way: what its threads wait for, and how they learn that it has failed."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class StoppedError(Exception):
    """Raised in a thread because another one has failed."""


class Run:
    """The threads of one product: they wait under one lock, and all end once one has failed."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._failure: BaseException | None = None

    def wait_for(self, ready: Callable[[], T | None]) -> T:
        """The value of `ready` once it is true, asked for under the lock whenever something changes; :class:`StoppedError` when
        the product has failed."""
        with self._changed:
            self._changed.wait_for(lambda: self._failure is not None or ready())
            self.check()
            return ready()  # type: ignore[return-value]

    def change(self, how: Callable[[], object]) -> None:
        """Change something that others may wait for."""
        with self._changed:
            how()
            self._changed.notify_all()

    def fail(self, error: BaseException) -> None:
        """Let all threads end; the first failure is the one that is told."""

        def keep() -> None:
            if self._failure is None:
                self._failure = error

        self.change(keep)

    def check(self) -> None:
        """:class:`StoppedError` when the product has failed."""
        if self._failure is not None:
            raise StoppedError

    @property
    def failure(self) -> BaseException | None:
        return self._failure

    def release(self) -> BaseException | None:
        """The failure, which is forgotten here. Range: no thread is left."""
        failure, self._failure = self._failure, None
        return failure

    def thread(self, work: Callable[[], object], name: str) -> threading.Thread:
        """A thread that is started; what it raises is a failure."""

        def guarded() -> None:
            self.guard(work)

        made = threading.Thread(target=guarded, name=f"ozfp4 {name}", daemon=True)
        made.start()
        return made

    def guard(self, work: Callable[[], object]) -> None:
        """Do it; what it raises is a failure."""
        try:
            work()
        except StoppedError:
            pass
        except BaseException as error:
            self.fail(error)


def _nothing() -> None:
    return


class Countdown:
    """Parts of something that are done by several threads; who does the last one does `then`, too."""

    def __init__(self, run: Run, parts: int, then: Callable[[], object]) -> None:
        self._run, self._left, self._then = run, parts, then
        self._lock = threading.Lock()
        self._is_done = False

    def part_is_done(self) -> None:
        with self._lock:
            self._left -= 1
            if self._left:
                return
        then, self._then = self._then, _nothing  # it holds what the parts were copied to
        then()

        def done() -> None:
            self._is_done = True

        self._run.change(done)

    def wait(self) -> None:
        """Return once all are done."""
        self._run.wait_for(lambda: self._is_done)


class Shared(Generic[T]):
    """What several threads take one by one."""

    def __init__(self, items: Iterator[T]) -> None:
        self._items, self._lock = items, threading.Lock()

    def take(self) -> T | None:
        """The next one; None behind the last."""
        with self._lock:
            return next(self._items, None)


class Passed(Generic[T]):
    """What one thread passes to another, at most `room` at a time, and None behind the last."""

    def __init__(self, run: Run, room: int) -> None:
        self._run, self._room = run, room
        self._items: deque[T | None] = deque()

    def put(self, item: T | None) -> None:
        self._run.wait_for(lambda: len(self._items) < self._room)
        self._run.change(lambda: self._items.append(item))

    def take(self) -> T | None:
        self._run.wait_for(lambda: bool(self._items))
        taken: list[T | None] = []
        self._run.change(lambda: taken.append(self._items.popleft()))
        return taken[0]
