"""``ozfp4.linalg.solve`` and ``inv``, and the approximate inverses of square matrices that they refine with: functions from the
factors of a matrix, and from those of a product with the inverse."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, overload

import numpy as np

from .._report import Report
from .._request.dlpack import any_library
from .._request.types import Array, Arrays, No, Yes
from .._request.types import TensorT as T
from .._support.caller import stack_level
from .._support.fp_mode import in_default_mode
from . import _lu as lu
from ._native import Host, Rows, adjoint, eye, is_finite, join, numbers, pick, put, roundoff
from ._operands import FailureError, Operands, check_flags, over_stack, take
from ._products import lifts, multiply, residual, scaled
from ._refine import (
    Refined,
    Solve,
    SolveReport,
    condition_numbers,
    part_left,
    quick,
    random_numbers,
    refine,
    worst,
)  # fmt: skip
from ._triangles import lower_factor, substitute

# So often an approximate inverse is made better: the first ones of a matrix far beyond the precision are hardly any.
_ROUNDS = 2
# The noise of an inverse, in units of the roundoff.
_NOISE = 8


class Solver(NamedTuple):
    """For a stack: `solve` takes up to `terms` matrices X of some of its systems and gives about A^-1 times their sum,
    `solve_adjoint` about A^-H X of one. `part` is the share of an error that is left, infinite where unknown. `failures` name
    zero pivots that were filled, by the systems: there only a refined solution is one."""

    name: str
    solve: Solve
    solve_adjoint: Solve
    part: Host
    terms: int = 1
    failures: Mapping[int, str] = {}

    def of(self, kept: Rows) -> Solver:
        """That of some of the systems, which are counted anew."""
        return self._replace(
            solve=lambda x, rows: self.solve(x, kept[rows]),
            solve_adjoint=lambda x, rows: self.solve_adjoint(x, kept[rows]),
            part=self.part[kept],
            failures={},
        )


def by_lu(a: Any, accuracy: str) -> Solver:
    """From P A = L U; FailureError for a matrix that is plainly singular."""
    solver, singular = _by_lu(a, accuracy)
    if singular.size:
        first = int(singular[0])
        raise FailureError(first, solver.failures[first])
    return solver


def _by_lu(a: Any, accuracy: str) -> tuple[Solver, Rows]:
    """The same, and the matrices that are plainly singular."""
    factors = lu.factorise_in_range(a, accuracy)
    failures, singular = lu.fill_zeros(factors.packed)
    order = lu.order_of(factors.pivots, a.shape[1])

    def solve(terms: Sequence[Any], rows: Rows, way: str = "N") -> Any:
        x = scaled(terms[0], -factors.exponents[rows])
        return lu.solve_factored(pick(factors.packed, rows), pick(order, rows), x, accuracy, way)

    unknown = np.full(len(a), np.inf)
    solver = Solver("LU", solve, lambda x, rows: solve(x, rows, "C"), unknown, failures=failures)
    return solver, singular


def by_cholesky(a: Any, accuracy: str) -> Solver:
    """From A = L L^H; FailureError for a matrix that is not positive definite."""
    factor = lower_factor(a, accuracy)

    def solve(terms: Sequence[Any], rows: Rows) -> Any:
        left = pick(factor, rows)
        y = substitute(left, terms[0], accuracy, lower=True)
        return substitute(adjoint(left), y, accuracy, lower=False)

    return Solver("Cholesky", solve, solve, np.full(len(a), np.inf))


def by_matrix(name: str, inverse: Any, part: Host) -> Solver:
    """By products with the inverse itself, each entry rounded once."""
    return Solver(
        name,
        lambda x, rows: _times(pick(inverse, rows), x),
        lambda x, rows: _times(adjoint(pick(inverse, rows)), x),
        part,
        2,
    )


def by_inverse(a: Any, inverse: Any, name: str, accuracy: str) -> list[tuple[Solver, Rows]]:
    """From C = fl(R A), R about A^-1, an `inverse` by the factors `name`: A^-1 = C^-1 R (Rump). Solvers, each with its systems;
    none is for those where R overflows or C is plainly singular.

    C is rounded once, so its condition is about u times that of A. R has its last bits at random, without which it may be as
    singular as A, and C too.
    """
    noise = 1 + _NOISE * roundoff(a) * random_numbers(*a.shape[1:])
    matrix = inverse * numbers(noise, a)
    product = multiply(matrix, a, "correct")
    rows = np.flatnonzero(is_finite(product))
    if not rows.size:
        return []
    second, singular = _by_lu(pick(product, rows), accuracy)
    left = np.setdiff1d(np.arange(len(rows)), singular)
    if not left.size:
        return []
    second, rows = second.of(left), rows[left]
    matrix, product = pick(matrix, rows), pick(product, rows)
    part, _ = quick(product, second.solve, product[:, :, :0])
    second, found = second._replace(part=part), []
    if (sure := np.flatnonzero(part < np.inf)).size:
        found.append((_after(name, pick(matrix, sure), second.of(sure)), rows[sure]))
    if (unsure := np.flatnonzero(part == np.inf)).size:
        product = pick(product, unsure)
        again = second.solve([eye(a.shape[1], a.shape[1], product)], unsure)
        proven = by_matrix(second.name, again, part_left(product, again, roundoff(product)))
        found.append((_after(name, pick(matrix, unsure), proven), rows[unsure]))
    return found


def _after(name: str, matrix: Any, second: Solver) -> Solver:
    """By products with the matrix R, then the solver of C."""
    return Solver(
        f"{name}, then {second.name} of the inverse's product",
        lambda x, rows: second.solve([_times(pick(matrix, rows), x)], rows),
        lambda x, rows: _times(adjoint(pick(matrix, rows)), [second.solve_adjoint(x, rows)]),
        second.part,
        2,
    )


def _times(matrix: Any, x: Sequence[Any]) -> Any:
    """The matrix by the sum of some X, rounded once."""
    return multiply(join([matrix] * len(x), 2), join(x, 1), "correct")


STRUCTURES = {"gen": by_lu, "pos": by_cholesky}


class _Stack:
    """The systems of a stack on their way: for each the name of the factors that its solution comes from, and by these an
    estimate of its condition number where a report is asked for."""

    def __init__(self, a: Any, b: Any, first: Solver, report: bool, accuracy: str) -> None:
        self.a, self.b, self.first, self.report, self.accuracy = a, b, first, report, accuracy
        self.every: Rows = np.arange(len(a))
        self.names, self.conditions = np.full(len(a), "", object), np.zeros(len(a))
        self._use(first, self.every, np.ones(len(a), bool))

    def refined(self) -> Refined:
        """The refined solutions: by the first factors, or where those converge slowly, by better ones."""
        first, every = self.first, self.every
        part, x = quick(self.a, first.solve, self.b)
        found = self._refine(x, every, first._replace(part=part))
        unproven = np.flatnonzero(part == np.inf)
        if unproven.size:
            inverse = first.solve([self._unit(unproven)], unproven)
            proven = by_matrix(first.name, inverse, part_left(pick(self.a, unproven), inverse))
            again = self._refine(pick(x, unproven), unproven, proven)
            found.take(unproven, again, np.arange(len(unproven)))
            self._use(proven, unproven, found.converged[unproven])
        open_ = np.flatnonzero(~found.converged)
        if open_.size:
            self._improve(found, open_)
        return found

    def _improve(self, found: Refined, open_: Rows) -> None:
        """Refine those that are open by better factors, and those that stay so not at all."""
        first = self.first
        reasons = found.reasons.copy()
        groups = [(open_, first.solve([self._unit(open_)], open_))]
        for _ in range(_ROUNDS):
            left = []
            for rows, inverse in groups:
                for better, of in by_inverse(pick(self.a, rows), inverse, first.name, self.accuracy):
                    at = rows[of]
                    again = self._refine(better.solve([pick(self.b, at)], np.arange(len(at))), at, better)
                    self._use(better, at, again.converged)
                    done, slow = np.flatnonzero(again.converged), np.flatnonzero(~again.converged)
                    if done.size:
                        found.take(at[done], again, done)
                    for i in slow.tolist():
                        found.reasons[at[i]] = f"{reasons[at[i]]}; with better factors, {again.reasons[i]}"
                    if slow.size:
                        left.append((at[slow], better.solve([self._unit(at[slow])], slow)))
            groups = left
        open_ = np.flatnonzero(~found.converged)
        if open_.size:
            put(found.x, open_, first.solve([pick(self.b, open_)], open_))

    def _refine(self, x: Any, rows: Rows, solver: Solver) -> Refined:
        """By a solver for some of the systems."""
        a, b = pick(self.a, rows), pick(self.b, rows)

        def residual_of(parts: list[Any], left: Rows) -> tuple[list[Any], Report | None]:
            matrices, right = pick(a, left), pick(b, left)
            r, product = residual([right], matrices, parts, self.report)
            terms = [r]
            while len(terms) < solver.terms:  # what the rounding of those before has left
                terms.append(residual([right, *(-r for r in terms)], matrices, parts)[0])
            return terms, product

        return refine(x, residual_of, solver.solve, solver.part)

    def _use(self, solver: Solver, rows: Rows, converged: Host) -> None:
        """The solver's solutions are those of the systems that converged by it."""
        places = np.flatnonzero(converged)
        self.names[rows[places]] = solver.name
        if self.report and places.size and self.a.shape[1]:
            some, a = solver.of(places), pick(self.a, rows[places])
            self.conditions[rows[places]] = condition_numbers(a, some.solve, some.solve_adjoint)

    def _unit(self, rows: Rows) -> Any:
        n = self.a.shape[1]
        return eye(n, n, pick(self.a, rows))


def _solution(
    a: Any, b: Any, structure: str, refined: bool, report: bool, accuracy: str
) -> tuple[Any, SolveReport]:
    """The solutions of a stack that is not empty."""
    if (e := lifts(a)).any():
        e = np.where(is_finite(scaled(b, e)), e, 0)  # else X overflows as well
        a, b = scaled(a, e), scaled(b, e)
    first = STRUCTURES[structure](a, accuracy)
    stack = _Stack(a, b, first, report, accuracy)
    found = stack.refined() if refined else None
    for i, words in first.failures.items():
        if found is None or not found.converged[i]:
            raise FailureError(i, words)
    condition = float(stack.conditions.max())
    if found is None:
        return first.solve([b], stack.every), SolveReport(first.name, accuracy, condition, False)
    return found.x, SolveReport(
        max(stack.names.tolist(), key=len),
        accuracy,
        condition,
        True,
        int(found.iterations.max()),
        float(found.correction.max()),
        float(found.contraction.max()),
        bool(found.converged.all()),
        str(found.reasons[found.converged.argmin()]),  # of the first that did not converge, or of the first
        found.product,
    )


def _solutions(given: Operands, structure: str, refined: bool, report: bool) -> tuple[Any, SolveReport]:
    """The solutions of all systems; a warning where refinement did not converge and no report says so."""
    reports: list[SolveReport] = []

    def steps(a: Any, b: Any) -> tuple[Any]:
        x, about = _solution(a, b, structure, refined, report, given.accuracy)
        reports.append(about)
        return (x,)

    (x,) = over_stack(given, steps, given.a, given.b)
    about = worst(reports)
    if refined and not about.converged and not report:
        warn_of(about.reason)
    return x, about


def warn_of(reason: str) -> None:
    """LinAlgWarning that a solution is not refined, at the place that called this package."""
    from scipy.linalg import LinAlgWarning

    warnings.warn(
        f"refinement did not converge ({reason}): the solution is that of the factors alone, the matrix singular or nearly so",
        LinAlgWarning,
        stacklevel=stack_level(),
    )


# fmt: off
@overload
def solve(
    a: T, b: T, *, refine: bool = ..., report: No = ...,
    assume_a: str = ..., accuracy: str | None = ..., check_finite: bool = ...
) -> T: ...
@overload
def solve(
    a: T, b: T, *, refine: bool = ..., report: Yes,
    assume_a: str = ..., accuracy: str | None = ..., check_finite: bool = ...
) -> tuple[T, SolveReport]: ...
@overload
def solve(
    a: Arrays, b: Arrays, *, refine: bool = ..., report: No = ...,
    assume_a: str = ..., accuracy: str | None = ..., check_finite: bool = ...
) -> Array: ...
@overload
def solve(
    a: Arrays, b: Arrays, *, refine: bool = ..., report: Yes,
    assume_a: str = ..., accuracy: str | None = ..., check_finite: bool = ...
) -> tuple[Array, SolveReport]: ...
# fmt: on
@any_library
@in_default_mode
def solve(
    a: Any,
    b: Any,
    *,
    refine: bool = False,
    report: bool = False,
    assume_a: str = "gen",
    accuracy: str | None = None,
    check_finite: bool = True,
) -> Any:
    """X with A X = B for a square matrix A.

    With `refine`, an entry of X is off by one rounding and u / 32 of the largest entry of its column, 2^-58 in float64; so a
    zero of the real solution may come out as a number that small. X is corrected, as a pair of numbers an entry, by residuals
    B - A X that are rounded once. Where the condition number is near 2^50 or beyond, the factors of fl(R A), with R about A^-1,
    take over; up to about 2^80 that converges as a rule. A singular matrix is never taken for another.

    Parameters
    ----------
    a : array_like or torch.Tensor
        (..., n, n), float64, float32, complex128 or complex64; integers and bool become float64.
    b : array_like or torch.Tensor
        (n,), or (..., n, k) with broadcasting stacks.
    refine : bool
        Correct the solution until little but its rounding is left. LinAlgWarning (SciPy's) where that does not succeed: X is then
        that of the factors alone.
    report : bool
        Return ``(x, SolveReport)``; it estimates the condition number, and there is no warning.
    assume_a : {"gen", "pos"}
        Any matrix, by LU with partial pivoting; or a symmetric (Hermitian) positive definite one, by Cholesky, of which both
        triangles must be there.
    accuracy : {"standard", "correct", "scaled"}, optional
        Of the products in the factorisation, as in :func:`ozfp4.matmul`; residuals are "correct".
    check_finite : bool
        Refuse NaN and infinity; else they take their way through the arithmetic.

    Returns
    -------
    x, or (x, SolveReport)
        x of the shape of b, or of the stack, and of the dtype that holds both.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.linalg import hilbert
    >>> x, report = solve(hilbert(12), np.ones(12), refine=True, report=True)
    >>> report.converged, report.condition > 1e16
    (True, True)

    Raises
    ------
    LinAlgError
        A pivot that is zero, with its index, unless refinement succeeds with a small one in its place; a matrix that is not
        positive definite. NumPy's, or torch's for tensors.
    TypeError
        Unsupported dtypes, NumPy mixed with torch, masked arrays.
    ValueError
        Shapes that do not fit, NaN or infinity where `check_finite`, unknown names.
    RuntimeError
        Tensors that require grad, on different devices, or on one without a kernel in this build.
    """
    check_flags(refine=refine, report=report)
    if not isinstance(assume_a, str) or assume_a not in STRUCTURES:
        raise ValueError(f"assume_a: {assume_a!r} is unknown; allowed are {', '.join(map(repr, STRUCTURES))}")
    given = take(a, b, square=True, accuracy=accuracy, check_finite=check_finite)
    x, about = _solutions(given, assume_a, refine, report)
    return (given.like_b(x), about) if report else given.like_b(x)


# fmt: off
@overload
def inv(a: T, *, refine: bool = ..., accuracy: str | None = ..., check_finite: bool = ...) -> T: ...
@overload
def inv(a: Arrays, *, refine: bool = ..., accuracy: str | None = ..., check_finite: bool = ...) -> Array: ...
# fmt: on
@any_library
@in_default_mode
def inv(a: Any, *, refine: bool = False, accuracy: str | None = None, check_finite: bool = True) -> Any:
    """The inverse of a square matrix, by LU with partial pivoting.

    Parameters
    ----------
    a : array_like or torch.Tensor
        (..., n, n), float64, float32, complex128 or complex64; integers and bool become float64.
    refine : bool
        As in :func:`ozfp4.linalg.solve`, column by column.
    accuracy, check_finite
        As in :func:`ozfp4.linalg.solve`.

    Returns
    -------
    x : array or tensor
        Of the shape of a.

    Examples
    --------
    >>> import numpy as np
    >>> inv(np.array([[2.0, 1.0], [1.0, 1.0]]), refine=True)
    array([[ 1., -1.],
           [-1.,  2.]])

    Raises
    ------
    LinAlgError, TypeError, ValueError, RuntimeError
        As :func:`ozfp4.linalg.solve`.
    """
    check_flags(refine=refine)
    given = take(a, square=True, accuracy=accuracy, check_finite=check_finite)
    n = given.a.shape[-1]
    return _solutions(given._replace(b=eye(n, n, given.a)), "gen", refine, False)[0]
