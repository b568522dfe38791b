"""Every matrix of a stack gets the bits that it gets alone, whatever the others are and need."""

from __future__ import annotations

import numpy as np
import pytest

from ozfp4 import linalg
from ozfp4.linalg import _native as native
from ozfp4.linalg import _operands as operands
from ozfp4.testing import assert_same_bits

RNG = np.random.default_rng(41)
DTYPES = [np.float64, np.float32, np.complex128, np.complex64]


def noise(dtype, *shape):
    x = RNG.standard_normal(shape)
    return (x + 1j * RNG.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def definite(a):
    return a @ a.conj().swapaxes(-1, -2) + np.eye(a.shape[-1], dtype=a.dtype)


def parts(result):
    """The arrays of a result, one after the other."""
    return [np.asarray(x) for x in (result if isinstance(result, tuple) else (result,))]


def check_one(together, index, alone):
    for whole, one in zip(parts(together), parts(alone), strict=True):
        assert_same_bits(whole[index], one)


def check(function, *stacks):
    """The function of stacks, and of each of their matrices."""
    together = function(*stacks)
    for i in range(len(stacks[0])):
        check_one(together, i, function(*(x[i] for x in stacks)))


@pytest.mark.parametrize(
    "dtype", [np.float64, np.complex64, *(pytest.param(x, marks=pytest.mark.slow) for x in DTYPES[1:3])]
)
@pytest.mark.parametrize("n", [1, 2, 3, native.SMALL, native.SMALL + 1, 21])
def test_every_function(n, dtype, library):
    a, b = noise(dtype, 7, n, n), noise(dtype, 7, n, 2)
    square, right = library(a), library(b)
    check(linalg.lu_factor, square)
    check(linalg.inv, square)
    check(linalg.det, square)
    check(linalg.slogdet, square)
    check(linalg.qr, square)
    check(linalg.solve, square, right)
    check(lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b, trans="C"), square, right)
    check(lambda a, b: linalg.solve_triangular(a, b, lower=True), square, right)
    check(lambda a, b: linalg.solve(a, b, assume_a="pos"), library(definite(a)), right)
    check(linalg.cholesky, library(definite(a)))
    tall, columns = library(noise(dtype, 5, n + 3, n)), library(noise(dtype, 5, n + 3, 2))
    check(linalg.lstsq, tall, columns)
    check(lambda a, b: linalg.lstsq(a.swapaxes(-1, -2), b), tall, right[:5])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [3, native.SMALL, pytest.param(21, marks=pytest.mark.slow)])
def test_refined(n, dtype, library):
    a, b = noise(dtype, 5, n, n), noise(dtype, 5, n, 2)
    check(lambda a, b: linalg.solve(a, b, refine=True), library(a), library(b))
    check(lambda a: linalg.inv(a, refine=True), library(a))
    tall, right = noise(dtype, 5, n + 3, n), noise(dtype, 5, n + 3, 1)
    check(lambda a, b: linalg.lstsq(a, b, refine=True), library(tall), library(right))


@pytest.mark.parametrize("refine", [False, True])
@pytest.mark.parametrize(("function", "rows"), [(linalg.solve, 9), (linalg.lstsq, 12)])
def test_stacks_broadcast(function, rows, refine, library, small_blocks):
    a, b = noise(float, 3, 1, rows, 9), noise(float, 2, rows, 4)
    together = function(library(a), library(b), refine=refine)
    for i, j in np.ndindex(3, 2):
        check_one(together, (i, j), function(library(a[i, 0]), library(b[j]), refine=refine))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_views(dtype, library, small_blocks):
    a = library(noise(dtype, 2, 3, 44, 38))[:, :, ::2, 1::2]
    square = library(definite(np.asarray(a)[..., :19, :]))
    for function, stack in ((linalg.lu_factor, a), (linalg.qr, a), (linalg.cholesky, square)):
        together = function(stack)
        assert parts(together)[0].dtype == dtype
        for index in np.ndindex(2, 3):
            check_one(together, index, function(library(np.ascontiguousarray(stack[index]))))


def test_blocks(library, small_blocks):
    a, b = noise(float, 4, 29, 29), noise(float, 4, 29, 2)
    check(linalg.lu_factor, library(a))
    check(linalg.cholesky, library(definite(a)))
    check(linalg.qr, library(a[:, :, :17]))
    check(lambda a, b: linalg.solve(a, b, refine=True), library(a), library(b))


def test_blocks_of_the_size_that_is_used():
    a, b = noise(float, 2, 150, 150), noise(float, 2, 150, 2)
    check(linalg.lu_factor, a)
    check(linalg.solve, a, b)


def mixed(matrices, n=12):
    """Systems that end by different factors, at both ends of the range; one does not end."""
    names = ["random", "hilbert 20", "condition 2^50", "hilbert 20", "graded", "pascal 22"]
    a = np.stack([matrices[name][:n, :n] for name in names])
    a[1] *= 2.0**1000
    a[2] *= 2.0**-1060
    a[4] = np.add.outer(np.arange(n), np.arange(n)) + 1.0 / 3  # of rank 2 but for its last bits
    return a


def test_systems_of_all_kinds_together(matrices, library):
    a, b = mixed(matrices), noise(float, 6, 12, 2)
    b[2] *= 2.0**-1060  # so that the solution is in range
    a, b = library(a), library(b)
    x, about = linalg.solve(a, b, refine=True, report=True)
    alone = [linalg.solve(a[i], b[i], refine=True, report=True) for i in range(6)]
    for i, (one, _) in enumerate(alone):
        assert_same_bits(np.asarray(x[i]), np.asarray(one))
    reports = [each for _, each in alone]
    for name in ("iterations", "correction", "contraction", "condition"):
        assert getattr(about, name) == max(getattr(each, name) for each in reports)
    assert about.factorisation == max((each.factorisation for each in reports), key=len)
    assert about.converged == all(each.converged for each in reports)
    assert about.reason == next((e.reason for e in reports if not e.converged), reports[0].reason)
    assert len({each.correction for each in reports}) > 1
    assert len({each.factorisation for each in reports}) > 1


def test_pieces_of_a_stack(library, monkeypatch):
    a, b = library(noise(float, 2, 5, 6, 6)), library(noise(float, 5, 6, 1))
    expected = linalg.solve(a, b, refine=True, report=True)
    monkeypatch.setattr(operands, "_AT_ONCE", 3 * 6 * 6 * 8)
    found = linalg.solve(a, b, refine=True, report=True)
    assert_same_bits(np.asarray(found[0]), np.asarray(expected[0]))
    assert found[1].condition == expected[1].condition
    a[1, 3] = 0
    with pytest.raises(Exception, match=r"a\[1, 3\]: the pivot 0"):
        linalg.solve(a, b)


def test_the_first_that_fails_is_named(library):
    """A later matrix fails in the first block of columns, an earlier one in the last."""
    a = np.stack([np.eye(300)] * 3)
    a[1, 299, 299] = a[2, 0, 0] = -1
    with pytest.raises(Exception, match=r"a\[1\]: the leading minor of order 300 is not positive"):
        linalg.cholesky(library(a))


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.int64, bool])
def test_integers_are_taken_as_float64(dtype, library):
    a = np.array([[2, 0, 1], [1, 1, 0], [0, 1, 1]], dtype)
    b = np.array([[1, 0], [1, 1], [0, 1]], dtype)
    given, real = (library(a), library(b)), (library(a.astype(float)), library(b.astype(float)))
    for function in (linalg.solve, linalg.lstsq, linalg.solve_triangular):
        check_one(function(*given), (), function(*real))
    for function in (linalg.inv, linalg.det, linalg.lu_factor, linalg.qr):
        check_one(function(given[0]), (), function(real[0]))
    single = library(b.astype(np.float32))
    assert str(linalg.solve(given[0], single).dtype).endswith("float64")  # as by np.linalg
