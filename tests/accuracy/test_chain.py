"""accuracy="standard" where nothing certifies an entry: a chain of fused multiply-adds, on every path, bit for bit."""

from __future__ import annotations

import ctypes
import ctypes.util
import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4.testing import Certificate, assert_same_bits, standard_matmul
from ozfp4.testing._oracle import special_value
from support import complex_matmul
from support.dtypes import both_types
from support.update import round_fraction

PATHS = list(product(("II", "I"), ("int8", "fp64", "fp4")))
Pair = tuple[np.ndarray, np.ndarray]


def chained(rng: np.random.Generator, m: int, k: int, n: int, dtype: Any, reach: int = 30) -> Pair:
    """Operands no entry of which has a certificate: the largest entries of the lines meet zeros."""
    a = np.ldexp(rng.standard_normal((m, k)), rng.integers(-reach, reach, (m, k)))
    b = np.ldexp(rng.standard_normal((k, n)), rng.integers(-reach, reach, (k, n)))
    a[:, 0], b[0], a[:, -1], b[-1] = 2.0 ** (2 * reach + 30), 0.0, 0.0, 2.0 ** (2 * reach + 30)
    return a.astype(dtype), b.astype(dtype)


def fused(dtype: Any) -> Any:
    """fma of the C library, independent of this project's code."""
    path = ctypes.util.find_library("m")
    if path is None:
        pytest.skip("no libm")
    library = ctypes.CDLL(path)
    function, kind = (library.fma, ctypes.c_double) if dtype == np.float64 else (library.fmaf, ctypes.c_float)
    function.argtypes, function.restype = [kind] * 3, kind
    return function


def by_libm(a: np.ndarray, b: np.ndarray, dtype: Any) -> np.ndarray:
    """Every entry as a chain over all k, zeros too, and +0 at the end."""
    fma, columns = fused(dtype), [column.tolist() for column in b.T]
    result = np.empty((len(a), len(columns)), dtype)
    for i, row in enumerate(a.tolist()):
        for j, column in enumerate(columns):
            total = 0.0
            for x, y in zip(row, column, strict=True):
                total = fma(x, y, total)
            result[i, j] = total + 0.0
    return result


def all_chains(a: np.ndarray, b: np.ndarray, **options: Any) -> np.ndarray:
    c, about = ozfp4.matmul(a, b, report=True, **options)
    assert about.certified.chains == c.size
    return c


@both_types
def test_tens_of_thousands_of_entries_equal_the_fma_of_libm(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    for m, k, n in ((200, 4, 300), (65, 9, 150), (9, 130, 30), (3, 2500, 5)):
        a, b = chained(rng, m, k, n, dtype, 12)
        assert_same_bits(all_chains(a, b), by_libm(a, b, dtype), (m, k, n))


@both_types
def test_steps_are_exact_fractions_rounded(dtype: Any) -> None:
    rng = np.random.default_rng(1)
    a, b = chained(rng, 7, 20, 33, dtype)
    c = all_chains(a, b)
    for i, j in np.ndindex(*c.shape):
        total = 0.0
        for x, y in zip(a[i].tolist(), b[:, j].tolist(), strict=True):
            total = round_fraction(Fraction(x) * Fraction(y) + Fraction(total), dtype)
        assert_same_bits(c[i, j], dtype(total))


def near(dtype: Any) -> int:
    """An exponent: products of two entries near 2^-near are subnormal."""
    return 530 if dtype == np.float64 else 70


@both_types
def test_subnormal_numbers_are_numbers(dtype: Any) -> None:
    """Products and sums below the normal numbers, where flushing to zero would show."""
    rng = np.random.default_rng(2)
    a, b = (
        np.ldexp(rng.standard_normal(shape), -near(dtype) + rng.integers(-9, 9, shape)).astype(dtype)
        for shape in ((20, 30), (30, 40))
    )
    a[:, 0], b[0], a[:, -1], b[-1] = 1.0, 0.0, 0.0, 1.0
    c = all_chains(a, b)
    assert (abs(c[c != 0]) < np.finfo(dtype).tiny).mean() > 0.2
    assert_same_bits(c, by_libm(a, b, dtype))


@both_types
def test_a_chain_that_overflows_is_repeated_with_smaller_numbers(dtype: Any) -> None:
    """Sums that leave the finite numbers and come back, and those that do not."""
    rng, p = np.random.default_rng(3), 53 if dtype == np.float64 else 24
    k, high = 24, np.finfo(dtype).maxexp
    a = np.ldexp(0.5 + rng.random((30, k)), high // 2 + rng.integers(-3, 2, (30, k))).astype(dtype)
    b = np.ldexp(0.5 + rng.random((k, 40)), high // 2 + rng.integers(-3, 2, (k, 40))).astype(dtype)
    a[:, k // 2 :] = -a[:, : k // 2] * dtype(1 + 2.0**-9)
    a[:15, 0], b[0] = 2.0 ** (high - 2), 0.0
    a[:, -1], b[-1] = 0.0, 2.0 ** (high - 2)
    expected, certificates = standard_matmul(a, b)
    c = ozfp4.matmul(a, b)
    assert_same_bits(c, expected)
    chains = certificates == Certificate.NONE
    with np.errstate(over="ignore", invalid="ignore"):
        plain = by_libm(a, b, dtype)
    again = chains & ~np.isfinite(plain)
    assert again.any()
    assert np.isfinite(c[again]).any()
    assert np.isinf(c[again]).any() or np.isfinite(c[again]).all()
    assert_same_bits(c[chains & ~again], plain[chains & ~again])
    for i, j in np.argwhere(again)[:200]:
        exact, size = (
            sum((f(Fraction(x) * Fraction(y)) for x, y in zip(a[i].tolist(), b[:, j].tolist(), strict=True)))
            for f in (Fraction, abs)
        )
        allowed = k * Fraction(2) ** -p * size
        with np.errstate(over="ignore"):
            low, high_ = (round_fraction(x, dtype) for x in (exact - allowed, exact + allowed))
        assert low <= c[i, j] <= high_


@both_types
def test_a_zero_is_positive(dtype: Any) -> None:
    """Sums of products that are all -0, that underflow to -0, that cancel, and of none at all."""
    a = np.array([[-1.0, 0.0, -0.0, 2.0**60], [0.0, -0.0, 5.0, 3.0]], dtype)
    b = np.array([[0.0], [-7.0], [1.0 / 3], [0.0]], dtype)
    a[1, 2] = 0.0
    c = ozfp4.matmul(a, b)
    assert_same_bits(c, np.zeros((2, 1), dtype))
    # The last product underflows to -0, and nothing follows; of an update it is a term.
    tiny = np.finfo(dtype).smallest_subnormal
    a = np.array([[1.0, 0.0, 0.0, -tiny], [1.0, 0.0, 2.0, 0.0]], dtype)
    b = np.array([[0.0, 0.0], [1.0, 1.0], [-0.0, 3.0], [tiny, -tiny]], dtype)
    for x, y in ((a, b), (-a, -b), (np.tile(a, (30, 1)), np.tile(b, (1, 20)))):
        c, about = ozfp4.matmul(x, y, report=True)
        assert about.certified.chains > 0
        assert (c[::2] == 0).all()
        assert not np.signbit(c[::2]).any()
        assert not np.signbit(ozfp4.gemm(1, x, y, 1, np.zeros_like(c))[::2]).any()


@both_types
def test_nan_and_infinity_stay_in_their_lines(dtype: Any) -> None:
    rng = np.random.default_rng(4)
    a, b = chained(rng, 9, 20, 30, dtype)
    clean = all_chains(a, b)
    a[3, 5], a[6, 0], b[7, 11], b[0, 20] = np.nan, np.inf, -np.inf, np.nan
    c, about = ozfp4.matmul(a, b, report=True)
    rows, columns = ~np.isfinite(a).all(axis=1), ~np.isfinite(b).all(axis=0)
    special = rows[:, np.newaxis] | columns
    assert_same_bits(c[~special], clean[~special])
    assert about.certified.total == (~special).sum()
    for i, j in np.argwhere(special):
        assert_same_bits(c[i, j] + dtype(0), dtype(special_value(a[i], b[:, j])))


@both_types
@pytest.mark.parametrize("rounded", [1, 2])
def test_magnitudes_certify_from_the_threshold_on(rounded: int, dtype: Any) -> None:
    """(n - 1) L >= 2^11 r n, on both sides of it: bytes, an entry far below that is rounded, largest ones across from 0."""
    n = 3 if rounded == 1 else 4
    threshold = math.ceil(2048 * rounded * n / (n - 1))
    for magnitude in range(threshold - 5, threshold + 5):
        first, second = divmod(magnitude - 1, 64)
        row = np.array([0, 1, first / 128, (second + 1) / 128, 3 * 2.0**-70, 0], dtype)
        column = np.array([1, 0, 64 / 128, 1 / 128, 0, 3 * 2.0**-70 if rounded == 2 else 0], dtype)
        for a, b in ((row[None], column[:, None]), (column[None], row[:, None])):
            about = ozfp4.matmul(a, b, report=True)[1].certified
            assert (about.magnitude, about.chains) == ((1, 0) if magnitude >= threshold else (0, 1))


# ---- What is promised of lines with one product


def structured(
    rng: np.random.Generator, n: int, dtype: Any
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Products of which every entry is one product of numbers, and what FP64 gives."""
    x = np.ldexp(rng.standard_normal((n, n)), rng.integers(-40, 40, (n, n))).astype(dtype)
    x[2], x[:, 3], x[5, 6] = 0.0, 0.0, np.finfo(dtype).smallest_subnormal
    eye, order = np.eye(n, dtype=dtype), rng.permutation(n)
    d = np.ldexp(rng.standard_normal(n), rng.integers(-20, 20, n)).astype(dtype)
    positive = x + dtype(0)
    yield eye, x, positive
    yield x, eye, positive
    yield eye[order], x, positive[order]
    yield x, eye[:, order], positive[:, order]
    with np.errstate(under="ignore"):
        yield np.diag(d), x, d[:, np.newaxis] * x + dtype(0)
        yield x, np.diag(d), x * d + dtype(0)


@both_types
def test_identities_permutations_and_scalings(dtype: Any) -> None:
    for n in (7, 50, 130):
        for a, b, expected in structured(np.random.default_rng(n), n, dtype):
            assert_same_bits(ozfp4.matmul(a, b), expected)
            for scheme, backend in PATHS:
                assert_same_bits(ozfp4.matmul(a, b, scheme=scheme, backend=backend), expected)
            assert_same_bits(ozfp4.matmul(ozfp4.prepare(a, "left"), b), expected)
            assert_same_bits(ozfp4.gemm(1, a, b, 0), expected)


# ---- Paths


def test_more_than_a_tile_strip_and_piece_of_k() -> None:
    rng = np.random.default_rng(6)
    a, b = chained(rng, 210, 1200, 430, np.float64, 12)
    c = all_chains(a, b)
    rows, columns = [0, 7, 8, 95, 96, 191, 209], [0, 23, 24, 383, 384, 400, 429]
    assert_same_bits(c[np.ix_(rows, columns)], by_libm(a[rows], b[:, columns], np.float64))
    assert_same_bits(all_chains(a, b, workspace_limit=3_000_000), c)


@both_types
def test_bounds_hold(dtype: Any) -> None:
    rng = np.random.default_rng(9)
    for a, b in (chained(rng, 8, 40, 20, dtype), chained(rng, 3, 4, 70, dtype, 3)):
        c, bound = ozfp4.matmul(a, b, return_bound=True)
        for i, j in np.ndindex(*c.shape):
            terms = zip(a[i].tolist(), b[:, j].tolist(), strict=True)
            exact = sum((Fraction(x) * Fraction(y) for x, y in terms), Fraction(0))
            assert abs(Fraction(float(c[i, j])) - exact) <= Fraction(float(bound[i, j]))


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64], ids=["complex128", "complex64"])
def test_complex_entries_are_chains_of_the_real_form(dtype: Any) -> None:
    """Each index adds re re, then -im im, to the real part; re im, then im re, to the imaginary part."""
    rng, real = np.random.default_rng(10), np.empty(0, dtype).real.dtype.type
    parts = [chained(rng, 5, 12, 9, real, 12) for _ in range(2)]
    a, b = (
        sum(p * z for p, z in zip(x, (1, 1j), strict=True)).astype(dtype) for x in zip(*parts, strict=True)
    )
    c = ozfp4.matmul(a, b)
    assert_same_bits(c, complex_matmul(a, b, lambda x, y: standard_matmul(x, y)[0]))
    fma = fused(real)
    for i, j in np.ndindex(*c.shape):
        re = im = 0.0
        for x, y in zip(a[i].tolist(), b[:, j].tolist(), strict=True):
            re = fma(-x.imag, y.imag, fma(x.real, y.real, re))
            im = fma(x.imag, y.real, fma(x.real, y.imag, im))
        assert_same_bits(c[i, j], dtype(complex(re + 0.0, im + 0.0)))
    gram = ozfp4.gram(a, left=True)
    above = np.triu(np.ones((5, 5), bool), 1)
    assert_same_bits(gram[above], ozfp4.matmul(a, a.conj().T)[above])
    assert_same_bits(gram.T.conj()[above] + 0.0, gram[above] + 0.0)
    assert_same_bits(np.diagonal(gram).imag.copy(), np.zeros(5, real))


def test_lines_of_zeros_leave_others_their_certificates() -> None:
    """Rows and columns of zeros change neither the other entries nor the counts of certificates."""
    rng = np.random.default_rng(11)
    a = rng.standard_normal((20, 40)) * (rng.random((20, 40)) < 0.4)
    b = np.rint(rng.standard_normal((40, 30)) * 1e3) * (rng.random((40, 30)) < 0.4)
    for x, y in ((a, b), (b.T, a.T)):
        expected, certificates = standard_matmul(x, y)
        assert (certificates == Certificate.MAGNITUDE).any()
        for rows, columns in (((3,), ()), ((), (4, 17)), ((0, 19), (29,))):
            p, q = x.copy(), y.copy()
            for i in rows:
                p[i] = 0.0
            for j in columns:
                if j < q.shape[1]:
                    q[:, j] = 0.0
            want, found = standard_matmul(p, q)
            c, about = ozfp4.matmul(p, q, report=True)
            assert_same_bits(c, want)
            assert about.certified.magnitude == (found == Certificate.MAGNITUDE).sum()
            assert about.certified.exact == (found == Certificate.EXACT).sum()
    assert math.isfinite(expected.max())
