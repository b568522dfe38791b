"""``ozfp4.linalg.solve`` and ``inv``."""

from __future__ import annotations

import warnings
from typing import Any, overload

import numpy as np

from .._report import Report
from .._request.dlpack import any_library
from .._request.types import Array, Arrays, No, Yes
from .._request.types import TensorT as T
from .._support.caller import stack_level
from .._support.fp_mode import in_default_mode
from ._evidence import condition_numbers, part_left, quick
from ._native import Host, Rows, eye, is_finite, pick, put
from ._operands import FailureError, Operands, check_flags, over_stack, take
from ._products import lifts, residual, scaled
from ._refine import Refined, SolveReport, refine, worst
from ._solvers import Solver, by_cholesky, by_inverse, by_lu, by_matrix

STRUCTURES = {"gen": by_lu, "pos": by_cholesky}
# So often an approximate inverse is made better: the first ones of a matrix far beyond the precision are hardly any.
_ROUNDS = 2


class _Stack:
    """The systems of a stack on their way: solvers, and which of them each system's solution comes from."""

    def __init__(self, a: Any, b: Any, first: Solver, report: bool, accuracy: str) -> None:
        self.a, self.b, self.report, self.accuracy = a, b, report, accuracy
        self.every: Rows = np.arange(len(a))
        self.solvers = [(first, self.every)]
        self.used = np.zeros(len(a), np.intp)

    def refined(self) -> Refined:
        """The refined solutions: by the first factors, or where those converge slowly, by better ones."""
        first, every = self.solvers[0][0], self.every
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
        first = self.solvers[0][0]
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
        self.used[rows[converged]] = len(self.solvers)
        self.solvers.append((solver, rows))

    def _unit(self, rows: Rows) -> Any:
        n = self.a.shape[1]
        return eye(n, n, pick(self.a, rows))

    def conditions(self) -> Host:
        """Estimates of condition numbers, by the solver that was used."""
        found = np.zeros(len(self.a))
        for k, (solver, rows) in enumerate(self.solvers):
            places = np.flatnonzero(self.used[rows] == k)
            if places.size and self.a.shape[1]:
                some = solver.of(places)
                a = pick(self.a, rows[places])
                found[rows[places]] = condition_numbers(a, some.solve, some.solve_adjoint)
        return found


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
    condition = float(stack.conditions().max()) if report else 0.0
    if found is None:
        return first.solve([b], stack.every), SolveReport(first.name, accuracy, condition, False)
    return found.x, SolveReport(
        max((stack.solvers[k][0].name for k in set(stack.used.tolist())), key=len),
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
    given = take(a, square=True, has_b=False, accuracy=accuracy, check_finite=check_finite)
    n = given.a.shape[-1]
    return _solutions(given._replace(b=eye(n, n, given.a)), "gen", refine, False)[0]
