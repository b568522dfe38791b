"""A user's program, checked with strict types: `make lint` checks this file with mypy, and a test runs it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import ozfp4
from ozfp4 import linalg

Matrix = npt.NDArray[np.float64]


def residual(a: Matrix, x: Matrix, b: Matrix) -> Matrix:
    """B - A X, rounded once."""
    found: Matrix = ozfp4.gemm(-1.0, a, x, 1.0, b)
    return found


def refined(a: Matrix, b: Matrix) -> tuple[Matrix, str]:
    x, report = linalg.solve(a, b, report=True)
    return np.asarray(x, dtype=np.float64), str(report)


def main() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((20, 30)), rng.standard_normal((30, 10))
    c: Matrix = ozfp4.matmul(a, b)
    product, report = ozfp4.matmul(a, b, report=True)
    moduli: int = report.moduli_used
    name: str = report.kernel
    lower, upper = ozfp4.enclose(a, b)
    right = ozfp4.prepare(b, side="right")
    again: Matrix = ozfp4.matmul(a, right)
    counts = ozfp4.matmul(np.arange(6).reshape(2, 3), np.arange(6).reshape(3, 2))
    square = ozfp4.gram(a, left=True)
    plan = ozfp4.plan(20, 10, 30, backend="int8", accuracy="scaled")
    x, about = refined(np.eye(20) + 0.01 * square, rng.standard_normal((20, 2)))
    assert (c == product).all()
    assert (c == again).all()
    assert (lower <= c).all()
    assert (c <= upper).all()
    assert moduli >= 0  # none where a CPU multiplies limbs of eight bits
    assert name
    assert about
    assert plan.products > 0
    assert counts.dtype == np.int64
    assert residual(a, b, c).shape == c.shape
    assert x.shape == (20, 2)


if __name__ == "__main__":
    main()
