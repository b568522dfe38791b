"""The grading operands do what they are for: they expose what they shall expose, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ozfp4
from common import grades
from support import grading

pytestmark = pytest.mark.slow


def strassen(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Strassen's recursion down to 16 × 16."""
    n = len(a)
    if n <= 16:
        return a @ b
    h = n // 2
    (a11, a12), (a21, a22) = ((a[:h, :h], a[:h, h:]), (a[h:, :h], a[h:, h:]))
    (b11, b12), (b21, b22) = ((b[:h, :h], b[:h, h:]), (b[h:, :h], b[h:, h:]))
    m1, m2 = strassen(a11 + a22, b11 + b22), strassen(a21 + a22, b11)
    m3, m4 = strassen(a11, b12 - b22), strassen(a22, b21 - b11)
    m5, m6 = strassen(a11 + a12, b22), strassen(a21 - a11, b11 + b12)
    m7 = strassen(a12 - a22, b21 + b22)
    return np.block([[m1 + m4 - m5 + m7, m3 + m5], [m2 + m4, m1 - m2 + m3 + m6]])


def single(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float64)


SIZES, EXPONENTS = (16, 64), (0, 8)


def test_numpy_is_conventional_floating_point() -> None:
    summary, rows = grades.grade_rows("numpy", np.matmul, SIZES, EXPONENTS)
    assert summary["verdict"] == "conventional, floating point"
    assert summary["uniform"] == summary["graded"] == "A"
    assert summary["slope"] <= 1
    assert [row["exponent"] for row in rows] == [0, 8, grading.widest_exponent(64)]


def in_mode(accuracy: str) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    return lambda a, b: ozfp4.matmul(a, b, accuracy=accuracy)


@pytest.mark.parametrize("accuracy", ["standard", "correct"])
def test_certified_products_have_grade_a_throughout(accuracy: str) -> None:
    summary, rows = grades.grade_rows(accuracy, in_mode(accuracy), SIZES, EXPONENTS)
    assert summary["verdict"] == "conventional, floating point"
    assert (summary["uniform"], summary["graded"]) == ("A", "A")
    assert summary["exponent"] == grading.widest_exponent(64)
    assert summary["slope"] <= 1
    # In "correct" half a unit in the last place, of n of them.
    assert all(row["a"] <= (1 if accuracy == "standard" else 1 / 64) for row in rows)


def test_53_bits_a_row_are_conventional_fixed_point() -> None:
    """The honest grade: A where a row's magnitudes are alike, B where they range widely."""
    summary, rows = grades.grade_rows("ozfp4", in_mode("scaled"), SIZES, EXPONENTS)
    assert summary["verdict"] == "conventional, fixed point"
    assert (summary["uniform"], summary["graded"], summary["exponent"]) == ("A", "B", 0)
    assert all(row["b"] < 0.1 for row in rows)


def test_strassen_is_found_out() -> None:
    summary, _ = grades.grade_rows("strassen", strassen, SIZES, EXPONENTS)
    assert summary["verdict"].startswith("Strassen-like")
    assert not summary["zeros"]


def test_single_precision_has_no_grade() -> None:
    with np.errstate(all="ignore"):
        summary, _ = grades.grade_rows("float32", single, SIZES, (0,))
    assert summary["uniform"] == summary["graded"] == "-"
