"""ozfp4_?gemm and ozfp4_cuda_?gemm have the bits of ozfp4.gemm."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import library as lib
import numpy as np
import pytest

TRANSPOSES = list(itertools.product((lib.NONE, lib.TRANS, lib.CONJ), repeat=2))
# Calls with a report are for the host.
on_the_host = pytest.mark.parametrize("calls", ["host"], indirect=True)

SHAPES = [(1, 1, 1), (5, 4, 3), (3, 7, 1), (17, 9, 64), (33, 40, 129), (2, 130, 300)]
LARGER = [(1, 1, 1), (33, 70, 129), (64, 5, 40), (130, 67, 300)]  # over tiles of a GPU
EMPTY = [(0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 0)]


def normal(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> lib.Array:
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype.startswith("c") else x).astype(dtype)


def operand(
    rng: np.random.Generator, rows: int, columns: int, asked: int, dtype: str, spread: int = 0
) -> lib.Array:
    """X such that op(X) is rows x columns."""
    shape = (rows, columns) if asked == lib.NONE else (columns, rows)
    return normal(rng, shape, dtype) * np.exp2(rng.integers(-spread, spread + 1, shape)).astype(dtype)


@pytest.mark.parametrize("dtype", lib.LETTERS)
@pytest.mark.parametrize("order", lib.ORDERS)
def test_transposes(calls: Any, gemm: Any, expect: Any, order: str, dtype: str) -> None:
    rng = np.random.default_rng(1)
    for trans, (m, n, k) in itertools.product(TRANSPOSES, calls.sized(SHAPES, LARGER)):
        a, b = operand(rng, m, k, trans[0], dtype), operand(rng, k, n, trans[1], dtype)
        found = gemm(1.0, a, b, order=order, trans=trans, gap=2)
        assert lib.same_bits(found, expect(1.0, a, b, trans=trans)), (trans, m, n, k)


@pytest.mark.parametrize("accuracy", lib.ACCURACIES)
@pytest.mark.parametrize("dtype", lib.LETTERS)
@pytest.mark.parametrize("order", lib.ORDERS)
def test_updates(calls: Any, gemm: Any, expect: Any, order: str, dtype: str, accuracy: str) -> None:
    rng = np.random.default_rng(2)
    factors: list[complex] = [1.0, 0.0, -0.75, 3.1415927410125732]
    if dtype.startswith("c"):
        factors += [1j, -0.5j]
    m, n, k = calls.sized((9, 12, 40), (33, 19, 21))
    for alpha, beta in itertools.product(factors, factors):
        a, b = (operand(rng, *shape, lib.NONE, dtype, 20) for shape in ((m, k), (k, n)))
        c = normal(rng, (m, n), dtype) if beta != 0 else np.full((m, n), np.nan, dtype)  # is not read
        asked = lib.options(accuracy=lib.ACCURACIES[accuracy])
        found = gemm(alpha, a, b, beta, c, order=order, gap=1, asked=asked)
        expected = expect(alpha, a, b, beta, c, accuracy=accuracy)
        assert lib.same_bits(found, expected), (alpha, beta)


@pytest.mark.parametrize("accuracy", lib.ACCURACIES)
@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
@pytest.mark.parametrize("order", lib.ORDERS)
def test_factors_with_both_parts(gemm: Any, expect: Any, order: str, dtype: str, accuracy: str) -> None:
    rng = np.random.default_rng(3)
    asked = lib.options(accuracy=lib.ACCURACIES[accuracy])
    pairs = [(0.5 - 0.75j, 0), (1, 2 + 1j), (0.5 + 3j, 0.25 - 1j), (0, 1 - 1j), (2j, 1 + 0.5j), (1 - 2j, 1)]
    for alpha, beta in pairs:
        for trans in ((lib.NONE, lib.NONE), (lib.CONJ, lib.TRANS)):
            a, b = operand(rng, 6, 11, trans[0], dtype), operand(rng, 11, 8, trans[1], dtype)
            c = normal(rng, (6, 8), dtype)
            a[2, 3], b[1, 1], c[3, 3] = np.inf, np.finfo(dtype).max, np.nan
            found = gemm(alpha, a, b, beta, c, order=order, trans=trans, gap=1, asked=asked)
            with np.errstate(all="ignore"):
                expected = expect(alpha, a, b, beta, c, trans=trans, accuracy=accuracy)
            assert lib.same_bits(found, expected), (alpha, beta)


@on_the_host
@pytest.mark.parametrize("accuracy", ["standard", "correct"])
@pytest.mark.parametrize("order", lib.ORDERS)
def test_factors_with_both_parts_keep_to_the_workspace(gemm: Any, order: str, accuracy: str) -> None:
    rng = np.random.default_rng(13)
    a, b, c = (operand(rng, *shape, lib.NONE, "complex128") for shape in ((150, 9), (9, 170), (150, 170)))
    a[140, 3], b[2, 160] = np.inf, np.nan
    kind = lib.ACCURACIES[accuracy]
    whole = gemm(1 - 2j, a, b, 3j, c, order=order, asked=lib.options(accuracy=kind))
    limit, report = 2**18, lib.new_report()
    asked = lib.options(accuracy=kind, workspace_limit=limit, report=ctypes.pointer(report))
    assert lib.same_bits(gemm(1 - 2j, a, b, 3j, c, order=order, asked=asked), whole)
    assert 0 < report.workspace <= limit
    assert (report.special_rows, report.special_columns) == (1, 1)


@pytest.mark.parametrize("rounding", lib.ROUNDINGS)
@pytest.mark.parametrize("dtype", lib.LETTERS)
def test_roundings(gemm: Any, expect: Any, dtype: str, rounding: str) -> None:
    rng = np.random.default_rng(4)
    a, b = operand(rng, 7, 30, lib.NONE, dtype), operand(rng, 30, 5, lib.NONE, dtype)
    asked = lib.options(accuracy=lib.ACCURACIES["correct"], rounding=lib.ROUNDINGS[rounding])
    for order in lib.ORDERS:
        found = gemm(1.0, a, b, order=order, asked=asked)
        assert lib.same_bits(found, expect(1.0, a, b, accuracy="correct", rounding=rounding))


@pytest.mark.parametrize("dtype", lib.LETTERS)
@pytest.mark.parametrize("order", lib.ORDERS)
def test_empty_products(gemm: Any, expect: Any, order: str, dtype: str) -> None:
    rng = np.random.default_rng(6)
    for (m, n, k), beta in itertools.product(EMPTY, (0.0, -1.5)):
        a, b, c = (normal(rng, shape, dtype) for shape in ((m, k), (k, n), (m, n)))
        assert lib.same_bits(gemm(2.0, a, b, beta, c, order=order), expect(2.0, a, b, beta, c))


def test_beta_of_0_does_not_read_c_nor_alpha_of_0_its_operands(calls: Any) -> None:
    c = np.full((2, 2), np.nan)
    calls.succeed("dgemm", lib.ROW, lib.NONE, lib.NONE, 2, 2, 2, 0.0, None, 2, None, 2, 0.0, c, 2)
    assert not c.any()
    c[...] = [[1.0, 2.0], [np.inf, np.nan]]
    calls.succeed("dgemm", lib.ROW, lib.NONE, lib.NONE, 2, 2, 2, 0.0, None, 2, None, 2, 3.0, c, 2)
    assert np.array_equal(c, [[3.0, 6.0], [np.inf, np.nan]], equal_nan=True)


@on_the_host
@pytest.mark.parametrize("backend", ["fp4", "int8", "fp64"])
@pytest.mark.parametrize("scheme", lib.SCHEMES)
@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_every_scheme_and_backend(gemm: Any, expect: Any, dtype: str, scheme: str, backend: str) -> None:
    rng = np.random.default_rng(7)
    a, b = operand(rng, 8, 33, lib.NONE, dtype, 5), operand(rng, 33, 6, lib.NONE, dtype, 5)
    report = lib.new_report()
    asked = lib.options(
        accuracy=1, scheme=lib.SCHEMES[scheme], backend=lib.BACKENDS[backend], bits=40, report=ctypes.pointer(report),
    )  # fmt: skip
    found = gemm(1.0, a, b, asked=asked)
    c, about = expect(1.0, a, b, accuracy="scaled", scheme=scheme, backend=backend, bits=40, report=True)
    assert lib.same_bits(found, c)
    assert (report.backend, report.scheme) == (lib.BACKENDS[backend], lib.SCHEMES[scheme])
    assert (report.bits, report.products, report.moduli_used) == (40, about.products, about.moduli_used)


@pytest.mark.parametrize("dtype", lib.LETTERS)
@pytest.mark.parametrize("order", lib.ORDERS)
def test_bounds(calls: Any, gemm: Any, expect: Any, order: str, dtype: str) -> None:
    rng = np.random.default_rng(8)
    m, n, k = calls.sized((10, 7, 60), (150, 131, 600))
    a, b = operand(rng, m, k, lib.NONE, dtype, 9), operand(rng, k, n, lib.NONE, dtype, 9)
    a[3, 3] = np.inf
    kind = "complex128" if dtype.startswith("c") else "float64"
    for gap, alpha in itertools.product((0, 3), (1.0, 0.5 - 2j) if dtype.startswith("c") else (1.0,)):
        bound, leading = lib.lies(np.zeros((m, n), kind), order, gap)
        asked = lib.options(ld_bound=leading if gap else 0)
        with np.errstate(invalid="ignore"):
            c, expected = expect(alpha, a, b, return_bound=True)
        assert lib.same_bits(gemm(alpha, a, b, order=order, asked=asked, bound=bound), c)
        assert lib.same_bits(lib.seen(bound, order, gap), expected)


def apart(held: tuple[lib.Array, int], lines: int) -> tuple[lib.Array, int]:
    """A stack as it lies, with so many lines more behind each matrix."""
    stack, leading = held
    batch, count, length = stack.shape
    memory = np.full((batch, count + lines, length), np.nan, stack.dtype)
    memory[:, :count] = stack
    return memory[:, :count], leading


@pytest.mark.parametrize("dtype", lib.LETTERS)
@pytest.mark.parametrize("order", lib.ORDERS)
@pytest.mark.parametrize(
    "steps", [(1, 1), (0, 1), (1, 0), (-1, 1), (0, -1), (-1, -1)]
)  # from matrix to matrix
def test_batches(calls: Any, expect: Any, steps: tuple[int, int], order: str, dtype: str) -> None:
    rng = np.random.default_rng(9)
    m, n, k, batch = calls.sized((5, 6, 17, 4), (40, 64, 200, 4))
    a, b, c = (normal(rng, (batch, *shape), dtype) for shape in ((m, k), (k, n), (m, n)))
    for x, step in ((a, steps[0]), (b, steps[1])):
        x[...] = x[:1] if step == 0 else x
    for gap, behind, beta in itertools.product((0, 2), ((0, 0, 0), (0, 0, 1), (1, 2, 0)), (0.0, 0.5)):
        (held_a, lda), (held_b, ldb), (held_c, ldc) = (
            apart(lib.lies(x, order, gap), lines) for x, lines in zip((a, b, c), behind, strict=True)
        )
        (first_a, stride_a), (first_b, stride_b) = (
            (x[-1 if step < 0 else 0], step * x.strides[0] // x.itemsize)
            for x, step in zip((held_a, held_b), steps, strict=True)
        )
        alpha, last = (lib.factor(x, a.dtype) for x in (1.5, beta))
        calls.succeed(
            f"{lib.LETTERS[dtype]}gemm_strided_batched", lib.ORDERS[order], lib.NONE, lib.NONE, m, n, k, alpha, first_a, lda,
            stride_a, first_b, ldb, stride_b, last, held_c, ldc, held_c.strides[0] // held_c.itemsize, batch,
        )  # fmt: skip
        expected = expect(1.5, a[:: steps[0] or 1], b[:: steps[1] or 1], beta, c)
        assert lib.same_bits(lib.seen(held_c, order, gap), expected)


@pytest.mark.parametrize("accuracy", lib.ACCURACIES)
@pytest.mark.parametrize("dtype", lib.LETTERS)
def test_many_batches_with_every_kind_of_factor(calls: Any, expect: Any, dtype: str, accuracy: str) -> None:
    rng = np.random.default_rng(16)
    factors: list[complex] = [0.0, 1.0, -2.0] + ([1j, 1 + 1j] if dtype.startswith("c") else [])
    asked = lib.options(accuracy=lib.ACCURACIES[accuracy])
    for (batch, k), alpha, beta in itertools.product(((0, 2), (1, 1), (40, 3), (7, 0)), factors, factors):
        a, b, c = (normal(rng, (batch, *s), dtype) for s in ((4, k), (k, 3), (4, 3)))
        expected = expect(alpha, a, b, beta, c, accuracy=accuracy)
        first, last = (lib.factor(x, a.dtype) for x in (alpha, beta))
        calls.succeed(
            f"{lib.LETTERS[dtype]}gemm_strided_batched", lib.ROW, lib.NONE, lib.NONE, 4, 3, k, first, a, max(k, 1), 4 * k, b, 3,
            3 * k, last, c, 3, 12, batch, asked=asked,
        )  # fmt: skip
        assert lib.same_bits(c, expected), (batch, k, alpha, beta)


@pytest.mark.parametrize("dtype", lib.LETTERS)
def test_bounds_of_batches(calls: Any, expect: Any, dtype: str) -> None:
    rng = np.random.default_rng(11)
    m, n, k = calls.sized((4, 5, 20), (35, 22, 60))
    a, b = normal(rng, (3, m, k), dtype), normal(rng, (3, k, n), dtype)
    kind = "complex128" if dtype.startswith("c") else "float64"
    c, (bound, leading) = np.full((3, m, n), np.nan, dtype), lib.lies(np.zeros((3, m, n), kind), "row", 1)
    for stride in (0, bound[0].size):
        asked = lib.options(ld_bound=leading, stride_bound=stride)
        alpha, beta = (lib.factor(x, a.dtype) for x in (1.0, 0.0))
        calls.succeed(
            f"{lib.LETTERS[dtype]}gemm_strided_batched", lib.ROW, lib.NONE, lib.NONE, m, n, k, alpha, a, k, m * k, b, n, k * n,
            beta, c, n, m * n, 3, asked=asked, bound=bound,
        )  # fmt: skip
        expected = expect(1.0, a, b, return_bound=True)
        assert lib.same_bits(c, expected[0])
        assert lib.same_bits(lib.seen(bound, "row", 1), expected[1])


@on_the_host
@pytest.mark.parametrize("dtype", lib.LETTERS)
def test_small_products_are_made_in_words(gemm: Any, expect: Any, dtype: str) -> None:
    rng = np.random.default_rng(14)
    for (m, n, k), accuracy in itertools.product(((1, 1, 1), (4, 4, 4), (30, 2, 50)), lib.ACCURACIES):
        a, b = operand(rng, m, k, lib.NONE, dtype), operand(rng, k, n, lib.NONE, dtype)
        report = lib.new_report()
        asked = lib.options(accuracy=lib.ACCURACIES[accuracy], report=ctypes.pointer(report))
        for order in lib.ORDERS:
            assert lib.same_bits(
                gemm(1.0, a, b, order=order, asked=asked), expect(1.0, a, b, accuracy=accuracy)
            )
            assert (report.backend, report.bits) == (0, 64), (m, n, k)
            assert report.workspace > 0
        asked.backend = lib.BACKENDS["fp64"]
        gemm(1.0, a, b, asked=asked)
        assert report.backend == lib.BACKENDS["fp64"]


def test_a_stack_of_which_words_refuse_a_matrix_is_reported_by_planes(library: ctypes.CDLL) -> None:
    x = np.random.default_rng(15).standard_normal((2, 20, 20))
    x[0, 3] *= 2.0**-950
    c = np.empty_like(x)
    reports = []
    for batch in (1, 2):
        report = lib.new_report()
        asked = lib.options(report=ctypes.pointer(report))
        lib.succeed(
            library, "dgemm_strided_batched", lib.ROW, lib.NONE, lib.NONE, 20, 20, 20, 1.0, x, 20, 400, x,
            20, 400, 0.0, c, 20, 400, batch, asked,
        )  # fmt: skip
        reports.append((report.backend, report.bits, report.products, report.moduli_used))
    assert reports[0][0] != 0
    assert reports[0] == reports[1]


@on_the_host
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_workspace_limits_change_no_bit(gemm: Any, library: ctypes.CDLL, dtype: str) -> None:
    rng = np.random.default_rng(10)
    a, b = operand(rng, 90, 200, lib.TRANS, dtype), operand(rng, 200, 70, lib.NONE, dtype)
    trans = (lib.TRANS, lib.NONE)
    whole = gemm(1.0, a, b, trans=trans)
    for limit in (2**18, 2**20):
        for order in lib.ORDERS:
            report = lib.new_report()
            asked = lib.options(workspace_limit=limit, report=ctypes.pointer(report))
            assert lib.same_bits(gemm(1.0, a, b, trans=trans, order=order, asked=asked), whole)
            assert 0 < report.workspace <= limit
    gemm(1.0, a, b, trans=trans, asked=lib.options(workspace_limit=100), status=lib.WORKSPACE)
    assert "workspace_limit" in lib.error(library)
