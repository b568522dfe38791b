"""Tables on stdout, and progress on stderr."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence

from .._support.table import Table

PATIENCE = 1.0  # seconds before anything is shown
INTERVAL = 0.2


class Progress:
    """``with Progress("multiplying") as progress: work(progress.report)``, which takes the fraction done.

    Shown of work that takes longer than a second, where stderr is a terminal. A thread rewrites one line, so that the seconds
    go on between two reports.
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


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> None:
    """Print a table, of which so many leading columns are aligned left, the others right."""
    lines = Table(rows, columns, range(left, len(columns))).lines()
    rule = "-" * max(map(len, lines))
    print("\n".join(["", title, rule, lines[0], rule, *lines[1:], rule]))
