"""Clocks for the CPU: methods measured in turns, so that what else the machine does hits all of them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping

# NumPy and SciPy each bring an OpenBLAS whose threads spin for some 25 ms after a product and would take the CPUs of the
# method measured next: so long they are given to fall asleep.
REST = 0.04


def rest() -> None:
    """Sleeps for `REST` seconds, before what is measured."""
    time.sleep(REST)


def medians(methods: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median seconds of each method, taken in turns after one warm-up.

    Parameters
    ----------
    methods : mapping of str to callable
    repeats : int
        Runs of each method that count.
    """
    seconds: dict[str, list[float]] = {name: [] for name in methods}
    for method in methods.values():
        method()
    for _ in range(repeats):
        for name, method in methods.items():
            rest()
            start = time.perf_counter()
            method()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(taken) for name, taken in seconds.items()}


def repeats_for(seconds: float, budget: float) -> int:
    """How many runs of so many seconds fit a budget of seconds: 1 to 15, odd."""
    return max(1, min(15, int(budget / max(seconds, 1e-9)))) // 2 * 2 + 1
