"""The demo's exact arithmetic against fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import orbitals as job


def fractions(x: np.ndarray) -> list[list[Fraction]]:
    return [[Fraction(float(v)) for v in row] for row in x]


def multiplied(x: list[list[Fraction]], y: list[list[Fraction]]) -> list[list[Fraction]]:
    return [
        [
            sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0))
            for column in zip(*y, strict=True)
        ]
        for row in x
    ]


def magnitudes(x: list[list[Fraction]]) -> list[list[Fraction]]:
    return [[abs(v) for v in row] for row in x]


def transposed(x: list[list[Fraction]]) -> list[list[Fraction]]:
    return [list(column) for column in zip(*x, strict=True)]


@pytest.fixture(params=[0, 200, -200])
def orbitals(request: pytest.FixtureRequest) -> job.Orbitals:
    """Entries over 80 binary orders of magnitude around 2^0, 2^200 or 2^-200, with zeros."""
    rng = np.random.default_rng(11)

    def matrix(*shape: int) -> np.ndarray:
        x = np.ldexp(rng.standard_normal(shape), rng.integers(-40, 41, shape) + request.param)
        return np.where(rng.random(shape) < 0.1, 0.0, x)

    return job.Orbitals(matrix(4, 4), matrix(4, 3), matrix(4, 4))


def test_real_products(orbitals: job.Orbitals) -> None:
    s, c, f = fractions(orbitals.S), fractions(orbitals.C), fractions(orbitals.F)
    expected = {
        "SC": (multiplied(s, c), multiplied(magnitudes(s), magnitudes(c))),
        "FC": (multiplied(f, c), multiplied(magnitudes(f), magnitudes(c))),
    }
    for name, half in ((job.OVERLAP, "SC"), (job.FOCK, "FC")):
        expected[name] = tuple(
            multiplied(transposed(left), right)
            for left, right in zip((c, magnitudes(c)), expected[half], strict=True)
        )
    for name, real in job.real_products(orbitals).items():
        unit = Fraction(2) ** real.exponent
        product, magnitude = expected[name]
        assert [[v * unit for v in row] for row in real.product] == product
        assert [[v * unit for v in row] for row in real.magnitude] == magnitude


def test_errors(orbitals: job.Orbitals) -> None:
    computed = job.transform(orbitals, np.matmul)
    for name, real in job.real_products(orbitals).items():
        left, right = job.factors(orbitals, computed)[name]
        found = job.errors(computed[name], real, left, right)
        unit = Fraction(2) ** real.exponent
        absolute, relative, to_norms = Fraction(0), 0.0, 0.0
        for (i, j), value in np.ndenumerate(computed[name]):
            error = abs(Fraction(float(value)) - real.product[i, j] * unit)
            absolute = max(absolute, error)
            if error:
                relative = max(relative, float(error / (real.magnitude[i, j] * unit)))
                ratio = float(error) / math.hypot(*left[i]) / math.hypot(*right[:, j])
                to_norms = max(to_norms, ratio)
        assert found.absolute == float(absolute)
        assert found.relative == relative
        assert found.to_norms == pytest.approx(to_norms, rel=1e-12)


def test_the_data_of_caffeine() -> None:
    caffeine = job.load(None)
    assert caffeine.S.shape == caffeine.C.shape == caffeine.F.shape == (216, 216)
    assert abs(caffeine.S - caffeine.S.T).max() < 1e-15
    assert abs(caffeine.C.T @ caffeine.S @ caffeine.C - np.eye(216)).max() < 1e-12
