"""Progress on stderr of work that takes longer than a second; nothing where stderr is no terminal."""

from __future__ import annotations

import sys
import threading
import time

PATIENCE = 1.0  # seconds before anything is shown
INTERVAL = 0.2


class Progress:
    """``with Progress("multiplying") as progress: work(progress.report)``.

    `report` takes the fraction done. A thread rewrites one line, so that the seconds go on between two reports.
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

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._thread:
            self._thread.join()

    def _draw(self) -> None:
        start = time.monotonic()
        width, wait = 0, PATIENCE
        while not self._done.wait(wait):
            wait = INTERVAL
            line = f"{self._title} {100 * self._fraction:3.0f} % {time.monotonic() - start:6.1f} s"
            width = max(width, len(line))
            print(f"\r{line}", end="", file=sys.stderr, flush=True)
        if width:
            print(f"\r{' ' * width}\r", end="", file=sys.stderr, flush=True)
