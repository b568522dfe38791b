"""Solutions against those in rational numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.linalg

from ozfp4 import linalg
from ozfp4._request.library import Operands
from ozfp4.linalg import _operands as operands
from ozfp4.linalg._native import eye
from ozfp4.linalg._systems import by_inverse, by_lu
from ozfp4.testing import assert_same_bits

U = 2.0**-53
RNG = np.random.default_rng(17)
EASY = [
    "random", *(f"condition 2^{p}" for p in (10, 20, 30, 40, 45)), "hilbert 8", "kahan", "wilkinson 30", "graded",
    "rows graded",
]  # fmt: skip
HARD = ["condition 2^50", "hilbert 12", "wilkinson 60", "vandermonde", "hilbert 20", "pascal 22"]


def condition(rational, a):
    """In the 1-norm, of the matrix as it is."""
    inverse = np.abs(rational.values(rational.matrix(a).inv())).sum(0).max()
    return float(inverse * max(sum(map(Fraction, column)) for column in np.abs(a).T.tolist()))


@pytest.mark.parametrize("name", EASY + HARD)
def test_refined_solutions_are_rounded_real_ones(name, matrices, library, rational):
    a = matrices[name]
    b = np.random.default_rng(19).standard_normal((len(a), 3)) * 2.0 ** np.array([0, 300, -300])
    exact = rational.solve(a, b)
    x, report = linalg.solve(library(a), library(b), refine=True, report=True)
    assert report.converged, report
    rational.check(x, exact)
    assert report.refined
    assert report.iterations >= 2
    assert report.correction * report.contraction <= U / 64
    assert report.product.accuracy == "correct"
    if name in EASY:
        assert report.factorisation == "LU"
        assert report.contraction <= 0.25
    true = condition(rational, a)
    assert true / 10 <= report.condition <= 1.2 * true
    assert "rounded once" in str(report)
    assert linalg.solve(library(a), library(b), refine=True).tolist() == x.tolist()


@pytest.mark.parametrize("name", ["random", "condition 2^45", "hilbert 12", "hilbert 20"])
def test_a_devices_operations_on_the_cpu(name, matrices, rational, monkeypatch):
    torch = pytest.importorskip("torch")
    a = matrices[name]
    b = np.random.default_rng(19).standard_normal((len(a), 3))
    tall = np.vstack([a, 2 * a[:3]])
    expected = linalg.lstsq(tall, tall @ b, refine=name == "random").solution
    monkeypatch.setattr(operands, "take_operands", lambda a, b, *rest: Operands(a, b, None, torch, True))
    monkeypatch.setattr(operands, "take_operand", lambda name, a, *rest: Operands(a, a, None, torch, True))
    monkeypatch.setattr(operands, "check_device", lambda device: None)
    x = linalg.solve(torch.from_numpy(a), torch.from_numpy(b), refine=True)
    rational.check(x, rational.solve(a, b))
    inverse = linalg.inv(torch.from_numpy(a), refine=True)
    rational.check(inverse, rational.matrix(a).inv())
    if name == "random":
        found = linalg.lstsq(torch.from_numpy(tall), torch.from_numpy(tall @ b), refine=True).solution
        np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=4 * U * np.abs(expected).max())


@pytest.mark.parametrize("name", ["wilkinson 60", "hilbert 20"])
def test_better_factors(name, matrices, library, rational):
    a = matrices[name]
    b = np.random.default_rng(19).standard_normal((len(a), 1))
    exact = rational.solve(a, b)
    stack, right, one = library(a[None]), library(b[None]), np.arange(1)
    first = by_lu(stack, "standard")
    inverse = first.solve([eye(len(a), len(a), stack)], one)
    ((better, rows, _),) = by_inverse(stack, inverse, first.name, "standard")
    assert rows.tolist() == [0]
    assert better.name == "LU, then LU of the inverse's product"
    assert rational.error(np.asarray(first.solve([right], one))[0], exact, U) > 2.0**45
    assert rational.error(np.asarray(better.solve([right], one))[0], exact, U) < 2.0**40
    turned = rational.solve(a.T, b)
    assert rational.error(np.asarray(better.solve_adjoint([right], one))[0], turned, U) < 2.0**40


def test_what_refinement_brings(matrices, rational):
    a = matrices["condition 2^50"]
    b = RNG.standard_normal((len(a), 1))
    exact = rational.solve(a, b)
    plain, report = linalg.solve(a, b, report=True)
    assert rational.error(plain, exact, U) > 2.0**40
    assert (report.refined, report.converged, report.iterations, report.product) == (False, False, 0, None)
    assert "no refinement" in str(report)


def test_small_blocks_and_float32(library, rational, small_blocks):
    a = RNG.standard_normal((37, 37)).astype(np.float32)
    b = RNG.standard_normal((37, 2)).astype(np.float32)
    exact = rational.solve(a, b)
    x, report = linalg.solve(library(a), library(b), refine=True, report=True)
    assert str(x.dtype).endswith("float32")
    assert report.converged
    rational.check(x, exact)
    mixed = linalg.solve(library(a), library(b.astype(np.float64)), refine=True)
    assert str(mixed.dtype).endswith("float64")
    rational.check(mixed, exact)


@pytest.mark.parametrize("name", ["hilbert 8", "hilbert 12", "random"])
def test_positive_definite_systems(name, matrices, library, rational, small_blocks):
    a = matrices[name]
    if name == "random":
        a = a @ a.T
        a = np.tril(a) + np.tril(a, -1).T
    b = RNG.standard_normal((len(a), 2))
    exact = rational.solve(a, b)
    x, report = linalg.solve(library(a), library(b), refine=True, report=True, assume_a="pos")
    assert report.factorisation.startswith("Cholesky")
    rational.check(x, exact)
    with pytest.raises(Exception, match="not positive definite"):
        linalg.solve(library(-a), library(b), assume_a="pos")


@pytest.mark.parametrize("name", ["random", "hilbert 8", "condition 2^45", "hilbert 20"])
def test_refined_inverses_are_rounded_real_ones(name, matrices, library, rational):
    a = matrices[name]
    exact = rational.matrix(a).inv()
    rational.check(linalg.inv(library(a), refine=True), exact)
    if name == "random":
        np.testing.assert_allclose(np.asarray(linalg.inv(library(a))), np.linalg.inv(a), rtol=1e-9)


@pytest.mark.parametrize("refine", [False, True])
@pytest.mark.parametrize("function", [linalg.solve, lambda a, b, refine: linalg.inv(a, refine=refine)])
def test_a_singular_matrix_names_its_pivot(function, refine, library):
    a = np.ones((3, 3))
    a[0, 0] = 2
    kind = "numpy" if library is np.asarray else "torch"
    with pytest.raises(Exception, match="a: the pivot 2, counted from 0, rounds to zero") as e:
        function(library(a), library(np.ones(3)), refine=refine)
    assert e.type.__name__.endswith("LinAlgError")
    assert e.type.__module__.startswith(kind)
    with pytest.raises(e.type, match=r"a\[1\]: the pivot 2"):
        function(library(np.stack([np.eye(3), a])), library(np.ones(3)), refine=refine)


def test_a_pivot_that_rounds_to_zero_is_not_yet_a_singular_matrix(library, rational):
    a = np.array([[3.0, 1.0], [1.0, 1 / 3]])  # 3 fl(1/3) is not 1
    b = np.array([[1.0], [2.0]])
    x, report = linalg.solve(library(a), library(b), refine=True, report=True)
    assert report.converged
    rational.check(x, rational.solve(a, b))
    x = linalg.inv(library(a), refine=True)
    rational.check(x, rational.matrix(a).inv())
    with pytest.raises(Exception, match="pivot 1, counted from 0, rounds to zero: the matrix is singular or"):
        linalg.solve(library(a), library(b))


def test_a_column_of_zeros_is_singular(library):
    a = np.array([[1.0, 0.0], [2.0, 0.0]])
    with pytest.raises(Exception, match="pivot 1, counted from 0, rounds to zero"):
        linalg.solve(library(a), library(np.ones(2)), refine=True)


@pytest.mark.parametrize("report", [False, True])
def test_what_does_not_converge_says_so(report, library):
    a = scipy.linalg.pascal(30).astype(np.float64)  # a condition number of 10^33
    b = np.sin(np.arange(30.0))
    if report:
        _, about = linalg.solve(library(a), library(b), refine=True, report=True)
        assert not about.converged
        assert "of the error; with better factors" in about.reason
        assert "no: " in str(about)
    else:
        with pytest.warns(scipy.linalg.LinAlgWarning, match="refinement did not converge") as caught:
            x = linalg.solve(library(a), library(b), refine=True)
        assert caught[0].filename == __file__
        assert x.tolist() == linalg.solve(library(a), library(b)).tolist()
        with pytest.warns(scipy.linalg.LinAlgWarning, match="did not converge") as caught:
            linalg.inv(library(a), refine=True)
        assert caught[0].filename == __file__


def test_a_vector_and_factors_of_a_stack(library):
    a = RNG.standard_normal((3, 1, 9, 9))
    b = RNG.standard_normal((2, 9, 4))
    x = linalg.solve(library(a), library(b), refine=True)
    vector = linalg.solve(library(a), library(b[0, :, 0]), refine=True)  # 1-D is a vector, for every matrix
    assert tuple(vector.shape) == (3, 1, 9)
    assert_same_bits(np.asarray(vector), np.asarray(x[:, :1, :, 0]))
    pair = linalg.lu_factor(library(a))
    np.testing.assert_allclose(np.asarray(linalg.lu_solve(pair, library(b))), np.asarray(x), rtol=1e-9)


def test_zeros_and_one_by_one(library):
    x, report = linalg.solve(library(np.eye(4) * 3), library(np.zeros((4, 2))), refine=True, report=True)
    assert not np.asarray(x).any()
    assert report.converged
    assert (
        np.asarray(linalg.solve(library(np.array([[3.0]])), library(np.array([1.0])), refine=True)) == 1 / 3
    )


def test_operands_stay_as_they_are(library):
    a, b = library(RNG.standard_normal((20, 20))), library(RNG.standard_normal((20, 2)))
    before = a.tolist(), b.tolist()
    linalg.solve(a, b, refine=True)
    linalg.inv(a)
    linalg.lstsq(a, b, refine=True)
    linalg.qr(a)
    linalg.solve_triangular(a, b)
    linalg.lu_solve(linalg.lu_factor(a), b)
    assert (a.tolist(), b.tolist()) == before


@pytest.mark.parametrize("accuracy", ["scaled", "standard", "correct"])
def test_every_accuracy_of_the_products(accuracy, small_blocks, rational):
    a, b = RNG.standard_normal((30, 30)), RNG.standard_normal((30, 1))
    exact = rational.solve(a, b)
    x, report = linalg.solve(a, b, accuracy=accuracy, refine=True, report=True)
    assert report.accuracy == accuracy
    rational.check(x, exact)


EXTREME = [
    (1e308 * np.array([[1.0, 1], [-1, 1]]), 2),
    (1e308 * np.array([[1.5, 0.5], [0.5, 1.5]]), 2),
    (1e-308 * np.array([[1.0, 2], [3, 1]]), 3.2),
    (2.0**-1070 * np.array([[1.0, 2], [3, 1]]), 3.2),
    (1e-290 * np.array([[1.0, 0], [0, 1e-20]]), 1e20),
    (2e38 * np.array([[1, 1], [-1, 1]], np.float32), 2),
    (2.0**-140 * np.array([[1, 2], [3, 1]], np.float32), 3.2),
    (1e308 * np.array([[1 + 1j, 1 + 1j], [-1 - 1j, 1 + 1j]]), 2),
    (5e307 * np.array([[1 + 1j, 1 + 1j], [-1 - 1j, 1 + 1j]]), 2),
]


@pytest.mark.parametrize("refined", [False, True])
@pytest.mark.parametrize(("a", "expected"), EXTREME, ids=str)
def test_extreme_scales(a, expected, refined, library):
    """Condition numbers and solutions are those of the matrix in the middle of the range."""
    x, report = linalg.solve(library(a), library(a[:, 1]), refine=refined, report=True)
    assert report.condition == pytest.approx(expected, rel=1e-3)
    np.testing.assert_allclose(np.asarray(x), [0, 1], atol=4 * np.finfo(a.dtype).eps)
    assert report.converged is refined
