"""References in interval arithmetic (python-flint's): what a program would give without any rounding, rounded once."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

BITS = 500


class Reals:
    """Matrices of intervals so narrow that each rounds to one float64."""

    def __init__(self, flint: Any) -> None:
        self._flint = flint

    def matrix(self, x: Any) -> Any:
        return self._flint.arb_mat(*x.shape, [float(v) for v in x.ravel()])

    def rounded(self, x: Any) -> Any:
        """The matrix of intervals to float64, each entry to the nearest."""
        entries = [[self.number(x[i, j]) for j in range(x.ncols())] for i in range(x.nrows())]
        return np.array(entries).reshape(x.nrows(), x.ncols())

    def number(self, x: Any) -> float:
        """An interval to the float64 that is nearest to all of it."""
        low, high = (float(self._fraction(end)) for end in (x.lower(), x.upper()))
        assert low == high
        return low

    @staticmethod
    def _fraction(x: Any) -> Fraction:
        mantissa, exponent = map(int, x.man_exp())
        return Fraction(mantissa) * Fraction(2) ** exponent

    def eigenvalues(self, x: Any) -> list[Any]:
        """The eigenvalues of a symmetric matrix without multiple ones, ascending."""
        found = [each.real for each in self._flint.acb_mat(self.matrix(x)).eig()]
        return sorted(found, key=lambda each: float(each.mid()))


@pytest.fixture
def reals() -> Iterator[Reals]:
    flint = pytest.importorskip("flint")
    before, flint.ctx.prec = flint.ctx.prec, BITS
    yield Reals(flint)
    flint.ctx.prec = before
