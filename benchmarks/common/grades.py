"""Grades of a matrix product after Demmel and others: how its error grows, and what the tests reveal of its inside.

The criteria bound the error E = fl(AB) - AB by f(n) u times a measure, f growing at most linearly; here f(n) = n, u = 2^-53:

    A: |E_ij| <= f(n) u (|A| |B|)_ij           as sums of n products in floating point obey
    B: |E_ij| <= f(n) u ||A_i:|| ||B_:j||      as fixed point with an exponent for each row and column obeys
    C: max |E_ij| <= f(n) u ||A||_F ||B||_F    as Strassen-like algorithms obey

Criterion A is the paper's; B and C are its usual weaker forms, by the norms of rows and columns and of whole matrices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from support import grading
from support.errors import RealProduct, real_product, relative_errors

Array = npt.NDArray[Any]
Multiply = Callable[[Array, Array], Array]

SIZES = (16, 32, 64, 128, 256)
EXPONENTS = (0, 1, 2, 4, 8, 16, 32, 64, 128)
GRADED_SIZE = 64
BLOCK = 16


@dataclass(frozen=True)
class Quotients:
    """Largest error over n u times the measure of each criterion; at most 1 where the criterion holds."""

    a: float
    b: float
    c: float

    @property
    def grade(self) -> str:
        """The strictest criterion that holds, "-" if none does."""
        return next((name for name in "ABC" if getattr(self, name.lower()) <= 1), "-")


def quotients(c: Array, a: Array, b: Array, exact: RealProduct) -> Quotients:
    """How far `c` is from the exact product, by the three criteria."""
    n = a.shape[1]
    errors = relative_errors(c, exact)
    unit = n * grading.UNIT_ROUNDOFF
    # |E| = errors |A| |B|; its logarithm, as exponents near ±1000 leave FP64 when they are multiplied out.
    with np.errstate(divide="ignore", invalid="ignore"):
        measure = _log2(exact.magnitude, exact.exponent)
        log_error = np.where(errors == 0, -math.inf, np.log2(errors) + np.where(errors == 0, 0.0, measure))
        log_error = np.where(np.isinf(errors), math.inf, log_error)
        rows, columns = (_log2_norms(x) for x in (a, b.T))
    whole = [_log2_total(norms) for norms in (rows, columns)]
    excess_b = log_error - (rows[:, np.newaxis] + columns)
    excess_c = log_error - sum(whole)
    return Quotients(
        float(errors.max(initial=0.0)) / unit,
        _exp2(excess_b.max(initial=-math.inf)) / unit,
        _exp2(excess_c.max(initial=-math.inf)) / unit,
    )


def _exp2(x: float) -> float:
    return math.inf if x > 1000 else 2.0 ** max(float(x), -1000.0) if x > -math.inf else 0.0


def _log2(integers: Array, exponent: int) -> npt.NDArray[np.float64]:
    """log2(integers 2^exponent) of non-negative Python integers of any size."""
    logarithms = [math.log2(x) if x else -math.inf for x in integers.ravel().tolist()]
    return np.reshape(logarithms, integers.shape) + exponent


def _log2_norms(lines: Array) -> npt.NDArray[np.float64]:
    """log2 of the Euclidean norm of each row."""
    largest = np.abs(lines).max(axis=1, initial=0.0)
    scaled = lines / np.where(largest > 0, largest, 1.0)[:, np.newaxis]
    norms: npt.NDArray[np.float64] = np.log2(np.where(largest > 0, largest, 0.0)) + np.log2(
        np.linalg.norm(scaled, axis=1)
    )
    return np.where(largest > 0, norms, -math.inf)


def _log2_total(norms: npt.NDArray[np.float64]) -> float:
    top = float(norms.max(initial=-math.inf))
    return top + 0.5 * math.log2(float(np.sum(np.exp2(2 * (norms - top))))) if top > -math.inf else top


def growth(multiply: Multiply, sizes: tuple[int, ...] = SIZES, seed: int = 0) -> dict[int, Quotients]:
    """The quotients for uniform operands, by size."""
    found = {}
    for n in sizes:
        a, b = grading.uniform(n, seed)
        found[n] = quotients(multiply(a, b), a, b, real_product(a, b))
    return found


def slope(by_size: dict[int, Quotients]) -> float:
    """Exponent p of the fit max error ~ n^p; criterion A requires p <= 1."""
    points = [(math.log(n), math.log(q.a * n)) for n, q in by_size.items() if q.a > 0 and math.isfinite(q.a)]
    if len(points) < 2:
        return 0.0
    x, y = np.array(points).T
    return float(np.polyfit(x, y, 1)[0])


def keeps_zeros(multiply: Multiply, n: int = GRADED_SIZE, seed: int = 0) -> bool:
    """Test 1b: whether entries without a nonzero product are exactly zero, as in a sum of products."""
    zeros = grading.complementary_zeros(n, seed)
    return bool((multiply(zeros.a, zeros.b)[zeros.rows, zeros.columns] == 0).all())


def graded_quotients(
    multiply: Multiply, exponents: tuple[int, ...] = EXPONENTS, n: int = GRADED_SIZE, seed: int = 0
) -> Iterator[tuple[int, Quotients]]:
    """Test 2b for each exponent: the quotients for operands with rows over a range of 2^±exponent."""
    for exponent in exponents:
        a, b = grading.graded(n, exponent, seed)
        yield exponent, quotients(multiply(a, b), a, b, real_product(a, b))


def survives_blocks(multiply: Multiply, n: int = GRADED_SIZE, block: int = BLOCK, seed: int = 0) -> bool:
    """Test 3b: whether the leading block is right to n u times ten when whole blocks range over the exponents."""
    a, b = grading.repeated_scales(n, block, seed)
    errors = relative_errors(multiply(a, b), real_product(a, b))
    return bool(errors[: block - 1, : block - 1].max() <= 10 * n * grading.UNIT_ROUNDOFF)


def verdict(zeros: bool, floating: bool, blocks: bool) -> str:
    """The kind of the implementation by the tests."""
    if zeros:
        return "conventional, floating point" if floating else "conventional, fixed point"
    return "Strassen-like, floating point" if blocks else "Strassen-like, fixed point"


def grade_rows(
    name: str, multiply: Multiply, sizes: tuple[int, ...] = SIZES, exponents: tuple[int, ...] = EXPONENTS
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """One method's report: a summary row, and rows of test 2b with the quotients of the criteria by exponent.

    Columns of the summary: uniform is the grade at all sizes, quotient that of criterion A at the largest size, graded the
    grade at the widest exponents. exponent is the widest at which criterion A still holds in test 2b, -1 if at none. The
    outcomes of the tests follow.
    """
    by_size = growth(multiply, sizes)
    widest = grading.widest_exponent(GRADED_SIZE)
    by_exponent = list(graded_quotients(multiply, (*exponents, widest)))
    # The verdict has the requirements of the published test: the diagonal and all others right to 10 n u at the full range.
    floating = by_exponent[-1][1].a <= 10
    zeros, blocks = keeps_zeros(multiply), survives_blocks(multiply)
    holds = [exponent for exponent, q in by_exponent if q.a <= 1]
    first_failure = next((e for e, q in by_exponent if q.a > 1), None)
    holds = [e for e in holds if first_failure is None or e < first_failure]
    summary = {
        "method": name,
        "uniform": max((q.grade for q in by_size.values()), key=lambda g: g if g != "-" else "Z"),
        "slope": round(slope(by_size), 3),
        "quotient": by_size[max(by_size)].a,
        "graded": max((q.grade for _, q in by_exponent), key=lambda g: g if g != "-" else "Z"),
        "exponent": holds[-1] if holds else -1,
        "zeros": zeros,
        "floating": floating,
        "blocks": blocks,
        "verdict": verdict(zeros, floating, blocks),
    }
    rows = [{"method": name, "exponent": e, "a": q.a, "b": q.b, "c": q.c} for e, q in by_exponent]
    return summary, rows
