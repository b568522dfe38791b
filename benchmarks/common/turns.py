"""Clocks for calls that take turns, so that what else the machine does, or its clock, hits all of them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping

from ozfp4._measure.clocks import milliseconds

Calls = Mapping[str, Callable[[], object]]

# NumPy and SciPy each bring an OpenBLAS. Its threads spin for some 25 ms after a product, and would take the CPUs of the method
# measured next: a pause lets them fall asleep.
REST = 0.04


def rest() -> None:
    """Sleeps for `REST` seconds, before what is measured."""
    time.sleep(REST)


def seconds_of(call: Callable[[], object], device: str = "cpu", batch: int = 1) -> float:
    """The time of a call in a batch of them: by the clock after a rest, or between two events of a GPU."""

    def calls() -> None:
        for _ in range(batch):
            call()

    if device != "cpu":
        return 1e-3 * milliseconds(calls) / batch
    rest()
    start = time.perf_counter()
    calls()
    return (time.perf_counter() - start) / batch


def series(calls: Calls, repeats: int, device: str = "cpu", batch: int = 1) -> dict[str, list[float]]:
    """Seconds of each method in `repeats` turns after a warm-up, `batch` calls in a row timed as one; another method begins each
    turn."""
    names = list(calls)
    for name in names:
        calls[name]()
    taken: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(repeats):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            taken[name].append(seconds_of(calls[name], device, batch))
    return taken


def medians(calls: Calls, repeats: int, device: str = "cpu", batch: int = 1) -> dict[str, float]:
    """Median seconds of each method; see :func:`series`."""
    return {name: statistics.median(each) for name, each in series(calls, repeats, device, batch).items()}


def repeats_for(seconds: float, budget: float) -> int:
    """How many runs of so many seconds fit a budget of seconds: 1 to 15, odd."""
    return max(1, min(15, int(budget / max(seconds, 1e-9)))) // 2 * 2 + 1
