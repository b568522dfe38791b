"""Iterative refinement: corrections from residuals that are rounded once, until they say that a solution is done; and the report
of what ``ozfp4.linalg.solve`` did."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._report import Report
from .._support.table import Table, Tabular
from ._evidence import Solve
from ._native import Host, Rows, column_sizes, copy, pick, put, roundoff
from ._products import add

# A step that leaves more than this part of the error is not worth taking: a better factorisation is.
_SLOWEST = 0.25


@dataclass
class Refined:
    """Solutions of a stack, rounded from pairs, and how they came about. Sizes are those of the column where they are worst,
    relative to the largest entry of the solution there: of the last correction, and of the largest part of an error that one
    left."""

    x: Any
    iterations: Host
    correction: Host
    contraction: Host
    converged: Host
    reasons: Host
    product: Report | None = None

    def take(self, rows: Rows, other: Refined, these: Rows) -> None:
        """Take the results of the systems `these` of the other for `rows`."""
        put(self.x, rows, pick(other.x, these))
        for name in ("iterations", "correction", "contraction", "converged", "reasons"):
            getattr(self, name)[rows] = getattr(other, name)[these]
        self.product = other.product or self.product


def refine(
    high: Any,
    residual_of: Callable[[list[Any], Rows], tuple[list[Any], Report | None]],
    solve: Solve,
    part: Host,
    answer: slice = slice(None),
) -> Refined:
    """The solutions of A X = B, from first ones, `high`.

    `residual_of` gives B less A times the sum of some X, rounded once, or in as many terms as `solve` takes, of the systems that
    are not done; `solve` is about A^-1 times their sum. The evidence is that a correction leaves `part` of an error. So a
    correction d leaves p d, p being the largest part that a correction was of the one before, or `part`. Done where that is below
    u / 64 of the largest entry of every column, so that the rounding of the pair is all that shows. The first correction is not
    trusted with it, as a solution may hide directions of larger errors. The rows `answer` of X are looked at.
    """
    count, columns = high.shape[0], high.shape[2]
    result = Refined(
        copy(high), np.zeros(count, np.intp), np.zeros(count), part.copy(), np.zeros(count, bool),
        np.array([f"the factors leave {each:.2g} of the error" for each in part], object),
    )  # fmt: skip
    goal = roundoff(high) / 64
    rows = np.flatnonzero(part <= _SLOWEST)
    high = pick(high, rows)
    low = 0 * high
    parts = [high]
    before = np.ones((len(rows), columns))
    most = np.repeat(part[rows, None], columns, 1)
    iteration = 0
    while rows.size:
        iteration += 1
        terms, result.product = residual_of(parts, rows)
        d = solve(terms, rows)
        high, low = add(high, low, d)
        now = _ratio(column_sizes(d[:, answer]), column_sizes(high[:, answer]))
        ratio = _ratio(now, before)
        most = np.maximum(most, ratio)
        open_ = ~((now * most if iteration > 1 else now) <= goal)
        done = ~open_.any(1)
        lost = ~np.isfinite(now).all(1)
        slow = np.where(open_, ratio, 0).max(1, initial=0.0)
        ended = done | lost | (slow > _SLOWEST)
        if ended.any():
            at = rows[ended]
            put(result.x, at, pick(high, np.flatnonzero(ended)))
            result.iterations[at] = iteration
            result.correction[at] = now[ended].max(1, initial=0.0)
            result.contraction[at] = most[ended].max(1, initial=0.0)
            result.converged[at] = done[ended]
            for i in np.flatnonzero(ended).tolist():
                result.reasons[rows[i]] = _reason(bool(done[i]), bool(lost[i]), float(slow[i]))
            left = np.flatnonzero(~ended)
            rows, high, low = rows[left], pick(high, left), pick(low, left)
            now, most = now[left], most[left]
        parts, before = [high, low], now
    return result


def _reason(done: bool, lost: bool, slow: float) -> str:
    """Why refinement ended."""
    if done:
        return "what the corrections leave is below u / 64"
    return "the corrections are not finite" if lost else f"a correction leaves {slow:.2g} of the error"


def _ratio(x: Any, y: Any) -> Any:
    """x / y, and 0 for 0 / 0."""
    return np.where(x == 0, 0.0, x / y)


@dataclass(frozen=True, repr=False)
class SolveReport(Tabular):
    """How a system was solved; of a stack, the largest of every number, and the first reason for not converging.

    Attributes
    ----------
    factorisation : str
        The factors that gave the solution: "LU", "Cholesky", and with "of the inverse's product" those of fl(R A) with R an
        approximate inverse by the first ones, where those alone would have converged slowly or not at all.
    accuracy : str
        That of the products in the factorisation; residuals are "correct".
    condition : float
        An estimate of ||A|| ||A^-1|| in the 1-norm, rarely below a third of it.
    refined : bool
        Whether refinement was asked for; if not, the next three are 0, and `converged` is False.
    iterations : int
        Residuals that were computed with these factors; 0 where nothing shows that they invert the matrix.
    correction, contraction : float
        The last correction relative to the solution (the largest entries of the column where that is worst), and the largest
        part of an error that one leaves: what it was of the one before, or the factors' own part where that is larger.
    converged : bool
        The matrix is not singular, and what the corrections leave is below u / 64 of the largest entry of each column.
    reason : str
        Why it ended so.
    product : Report or None
        That of the last residual; None without refinement.
    """

    factorisation: str
    accuracy: str
    condition: float
    refined: bool
    iterations: int = 0
    correction: float = 0.0
    contraction: float = 0.0
    converged: bool = False
    reason: str = "no refinement was asked for"
    product: Report | None = None

    def _tables(self) -> Iterator[Table]:
        rows = [
            ("factorisation", f"{self.factorisation}, products {self.accuracy}"),
            ("condition", f"about {self.condition:.3g}"),
        ]
        if self.refined:
            rows += [
                ("residuals", f"{self.iterations}, rounded once"),
                ("last correction", f"{self.correction:.3g} of the solution"),
                ("contraction", f"{self.contraction:.3g}"),
            ]
        yield Table([*rows, ("converged", f"{'yes' if self.converged else 'no'}: {self.reason}")])


def worst(reports: Sequence[SolveReport]) -> SolveReport:
    """One report of a stack that is not empty."""
    first = next((report for report in reports if not report.converged), reports[0])
    longest = max((report.factorisation for report in reports), key=len)
    return SolveReport(
        longest,
        first.accuracy,
        max(report.condition for report in reports),
        first.refined,
        max(report.iterations for report in reports),
        max(report.correction for report in reports),
        max(report.contraction for report in reports),
        all(report.converged for report in reports),
        first.reason,
        first.product,
    )
