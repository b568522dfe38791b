"""The two products that linear algebra is made of: C - A B, and the residual of a solution."""

from __future__ import annotations

from typing import Any

from ..api.matmul import matmul
from ..report import Report
from .native import Native


def update(c: Any, a: Any, b: Any, accuracy: str) -> Any:
    """C - A B as a new matrix: the product rounded once, the difference once. An inner dimension of 0 gives C."""
    return c - matmul(a, b, accuracy=accuracy) if a.shape[1] else c


def residual(
    native: Native, b: list[Any], a: list[Any], x: list[Any], report: bool
) -> tuple[Any, Report | None]:
    """Sum of the B less the sum of the products A X, every entry rounded once from the real number.

    One product does it, [B ... A ...] by the stack of unit matrices and -X: "correct" knows no partial sums.
    """
    unit = native.eye(b[0].shape[1], b[0].shape[1], b[0])
    left = native.join([*b, *a], 1)
    right = native.join([*(unit for _ in b), *(-each for each in x)], 0)
    if report:
        made: tuple[Any, Report] = matmul(left, right, accuracy="correct", report=True)
        return made
    return matmul(left, right, accuracy="correct"), None
