"""A progress bar on stderr for work that takes longer than a second; nothing where stderr is no terminal."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Any

PATIENCE = 1.0  # seconds before anything is shown
INTERVAL = 0.2


class Progress:
    """``with Progress("multiplying") as progress: work(progress.report)``.

    `report` takes the fraction done. The bar is drawn by a thread, so that the seconds go on between two
    reports.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._fraction = 0.0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._draw, daemon=True) if sys.stderr.isatty() else None

    def report(self, fraction: float) -> None:
        self._fraction = fraction

    def __enter__(self) -> Progress:
        if self._thread:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        if self._thread:
            self._thread.join()

    def _draw(self) -> None:
        start = time.monotonic()
        if self._done.wait(PATIENCE):
            return
        bar = _RichBar(self._title) if _have_rich() else _PlainBar(self._title)
        try:
            bar.draw(self._fraction, time.monotonic() - start)
            while not self._done.wait(INTERVAL):
                bar.draw(self._fraction, time.monotonic() - start)
        finally:
            bar.clear()


def _have_rich() -> bool:
    try:
        import rich.progress  # noqa: F401 - what _RichBar needs
    except ImportError:
        return False
    return True


class _PlainBar:
    """One line, rewritten in place."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._width = 0

    def draw(self, fraction: float, seconds: float) -> None:
        line = f"{self._title} {100 * fraction:3.0f} % {seconds:6.1f} s"
        self._width = max(self._width, len(line))
        print(f"\r{line}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        print(f"\r{' ' * self._width}\r", end="", file=sys.stderr, flush=True)


class _RichBar:
    """The same with rich."""

    def __init__(self, title: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[taken]}"),
        )
        self._bar: Any = Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False)
        self._task = self._bar.add_task(title, total=1.0, taken="")
        self._bar.start()

    def draw(self, fraction: float, seconds: float) -> None:
        self._bar.update(self._task, completed=fraction, taken=f"{seconds:.1f} s", refresh=True)

    def clear(self) -> None:
        self._bar.stop()
