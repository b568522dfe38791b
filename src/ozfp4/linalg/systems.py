"""``ozfp4.linalg.solve`` and ``inv``."""

from __future__ import annotations

import warnings
from typing import Any, Literal, overload

import numpy.typing as npt

from ..report import Report
from ..request.dlpack import any_library
from ..request.types import TensorT
from ..support.caller import stack_level
from ..support.fp_mode import in_default_mode
from .condition import condition_number
from .native import Native
from .operands import FailureError, Operands, check_flags, over_stack, take
from .refine import Refined, refine
from .report import SolveReport, worst
from .scale import lift
from .solvers import Solver, by_cholesky, by_inverse, by_lu, trusted
from .update import residual

STRUCTURES = {"gen": by_lu, "pos": by_cholesky}
# So often an approximate inverse is made better: the first ones of a matrix far beyond the precision are hardly any.
_ROUNDS = 2


def _improved(
    native: Native, a: Any, b: Any, first: Solver, report: bool, accuracy: str
) -> tuple[Refined, Solver]:
    """The refined solution and what it comes from: the first factors, or where those converge slowly, better ones."""

    def refined_by(solver: Solver, x: Any) -> Refined:
        def residual_of(parts: list[Any]) -> tuple[list[Any], Report | None]:
            r, product = residual(native, [b], [a] * len(parts), parts, report)
            terms = [r]
            while len(terms) < solver.terms:  # what the rounding of those before has left
                minus = [-r for r in terms]
                terms.append(residual(native, [b, *minus], [a] * len(parts), parts, False)[0])
            return terms, product

        return refine(native, x, residual_of, solver.solve, solver.part)

    solver, x, inverse = trusted(native, a, b, first)
    refined = refined_by(solver, x)
    if refined.converged:
        return refined, solver
    matrix, reason = None if inverse is None else inverse.matrix, refined.reason
    for _ in range(_ROUNDS):
        better = by_inverse(native, a, first, accuracy, matrix)
        if better is None:
            break
        again = refined_by(better, better.solve(b))
        if again.converged:
            return again, better
        refined = refined._replace(reason=f"{reason}; with better factors, {again.reason}")
        matrix = better.solve(native.eye(a.shape[0], a.shape[0], a))
    return refined._replace(x=first.solve(b)), first


def _solution(
    native: Native, a: Any, b: Any, structure: str, refined: bool, report: bool, accuracy: str
) -> tuple[Any, SolveReport]:
    """Of one system."""
    if e := lift(native, a):
        lifted = b * 2.0**e
        if native.is_finite(lifted):  # else X overflows as well
            a, b = a * 2.0**e, lifted
    solver = STRUCTURES[structure](native, a, accuracy)
    found = None
    if refined:
        found, solver = _improved(native, a, b, solver, report, accuracy)
    if solver.failure and not (found and found.converged):
        raise FailureError(solver.failure)
    condition = 0.0
    if report and a.shape[0]:
        condition = condition_number(native, a, solver.solve, solver.solve_adjoint)
    if found is None:
        return solver.solve(b), SolveReport(solver.name, accuracy, condition, False)
    return found.x, SolveReport(
        solver.name,
        accuracy,
        condition,
        True,
        found.iterations,
        found.correction,
        found.contraction,
        found.converged,
        found.reason,
        found.product,
    )


def _solutions(given: Operands, structure: str, refined: bool, report: bool) -> tuple[Any, SolveReport]:
    """Of a stack; a warning where refinement did not converge and no report says so."""
    reports: list[SolveReport] = []

    def one(a: Any, b: Any) -> tuple[Any]:
        x, about = _solution(given.native, a, b, structure, refined, report, given.accuracy)
        reports.append(about)
        return (x,)

    (x,) = over_stack(given.native, given.lead, one, given.a, given.b)
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


@overload
def solve(
    a: TensorT,
    b: TensorT,
    *,
    refine: bool = ...,
    report: Literal[False] = ...,
    assume_a: str = ...,
    accuracy: str | None = ...,
    check_finite: bool = ...,
) -> TensorT: ...
@overload
def solve(
    a: TensorT,
    b: TensorT,
    *,
    refine: bool = ...,
    report: Literal[True],
    assume_a: str = ...,
    accuracy: str | None = ...,
    check_finite: bool = ...,
) -> tuple[TensorT, SolveReport]: ...
@overload
def solve(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    refine: bool = ...,
    report: Literal[False] = ...,
    assume_a: str = ...,
    accuracy: str | None = ...,
    check_finite: bool = ...,
) -> npt.NDArray[Any]: ...
@overload
def solve(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    refine: bool = ...,
    report: Literal[True],
    assume_a: str = ...,
    accuracy: str | None = ...,
    check_finite: bool = ...,
) -> tuple[npt.NDArray[Any], SolveReport]: ...
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
        (..., n, n), float64, float32, complex128 or complex64.
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


@overload
def inv(
    a: TensorT, *, refine: bool = ..., accuracy: str | None = ..., check_finite: bool = ...
) -> TensorT: ...
@overload
def inv(
    a: npt.ArrayLike, *, refine: bool = ..., accuracy: str | None = ..., check_finite: bool = ...
) -> npt.NDArray[Any]: ...
@any_library
@in_default_mode
def inv(a: Any, *, refine: bool = False, accuracy: str | None = None, check_finite: bool = True) -> Any:
    """The inverse of a square matrix, by LU with partial pivoting.

    Parameters
    ----------
    a : array_like or torch.Tensor
        (..., n, n), float64, float32, complex128 or complex64.
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
    unit = given.native.broadcast(given.native.eye(n, n, given.a), tuple(given.a.shape))
    return _solutions(given._replace(b=unit), "gen", refine, False)[0]
