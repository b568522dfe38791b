"""Iterative refinement: evidence that factors invert a matrix, corrections from residuals that are rounded once, and the report
of ``ozfp4.linalg.solve``.

Small corrections are no evidence: factors of a singular matrix make them, too. Let R be about A^-1, and R A rounded once in
every entry. If |1 - R A| < 1 in some norm, A is regular (of full rank if tall), and a correction by R leaves no more than that
part of an error. A few right sides show as much in nearly all cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._report import Report
from .._support.table import Table, Tabular
from . import _native as native
from ._native import Host, Rows, numbers, pick, put, to_host
from ._products import add, exponents, multiply

# About A^-1 times the sum of a few X, or A^-H X, of some matrices of a stack.
Solve = Callable[[Sequence[Any], Rows], Any]

# Right sides of `quick`, and the bound of what they show; of a singular matrix all of them are below it once in 10^12 cases.
_PROBES = 8
_SMALL = 2.0**-6

# The estimate of a condition number (Hager 1984, Higham 1988): steps, and the number of bits by which right sides are below the
# largest entry of A. So those of 2 and sums of columns are in range.
_MOST_STEPS = 5
_BELOW = 8

# A step that leaves more than this part of the error is not worth taking: a better factorisation is.
_SLOWEST = 0.25

# The fields of a :class:`SolveReport` for each system.
ABOUT = np.dtype(
    [
        ("factorisation", object), ("condition", np.float64), ("iterations", np.intp), ("correction", np.float64),
        ("contraction", np.float64), ("converged", np.bool_), ("reason", object),
    ]
)  # fmt: skip


def quick(a: Any, solve: Solve, b: Any) -> tuple[Host, Any]:
    """About the part of an error that `solve` leaves where that is plainly small, else infinity, and what it makes of B.

    Its factors are those of A + E, with E of a few u |A| unless they grew. If A is singular, random right sides give X of about
    1 / u, and where the factors grew, an X far from x for Y = A x.
    """
    m, n = a.shape[1:]
    columns, rows = _weights(a)
    columns, rows = columns[:, :, None], rows[:, :, None]
    known = numbers(random_numbers(n, _PROBES) / columns, a)
    right = [numbers(random_numbers(m, _PROBES) * rows, a), multiply(a, known, "correct"), b]
    found = solve([native.join(right, 2)], np.arange(len(a)))
    sizes = to_host(abs(found[:, :, :_PROBES])) * columns
    rest = to_host(abs(found[:, :, _PROBES : 2 * _PROBES] - known)) * columns
    left = np.maximum(
        np.sqrt(n) * rest.max((1, 2), initial=0.0), n * native.roundoff(a) * sizes.max((1, 2), initial=0.0)
    )
    return np.where(left <= _SMALL, left, np.inf), found[:, :, 2 * _PROBES :]  # infinity of NaN, too


def part_left(a: Any, inverse: Any, error_of_a: float = 0.0) -> Host:
    """The part of an error that R, the `inverse`, leaves for every matrix within `error_of_a` |A| of A, entry by entry; infinite
    where that is not known."""
    n = a.shape[2]
    product = multiply(inverse, a, "correct")
    weights = _weights(a)[0]
    own = numbers(weights, a).real
    rest = abs(native.eye(n, n, a) - product) * own[:, :, None] / own[:, None]
    part = to_host(rest.sum(2)).astype(np.float64)
    if error_of_a:
        inner = multiply(abs(a), 1 / own[:, :, None], "standard")
        sizes = multiply(abs(inverse), inner, "standard")
        part = part + error_of_a * weights * to_host(sizes)[:, :, 0]
    largest = part.max(1, initial=0.0)
    return np.where(
        native.is_finite(inverse) & native.is_finite(product) & (largest < np.inf), largest, np.inf
    )


def _weights(a: Any) -> tuple[Host, Host]:
    """Powers of two about the size of each column, and the sizes of the rows of A by them."""
    columns = native.column_sizes(a)
    columns = np.ldexp(1.0, np.frexp(columns)[1] - 1) * (columns != 0) + (columns == 0)
    return columns, native.column_sizes((a / numbers(columns, a)[:, None]).swapaxes(1, 2))


def random_numbers(rows: int, columns: int) -> Host:
    """The same at every call, of either sign and 1/2 to 1 in size: what was made by design is not orthogonal to them."""
    rng = np.random.default_rng(rows)
    return rng.choice([-1.0, 1.0], (rows, columns)) * rng.uniform(0.5, 1, (rows, columns))


def condition_numbers(a: Any, solve: Solve, solve_adjoint: Solve) -> Host:
    """Lower bounds of ||A|| ||A^-1|| in the 1-norm, rarely below a third of it; A is n x n, n >= 1."""
    count, n = a.shape[:2]
    # Both norms are of A by a power of two, so that neither is out of range where their product is not.
    scale = 2.0 ** (exponents(a) - _BELOW)
    columns = to_host(abs(a / numbers(scale, a)[:, None, None]).sum(1))

    def host(way: Solve, x: Host, rows: Rows) -> Host:
        right = numbers((x * scale[rows, None])[:, :, None], a)
        found = to_host(way([right], rows))[:, :, 0]
        return found.astype(np.result_type(native.dtype_of(a), np.float64))

    # Where all else hides the norm: alternating signs.
    open_ = np.arange(count)
    alternating = (-1.0) ** np.arange(n) * (1 + np.arange(n) / max(n - 1, 1))
    best: Host = 2 * _totals(host(solve, np.tile(alternating, (count, 1)), open_)) / (3 * n)
    x = np.full((count, n), 1 / n)
    for _ in range(_MOST_STEPS):
        y = host(solve, x, open_)
        best[open_] = np.maximum(best[open_], _totals(y))
        size = np.abs(y)
        z = host(solve_adjoint, np.where(size == 0, 1, y / np.where(size == 0, 1, size)), open_)
        gain = np.abs(z)
        goes_on = np.isfinite(best[open_]) & ~(gain.max(1) <= np.abs((z.conj() * x).sum(1)))
        open_ = open_[goes_on]
        if not open_.size:
            break
        x = np.zeros((len(open_), n))
        x[np.arange(len(open_)), gain.argmax(1)[goes_on]] = 1
    return np.asarray(columns.max(1) * best)


def _totals(y: Host) -> Host:
    """The sums of the magnitudes, infinite as well where infinities have become NaN on their way."""
    totals: Host = np.abs(y).sum(1)
    return np.where(np.isfinite(totals), totals, np.inf)


class Refined(NamedTuple):
    """Solutions of a stack, rounded from pairs, what `ABOUT` has of each, and the report of the last residual."""

    x: Any
    about: Host
    product: Report | None


def refine(
    high: Any,
    residual_of: Callable[[list[Any], Rows], tuple[list[Any], Report | None]],
    solve: Solve,
    part: Host,
    answer: slice = slice(None),
) -> Refined:
    """The solutions of A X = B, from first ones, `high`.

    `residual_of` gives B less A times the sum of some X, rounded once, or in as many terms as `solve` takes, of systems that are
    not done. A correction d leaves p d of an error, p being the largest part that one was of the one before, or `part`. That has
    to be below u / 64 of the largest entry of every column, in the rows `answer` of X. The first correction proves nothing, as a
    solution may hide directions of larger errors.
    """
    x, about, product = native.copy(high), np.zeros(len(high), ABOUT), None
    about["contraction"] = part
    about["reason"] = [f"the factors leave {each:.2g} of the error" for each in part]
    goal = native.roundoff(high) / 64
    rows = np.flatnonzero(part <= _SLOWEST)
    high = pick(high, rows)
    low = 0 * high
    parts = [high]
    before = np.ones((len(rows), high.shape[2]))
    most = np.repeat(part[rows, None], high.shape[2], 1)
    iteration = 0
    while rows.size:
        iteration += 1
        terms, product = residual_of(parts, rows)
        d = solve(terms, rows)
        high, low = add(high, low, d)
        now = _ratio(native.column_sizes(d[:, answer]), native.column_sizes(high[:, answer]))
        ratio = _ratio(now, before)
        most = np.maximum(most, ratio)
        open_ = ~((now * most if iteration > 1 else now) <= goal)
        done = ~open_.any(1)
        lost = ~np.isfinite(now).all(1)
        slow = np.where(open_, ratio, 0).max(1, initial=0.0)
        ended = done | lost | (slow > _SLOWEST)
        put(x, rows[ended], pick(high, np.flatnonzero(ended)))
        for i in np.flatnonzero(ended).tolist():
            reason = (
                "the corrections are not finite"
                if lost[i]
                else f"a correction leaves {slow[i]:.2g} of the error"
            )
            if done[i]:
                reason = "what the corrections leave is below u / 64"
            sizes = now[i].max(initial=0.0), most[i].max(initial=0.0)
            about[rows[i]] = ("", 0.0, iteration, *sizes, done[i], reason)
        left = np.flatnonzero(~ended)
        rows, high, low, now, most = rows[left], pick(high, left), pick(low, left), now[left], most[left]
        parts, before = [high, low], now
    return Refined(x, about, product)


def _ratio(x: Any, y: Any) -> Any:
    """x / y, and 0 for 0 / 0."""
    return np.where(x == 0, 0.0, x / y)


@dataclass(frozen=True, repr=False)
class SolveReport(Tabular):
    """How a system was solved.

    For a stack, each number is the largest, and `reason` the first reason for not converging.

    Attributes
    ----------
    factorisation : str
        The factors that gave the solution: "LU" or "Cholesky". With "of the inverse's product"
        they are those of fl(R A) instead, where R is an approximate inverse by the first ones.
        These are used if the first factors alone converge slowly or not at all.
    accuracy : str
        That of the products in the factorisation; residuals are "correct".
    condition : float
        An estimate of ||A|| ||A^-1|| in the 1-norm, rarely below a third of it.
    refined : bool
        Whether `refine` was passed; if not, the next three are 0, and `converged` is False.
    iterations : int
        Residuals that were computed with these factors; 0 without evidence that they invert the
        matrix.
    correction : float
        The last correction relative to the solution: the largest entries of the worst column.
    contraction : float
        The largest part of an error that a correction leaves: its ratio to the correction before,
        or the part that the factors leave if that is larger.
    converged : bool
        The matrix is not singular, and the remaining error is below u / 64 of the largest entry
        of each column.
    reason : str
        The reason for the end.
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


def report_of(about: Host, accuracy: str, refined: bool, product: Report | None) -> SolveReport:
    """One report of a stack that is not empty."""
    first = about[about["converged"].argmin()]  # that did not converge, or of all
    return SolveReport(
        factorisation=max(about["factorisation"].tolist(), key=len),
        accuracy=accuracy,
        refined=refined,
        iterations=int(about["iterations"].max()),
        converged=bool(about["converged"].all()),
        reason=first["reason"],
        product=product,
        **{name: float(about[name].max()) for name in ("condition", "correction", "contraction")},
    )
