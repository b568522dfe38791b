"""Matrices as unevaluated sums of two, entry by entry: twice the precision of the dtype."""

from __future__ import annotations

from typing import Any


def add(high: Any, low: Any, d: Any) -> tuple[Any, Any]:
    """high + low + d as a pair whose high part is its rounded value.

    Valid for |low| <= u |high| and sums that do not overflow; the error is at most a few u^2 (|high| + |d|). d may be large.
    """
    total = high + d
    back = total - high
    rest = (high - (total - back)) + (d - back) + low  # of high + d without an error (Knuth)
    result = total + rest
    return result, rest - (result - total)
