"""The capacities that the core gives lines at the steps of the rules are those of the reference (docs/inside/accuracy.md)."""

from __future__ import annotations

from typing import Any

import numpy as np

import ozfp4
from ozfp4.testing import line_capacity, line_facts
from support.dtypes import both_types


def line(k: int, nonzeros: int, depth: int, span: int, dtype: Any) -> np.ndarray:
    """A row of powers of two: the last one makes the span, the others what is left of the depth, if anything is."""
    x = np.zeros(k)
    if nonzeros > 1:
        rest = max(depth - (span - 1), 0)
        below = np.diff(np.arange(nonzeros - 1) * rest // max(nonzeros - 2, 1), prepend=0)
        x[:nonzeros] = np.ldexp(1.0, 7 - np.append(below, span - 1))
    elif nonzeros:
        x[0] = 128 + np.ldexp(128.0, 1 - span)
    return np.roll(x, 3).astype(dtype)[None]


# (k, nonzeros, depth): steps of the mean depth and of Lemma 3; of o = 2 z - n.
LINES = [
    *((k, k, depth) for k, depths in (
        (15, (0, 33, 34, 45)), (50, (0, 200, 249, 250)), (255, (0, 700, 957)), (511, (0, 959)),
        (512, (0, 1664, 1665, 1919, 1920, 2559, 2560)),
        (1024, (0, 3071, 3072, 3839, 3840, 5119, 5120)),
    ) for depth in depths),
    *((999, nonzeros, 1500) for nonzeros in (0, 1, 499, 500, 627, 628, 999)),
]  # fmt: skip
BEYOND = (-9, -1, 0, 1, 2, 4, 5, 10, 11, 12, 14, 15, 16, 17, 18, 19, 20, 22, 23, 24, 30)


@both_types
def test_the_core_has_the_capacities_of_the_reference(dtype: Any) -> None:
    precision = 53 if dtype == np.float64 else 24
    seen = set()
    for k, nonzeros, depth in LINES:
        for beyond in BEYOND:
            x = line(k, nonzeros, depth, precision + beyond, dtype)
            (facts,) = line_facts(x)
            for accuracy in ("standard", "correct"):
                capacity = line_capacity(accuracy, 0, facts, precision)
                about = ozfp4.matmul(x, x.T, accuracy=accuracy, report=True)[1]
                assert about.capacities == ((capacity, capacity) if nonzeros else (0, 0)), (facts, accuracy)
                if facts.span > capacity:
                    seen.add((accuracy, capacity - precision))
    assert seen == {("standard", 4)} | {("correct", x) for x in (15, 16, 19, 23)}
