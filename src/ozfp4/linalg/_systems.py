"""``ozfp4.linalg.solve`` and ``inv``, and the approximate inverses of square matrices that they refine with: functions from the
factors of a matrix, and from those of a product with the inverse."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from .._options import check_name
from .._report import Report
from .._request.types import Array, Arrays, No, Yes
from .._request.types import TensorT as T
from .._support.caller import stack_level
from . import _lu as lu
from . import _refine as refining
from ._native import Host, Rows, adjoint, copy, eye, is_finite, join, numbers, pick, put, roundoff
from ._operands import Common, FailureError, Operands, check_flags, over_stack, routine, take
from ._products import lifts, multiply, residual, scaled
from ._refine import ABOUT, Solve, SolveReport, part_left, quick, refine, report_of
from ._triangles import lower_factor, substitute

if TYPE_CHECKING:
    from typing_extensions import Unpack

# So often an approximate inverse is made better: the first ones of a matrix far beyond the precision are hardly any.
_ROUNDS = 2
# The noise of an inverse, in units of the roundoff.
_NOISE = 8


class Solver(NamedTuple):
    """For a stack: `solve` takes up to `terms` matrices X of some of its systems and gives about A^-1 times their sum,
    `solve_adjoint` about A^-H X of one. `failures` name zero pivots that were filled, by the systems: there only a refined
    solution is one."""

    name: str
    solve: Solve
    solve_adjoint: Solve
    terms: int = 1
    failures: Mapping[int, str] = {}

    def of(self, kept: Rows) -> Solver:
        """That of some of the systems, which are counted anew."""
        return self._replace(
            solve=lambda x, rows: self.solve(x, kept[rows]),
            solve_adjoint=lambda x, rows: self.solve_adjoint(x, kept[rows]),
        )


def by_lu(a: Any, accuracy: str) -> Solver:
    """From P A = L U."""
    packed, pivots, exponents = lu.factorise_in_range(a, accuracy)
    failures = lu.fill_zeros(packed)
    order = lu.order_of(pivots, a.shape[1])

    def solve(terms: Sequence[Any], rows: Rows, way: str = "N") -> Any:
        x = scaled(terms[0], -exponents[rows])
        return lu.solve_factored(pick(packed, rows), pick(order, rows), x, accuracy, way)

    return Solver("LU", solve, lambda x, rows: solve(x, rows, "C"), failures=failures)


def by_cholesky(a: Any, accuracy: str) -> Solver:
    """From A = L L^H; FailureError for a matrix that is not positive definite."""
    factor = lower_factor(a, accuracy)

    def solve(terms: Sequence[Any], rows: Rows) -> Any:
        left = pick(factor, rows)
        y = substitute(left, terms[0], accuracy, lower=True)
        return substitute(adjoint(left), y, accuracy, lower=False)

    return Solver("Cholesky", solve, solve)


STRUCTURES = {"gen": by_lu, "pos": by_cholesky}

# A solver of some systems of a stack, which ones, and the part of an error that it leaves, infinite where unknown.
Proven = tuple[Solver, Rows, Host]


def proven(a: Any, solver: Solver, b: Any, error_of_a: float = 0.0) -> tuple[list[Proven], Any]:
    """The solver, or where a few right sides prove nothing, products with its inverse; and what it makes of B."""
    part, x = quick(a, solver.solve, b)
    sure, unsure = np.flatnonzero(part < np.inf), np.flatnonzero(part == np.inf)
    found = [(solver.of(sure), sure, part[sure])] if sure.size else []
    if unsure.size:
        matrices = pick(a, unsure)
        inverse = solver.solve([_unit(matrices)], unsure)
        found.append((_product(solver.name, inverse), unsure, part_left(matrices, inverse, error_of_a)))
    return found, x


def by_inverse(a: Any, inverse: Any, name: str, accuracy: str) -> list[Proven]:
    """From C = fl(R A), R about A^-1, an `inverse` by the factors `name`: A^-1 = C^-1 R (Rump).

    C is rounded once, so its condition is about u times that of A. R has its last bits at random, without which it may be as
    singular as A, and C too. There is none for systems where C is not finite.
    """
    matrix = inverse * numbers(1 + _NOISE * roundoff(a) * refining.random_numbers(*a.shape[1:]), a)
    product = multiply(matrix, a, "correct")
    finite = np.flatnonzero(is_finite(product))
    if not finite.size:
        return []
    matrix, product = pick(matrix, finite), pick(product, finite)
    found, _ = proven(product, by_lu(product, accuracy), product[:, :, :0], roundoff(product))
    name += ", then LU of the inverse's product"
    return [(_product(name, pick(matrix, rows), second), finite[rows], part) for second, rows, part in found]


def _product(name: str, matrix: Any, second: Solver | None = None) -> Solver:
    """By products with the matrix, rounded once, and then by a second solver."""

    def solve(terms: Sequence[Any], rows: Rows) -> Any:
        x = _times(pick(matrix, rows), terms)
        return second.solve([x], rows) if second else x

    def solve_adjoint(terms: Sequence[Any], rows: Rows) -> Any:
        x = [second.solve_adjoint(terms, rows)] if second else terms
        return _times(adjoint(pick(matrix, rows)), x)

    return Solver(name, solve, solve_adjoint, 2)


def _times(matrix: Any, x: Sequence[Any]) -> Any:
    """The matrix by the sum of some X, rounded once."""
    return multiply(join([matrix] * len(x), 2), join(x, 1), "correct")


def _unit(a: Any) -> Any:
    return eye(a.shape[1], a.shape[1], a)


class _Stack:
    """The systems of a stack on their way: solutions, what `ABOUT` has of each, and the report of the last residual."""

    def __init__(self, a: Any, b: Any, first: Solver, report: bool, accuracy: str) -> None:
        self.a, self.b, self.first, self.report, self.accuracy = a, b, first, report, accuracy
        self.x, self.about = copy(b), np.zeros(len(a), ABOUT)
        self.about["reason"] = SolveReport.reason
        self.product: Report | None = None
        self._use(first, np.arange(len(a)), np.arange(len(a)))

    def solve(self, refined: bool) -> None:
        """Refined solutions where that converges, else those of the first factors alone."""
        if refined:
            self._refine()
        open_ = np.flatnonzero(~self.about["converged"])
        if open_.size:
            put(self.x, open_, self.first.solve([pick(self.b, open_)], open_))

    def _refine(self) -> None:
        """By the first factors, or where those converge slowly, by better ones."""
        found, x = proven(self.a, self.first, self.b)
        for solver, rows, part in found:
            about = self._attempt(pick(x, rows), solver, rows, part)
            slow = np.flatnonzero(~about["converged"])
            self.about[rows[slow]] = about[slow]
        open_ = np.flatnonzero(~self.about["converged"])
        reasons = self.about["reason"].copy()
        groups = [(open_, self.first.solve([_unit(pick(self.a, open_))], open_))] if open_.size else []
        for _ in range(_ROUNDS):
            left = []
            for open_, inverse in groups:
                a = pick(self.a, open_)
                for better, places, part in by_inverse(a, inverse, self.first.name, self.accuracy):
                    rows = open_[places]
                    x = better.solve([pick(self.b, rows)], np.arange(len(rows)))
                    about = self._attempt(x, better, rows, part)
                    slow = np.flatnonzero(~about["converged"])
                    for i, reason in zip(rows[slow], about["reason"][slow], strict=True):
                        self.about["reason"][i] = f"{reasons[i]}; with better factors, {reason}"
                    if slow.size:
                        unit = _unit(pick(self.a, rows[slow]))
                        left.append((rows[slow], better.solve([unit], slow)))
            groups = left

    def _attempt(self, x: Any, solver: Solver, rows: Rows, part: Host) -> Host:
        """Refine first solutions of some systems, by a solver of these; keep what converges, and return what became of all."""
        a, b = pick(self.a, rows), pick(self.b, rows)

        def residual_of(parts: list[Any], left: Rows) -> tuple[list[Any], Report | None]:
            matrices, right = pick(a, left), pick(b, left)
            r, product = residual([right], matrices, parts, self.report)
            terms = [r]
            while len(terms) < solver.terms:  # what the rounding of those before has left
                terms.append(residual([right, *(-r for r in terms)], matrices, parts)[0])
            return terms, product

        x, about, product = refine(x, residual_of, solver.solve, part)
        for name in ("factorisation", "condition"):
            about[name] = self.about[name][rows]
        done = np.flatnonzero(about["converged"])
        put(self.x, rows[done], pick(x, done))
        self.about[rows[done]] = about[done]
        self.product = product or self.product
        if solver.terms > 1:  # not the first factors, of all
            self._use(solver, done, rows[done])
        return about

    def _use(self, solver: Solver, places: Rows, rows: Rows) -> None:
        """The solutions of the systems `rows` come from a solver, in which they have these places."""
        self.about["factorisation"][rows] = solver.name
        if self.report and rows.size and self.a.shape[1]:
            some = solver.of(places)
            conditions = refining.condition_numbers(pick(self.a, rows), some.solve, some.solve_adjoint)
            self.about["condition"][rows] = conditions


def _solutions(given: Operands, structure: str, refined: bool, report: bool) -> tuple[Any, SolveReport]:
    """The solutions of all systems; a warning where refinement did not converge and no report says so."""
    found: list[tuple[Host, Report | None]] = []

    def steps(a: Any, b: Any) -> tuple[Any]:
        if (e := lifts(a)).any():
            e = np.where(is_finite(scaled(b, e)), e, 0)  # else X overflows as well
            a, b = scaled(a, e), scaled(b, e)
        first = STRUCTURES[structure](a, given.accuracy)
        stack = _Stack(a, b, first, report, given.accuracy)
        stack.solve(refined)
        for i, words in first.failures.items():
            if not stack.about["converged"][i]:
                raise FailureError(i, words)
        found.append((stack.about, stack.product))
        return (stack.x,)

    (x,) = over_stack(given, steps, given.a, given.b)
    about = report_of(np.concatenate([each for each, _ in found]), given.accuracy, refined, found[-1][1])
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


class Refining(Common, total=False):
    """Options of solve without its report."""

    refine: bool
    assume_a: str


@overload
def solve(a: T, b: T, *, report: No = ..., **options: Unpack[Refining]) -> T: ...
@overload
def solve(a: T, b: T, *, report: Yes, **options: Unpack[Refining]) -> tuple[T, SolveReport]: ...
@overload
def solve(a: Arrays, b: Arrays, *, report: No = ..., **options: Unpack[Refining]) -> Array: ...
@overload
def solve(a: Arrays, b: Arrays, *, report: Yes, **options: Unpack[Refining]) -> tuple[Array, SolveReport]: ...
@routine
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

    `refine` corrects X by residuals that are correctly rounded. The error of an entry is then one
    rounding and u / 32 of the largest entry of its column (2^-58 in float64).

    Parameters
    ----------
    a : array_like or torch.Tensor
        (..., n, n), float64, float32, complex128 or complex64; integers and bool become float64.
    b : array_like or torch.Tensor
        (n,), or (..., n, k) with broadcasting stacks.
    refine : bool
        Correct the solution. If that does not converge, X is the solution by the factors alone,
        with a LinAlgWarning (SciPy's).
    report : bool
        Return ``(x, SolveReport)``, with an estimate of the condition number, and without the
        warning.
    assume_a : {"gen", "pos"}
        "gen": any matrix, by LU with partial pivoting. "pos": a symmetric (Hermitian) positive
        definite one, by Cholesky; both triangles must be given.
    accuracy : {"standard", "correct", "scaled"}, optional
        Accuracy of the products in the factorisation, as in :func:`ozfp4.matmul`; residuals are
        "correct".
    check_finite : bool
        Refuse NaN and infinity; else they propagate through the arithmetic.

    Returns
    -------
    x, or (x, SolveReport)
        x has the shape of b, or of the stack, and the common dtype of a and b.

    Raises
    ------
    LinAlgError
        A pivot that is zero, with its index, unless refinement succeeds with a small pivot
        instead; a matrix that is not positive definite. It is NumPy's, or torch's for tensors.
    TypeError
        Unsupported dtypes, NumPy mixed with torch, masked arrays.
    ValueError
        Shapes that do not fit, NaN or infinity with `check_finite`, unknown names.
    RuntimeError
        Tensors that require grad, are on different devices, or on one without a kernel in this
        build.

    Notes
    -----
    **Refinement.** X is a pair of numbers for each entry until the end. A zero of the exact
    solution may become a number as small as the error bound. For condition numbers near 2^50 or
    beyond, the factors of fl(R A) are used, with R about A^-1. This converges up to about 2^80 as
    a rule. A singular matrix is always detected.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.linalg import hilbert
    >>> x, report = solve(hilbert(12), np.ones(12), refine=True, report=True)
    >>> report.converged, report.condition > 1e16
    (True, True)
    """
    check_flags(refine=refine, report=report)
    check_name("assume_a", assume_a, STRUCTURES)
    given = take(a, b, square=True, accuracy=accuracy, check_finite=check_finite)
    x, about = _solutions(given, assume_a, refine, report)
    return (given.like_b(x), about) if report else given.like_b(x)


@overload
def inv(a: T, *, refine: bool = ..., **options: Unpack[Common]) -> T: ...
@overload
def inv(a: Arrays, *, refine: bool = ..., **options: Unpack[Common]) -> Array: ...
@routine
def inv(a: Any, *, refine: bool = False, accuracy: str | None = None, check_finite: bool = True) -> Any:
    """The inverse of a square matrix, by LU with partial pivoting.

    Parameters
    ----------
    a : array_like or torch.Tensor
        (..., n, n). Dtypes, `accuracy`, `check_finite` and errors are those of :func:`ozfp4.linalg.solve`.
    refine : bool
        As in :func:`ozfp4.linalg.solve`, column by column.

    Examples
    --------
    >>> import numpy as np
    >>> inv(np.array([[2.0, 1.0], [1.0, 1.0]]), refine=True)
    array([[ 1., -1.],
           [-1.,  2.]])
    """
    check_flags(refine=refine)
    given = take(a, square=True, accuracy=accuracy, check_finite=check_finite)
    n = given.a.shape[-1]
    return _solutions(given._replace(b=eye(n, n, given.a)), "gen", refine, False)[0]
