"""The two updates that linear algebra is made of: C - A B, and the residual of a solution."""

from __future__ import annotations

from typing import Any

from ..api.gemm import gemm
from ..report import Report
from .native import Native


def update(c: Any, a: Any, b: Any, accuracy: str) -> Any:
    """C - A B as a new matrix, rounded once. An inner dimension of 0 gives C itself."""
    return gemm(-1.0, a, b, 1.0, c, accuracy=accuracy) if a.shape[1] else c


def residual(
    native: Native, b: list[Any], a: list[Any], x: list[Any], report: bool
) -> tuple[Any, Report | None]:
    """Sum of the B less the sum of the products A X, every entry rounded once from the real number.

    The first B is C of one update; the others, by unit matrices, and the A stand side by side in it.
    """
    unit = native.eye(b[0].shape[1], b[0].shape[1], b[0])
    left = native.join([*b[1:], *a], 1)
    right = native.join([*(-unit for _ in b[1:]), *x], 0)
    if report:
        made: tuple[Any, Report] = gemm(-1.0, left, right, 1.0, b[0], accuracy="correct", report=True)
        return made
    return gemm(-1.0, left, right, 1.0, b[0], accuracy="correct"), None
