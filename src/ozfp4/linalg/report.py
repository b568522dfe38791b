"""What ``ozfp4.linalg.solve`` did: returned beside the solution by ``report=True``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..report import Report
from ..support.table import Table, Tabular


@dataclass(frozen=True, repr=False)
class SolveReport(Tabular):
    """How a system was solved; of a stack, the largest of every number, and the first reason for not converging.

    Attributes
    ----------
    factorisation : str
        What the solution comes from: "LU", "Cholesky", and with "of the inverse's product" the factors of fl(R A) with R an
        approximate inverse by the first ones, where those alone would have converged slowly or not at all.
    accuracy : str
        Of the products in the factorisation; residuals are "correct".
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
        Of the last residual; None without refinement.
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
