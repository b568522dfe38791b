"""Iterative refinement: corrections from residuals that are rounded once, until they say that the solution is done."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from ..report import Report
from .native import Native
from .pairs import add

# A step that leaves more than this part of the error is not worth taking: a better factorisation is.
_SLOWEST = 0.25


class Refined(NamedTuple):
    """A solution, rounded from a pair, and how it came about. Sizes are those of the column where they are worst, relative to
    the largest entry of the solution there: of the last correction, and of the largest part of an error that one left."""

    x: Any
    iterations: int
    correction: float
    contraction: float
    converged: bool
    reason: str
    product: Report | None


def refine(
    native: Native,
    high: Any,
    residual_of: Callable[[list[Any]], tuple[list[Any], Report | None]],
    solve: Callable[..., Any],
    part: float,
    rows: slice = slice(None),
) -> Refined:
    """The solution of A X = B, from a first one, `high`.

    `residual_of` gives B less A times the sum of some X, rounded once, or in as many terms as `solve` takes; that is about A^-1
    times their sum. The evidence is that a correction leaves `part` of an error. So a correction d leaves p d, p being the
    largest part that a correction was of the one before, or `part`. Done where that is below u / 64 of the largest entry of
    every column, so that the rounding of the pair is all that shows. The first correction is not trusted with it, as a solution
    may hide directions of larger errors. `rows` of X are looked at.
    """
    if not part <= _SLOWEST:
        return Refined(high, 0, 0.0, part, False, f"the factors leave {part:.2g} of the error", None)
    low = 0 * high
    parts = [high]
    before = np.ones(high.shape[1])
    most = np.full(high.shape[1], part)
    goal = native.roundoff(high.dtype) / 64
    for iteration in count(1):
        terms, product = residual_of(parts)
        d = solve(*terms)
        high, low = add(high, low, d)
        parts = [high, low]
        now = _ratio(native.column_sizes(d[rows]), native.column_sizes(high[rows]))
        ratio = _ratio(now, before)
        most = np.maximum(most, ratio)
        left = now * most if iteration > 1 else now
        open_ = ~(left <= goal)
        if not open_.any():
            reason, done = "what the corrections leave is below u / 64", True
        elif not np.isfinite(now).all():
            reason, done = "the corrections are not finite", False
        elif (ratio[open_] > _SLOWEST).any():
            reason, done = f"a correction leaves {ratio[open_].max():.2g} of the error", False
        else:
            before = now
            continue
        worst = [float(sizes.max(initial=0.0)) for sizes in (now, most)]
        return Refined(high, iteration, worst[0], worst[1], done, reason, product)
    raise AssertionError("count ends")  # pragma: no cover


def _ratio(x: Any, y: Any) -> Any:
    """x / y, and 0 for 0 / 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(x == 0, 0.0, x / y)
