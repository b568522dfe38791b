"""Matrices of the literature, rational arithmetic to judge by, and the libraries that linear algebra is given."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ozfp4.linalg import _products as products


@pytest.fixture(autouse=True)
def own_numbers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module's RNG begins with each test anew, so that its numbers are the same whichever tests ran before."""
    if hasattr(request.module, "RNG"):
        seed = zlib.crc32(request.node.nodeid.encode())
        monkeypatch.setattr(request.module, "RNG", np.random.default_rng(seed))


@pytest.fixture(params=["numpy", "torch"])
def library(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    """A NumPy array as one of the library."""
    if request.param == "numpy":
        return np.asarray
    torch = pytest.importorskip("torch")
    return lambda x: torch.from_numpy(np.array(x))


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> int:
    """Panels of 8 columns, so that small matrices are of many."""
    monkeypatch.setattr(products, "SIZE", 8)
    return 8


class Rational:
    """Matrices of rational numbers (python-flint's), exact from floating-point ones."""

    def __init__(self, flint: Any) -> None:
        self._flint = flint

    def number(self, x: Any) -> Any:
        return self._flint.fmpq(*float(x).as_integer_ratio())

    def matrix(self, x: Any) -> Any:
        x = np.asarray(x)
        return self._flint.fmpq_mat(*x.shape, [self.number(each) for each in x.ravel()])

    def values(self, x: Any) -> np.ndarray:
        """As an object array of Fractions."""
        rows = [[Fraction(int(each.p), int(each.q)) for each in row] for row in x.tolist()]
        return np.array(rows, dtype=object).reshape(x.nrows(), x.ncols())

    def system(self, a: Any, b: Any) -> tuple[Any, Any]:
        """A and B; for complex matrices real ones: their solution is the real parts above the imaginary ones."""
        if a.dtype.kind == "c":
            a = np.block([[a.real, -a.imag], [a.imag, a.real]])
            b = np.vstack([b.real, b.imag])
        return self.matrix(a), self.matrix(b)

    def solve(self, a: Any, b: Any) -> Any:
        """X with A X = B."""
        a, b = self.system(a, b)
        return a.solve(b)

    def lstsq(self, a: Any, b: Any) -> tuple[Any, np.ndarray]:
        """X that makes B - A X smallest, or that is the smallest with A X = B; the sums of squares of B - A X."""
        a, b = self.system(a, b)
        t = a.transpose()
        x = (t * a).solve(t * b) if a.nrows() >= a.ncols() else t * (a * t).solve(b)
        return x, (self.values(b - a * x) ** 2).sum(0).astype(float)

    def check(self, x: Any, exact: Any, left: float = 1 / 32) -> None:
        """Within half a unit in the last place of the largest entry of a column, and what refinement may leave."""
        x = np.asarray(x.resolve_conj() if hasattr(x, "resolve_conj") else x)
        u = float(np.finfo(x.dtype).eps) / 2
        assert self.error(np.vstack([x.real, x.imag]) if x.dtype.kind == "c" else x, exact, u) <= 1 + left

    def error(self, x: Any, exact: Any, u: float) -> float:
        """The largest error of an entry in units of u times the largest entry of its column."""
        x, wanted = self.values(self.matrix(x)), self.values(exact)
        return float((np.abs(x - wanted).max(0) / np.abs(wanted).max(0)).max()) / u


@pytest.fixture(scope="session")
def rational() -> Rational:
    return Rational(pytest.importorskip("flint"))


def with_condition(n: int, condition: float, seed: int = 7) -> np.ndarray:
    """Singular values from 1 down to 1 / condition, evenly in their logarithm, between random orthogonal matrices."""
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.standard_normal((n, n)))[0] for _ in range(2))
    return (left * np.geomspace(1, 1 / condition, n)) @ right


def kahan(n: int, theta: float = 1.2) -> np.ndarray:
    """Kahan (1966): triangular, and ill-conditioned though no diagonal entry is as small as the last singular value."""
    c, s = np.cos(theta), np.sin(theta)
    return np.diag(s ** np.arange(n)) @ (np.eye(n) - c * np.triu(np.ones((n, n)), 1))


def wilkinson(n: int) -> np.ndarray:
    """Wilkinson (1961): partial pivoting lets the entries of U grow to 2^(n - 1); the condition number is about n."""
    a = np.eye(n) - np.tril(np.ones((n, n)), -1)
    a[:, -1] = 1
    return a


def graded(n: int) -> np.ndarray:
    """Entry i, j about 2^-(i + j)."""
    rng = np.random.default_rng(3)
    return rng.standard_normal((n, n)) * 2.0 ** -np.add.outer(np.arange(n), np.arange(n))


def hilbert(n: int) -> np.ndarray:
    """1 / (i + j + 1), rounded."""
    return 1.0 / (np.add.outer(np.arange(n), np.arange(n)) + 1)


def pascal(n: int) -> np.ndarray:
    """Binomials, integers up to (2n - 2)! / (n - 1)!^2; the determinant is 1 where none is rounded."""
    a = np.ones((n, n))
    for i in range(1, n):
        for j in range(1, n):
            a[i, j] = a[i - 1, j] + a[i, j - 1]
    return a


@pytest.fixture(scope="session")
def matrices() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(11)
    return {
        "random": rng.standard_normal((45, 45)),
        **{f"condition 2^{p}": with_condition(40, 2.0**p) for p in (10, 20, 30, 40, 45, 50)},
        "hilbert 8": hilbert(8),
        "hilbert 12": hilbert(12),
        "kahan": kahan(48),
        "wilkinson 30": wilkinson(30),
        "wilkinson 60": wilkinson(60),
        "graded": graded(40),
        "rows graded": rng.standard_normal((40, 40)) * 2.0 ** -np.arange(0, 120, 3)[:, None],
        "vandermonde": np.vander(np.linspace(0, 1, 25)),
        "hilbert 20": hilbert(20),
        "pascal 22": pascal(22),
    }
