"""Products of integers in machine words, which a CPU makes by default, against Python's integers."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4 import _core
from ozfp4._options import Options
from ozfp4._request.integers import entry_bits
from support.integers import DTYPES, KINDS, exact, modulo, noise, operand, wrapped

# Extents around those of a tile (8 x 32), a task (64 x 256) and a piece of K (512).
SHAPES = [
    (1, 1, 1), (7, 3, 31), (8, 64, 32), (9, 65, 33), (65, 511, 5), (3, 513, 257), (64, 1, 256), (130, 1030, 2),
]  # fmt: skip
LIMIT = 2**30


def multiply(a: np.ndarray, b: np.ndarray, out: np.ndarray, limit: int = LIMIT, **further: Any) -> Any:
    """The core's findings of the product in `out`."""
    asked, bits = Options(workspace_limit=limit, accuracy="scaled"), max(map(entry_bits, (a.dtype, b.dtype)))
    return _core.multiply_integers(a, b, out, asked, bits, is_reported=True, **further)


def direct(a: np.ndarray, b: np.ndarray, limit: int = LIMIT) -> tuple[np.ndarray, Any]:
    """The product in the dtype of `a`, in an array of noise, and what the core says; it is made in words."""
    out = noise((a.shape[0], b.shape[1]), a.dtype)
    about = multiply(a, b, out, limit)
    assert about["word_bits"] in (32, 64)
    return out, about


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_dtype(dtype: str, kind: str) -> None:
    rng = np.random.default_rng(1)
    for m, k, n in SHAPES:
        a, b = operand(rng, kind, (m, k), dtype), operand(rng, kind, (k, n), dtype)
        expected = wrapped(exact(a, b), dtype)
        for limit in (LIMIT, 5000):
            found, about = direct(a, b, limit)
            np.testing.assert_array_equal(found, expected)
            assert about["workspace"] <= limit


@pytest.mark.parametrize(("x", "y", "bits"), [
    (46340, 46341, 32), (-46340, 46341, 32), (65536, 32767, 32), (65536, 32768, 64), (65536, -32768, 64),
    (46341, 46341, 64), (3037000499, 3037000500, 64), (2**61, 3, 64),
])  # fmt: skip
def test_words_of_32_bits_where_the_product_fits(x: int, y: int, bits: int) -> None:
    """At the ends of both words; by one entry, and by the sums of pieces of K that cancel."""
    for k, a, b in ((1, x, y), (1030, x, y)):
        left, right = np.zeros((5, k), np.int64), np.zeros((k, 6), np.int64)
        left[:, -1], right[-1] = a, b
        c, report = ozfp4.matmul(left, right, report=True)
        np.testing.assert_array_equal(c, np.full((5, 6), x * y))
        assert (report.backend, report.plan, report.bits, report.overflows) == ("direct", None, bits, 0)
        assert "direct (words of" in str(report)


def test_long_sums_of_small_integers() -> None:
    """Just below 2^31, in words of 32 bits, added up piece by piece."""
    k = 1500
    x = math.isqrt((2**31 - 1) // k)
    for sign in (1, -1):
        c, report = ozfp4.matmul(np.full((9, k), sign * x), np.full((k, 33), x), report=True)
        np.testing.assert_array_equal(c, np.full((9, 33), sign * k * x * x))
        assert report.bits == 32


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_may_overflow_is_left_to_moduli(dtype: str) -> None:
    top = np.array([[np.iinfo(dtype).max]], dtype)
    found = direct(top, top)[0]
    counted = noise((1, 1), dtype)
    about = multiply(top, top, counted, counts=True)
    assert (about["word_bits"], about["overflows"]) == (0, 1)
    np.testing.assert_array_equal(counted, found)
    c, report = ozfp4.matmul(top, top, report=True)
    np.testing.assert_array_equal(c, found)
    assert (report.backend, report.overflows) == (report.plan.backend, 1)
    one = np.ones((1, 1), dtype)
    assert ozfp4.matmul(one, one, overflow="raise", report=True)[1].plan is None


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "uint64"])
def test_signs_do_not_fit_an_unsigned_result(dtype: str) -> None:
    a, b = np.array([[-3, 2]]), np.array([[1], [1]])
    out = noise((1, 1), dtype)
    for x, y in ((a, b), (a.astype(np.int8), b.astype(np.uint8)), (abs(a).astype(np.uint8), -b)):
        about = multiply(x, y, out, counts=True)
        real = exact(x * 1, y * 1)
        assert (about["word_bits"], about["overflows"]) == (0, int(real[0, 0] < 0))
        np.testing.assert_array_equal(out, wrapped(real, dtype))
    assert multiply(a, b, out)["word_bits"] in (32, 64)
    np.testing.assert_array_equal(out, wrapped(exact(a, b), dtype))
    unsigned = [abs(z).astype(dtype) for z in (a, b)]
    assert multiply(*unsigned, out, counts=True)["word_bits"] in (32, 64)
    np.testing.assert_array_equal(out, np.array([[5]], dtype))


def test_a_stack_of_which_one_may_overflow() -> None:
    a = np.array([[[1, 2]], [[2**62, 5]]])
    out = noise((2, 1, 1), np.int64)
    before = out.copy()
    with pytest.raises(OverflowError, match=r"^overflow: 1 entry"):
        ozfp4.matmul(a, np.full((2, 2, 1), 7), overflow="raise", out=out)
    np.testing.assert_array_equal(out, before)
    c = ozfp4.matmul(a, np.full((2, 2, 1), 7), report=True)[0]
    np.testing.assert_array_equal(c, wrapped(exact(a, np.full((2, 2, 1), 7)), np.int64))


@pytest.mark.parametrize("asked", [
    {"backend": "fp64"}, {"backend": "int8"}, {"scheme": "I"},
    {"plan": ozfp4.plan(9, 9, 9, bits=80, accuracy="scaled", backend="int8")},
], ids=lambda asked: next(iter(asked)))  # fmt: skip
def test_what_asks_for_a_plan_gets_one(asked: dict[str, Any]) -> None:
    rng = np.random.default_rng(4)
    a, b = operand(rng, "full", (40, 60), "int64"), operand(rng, "full", (60, 50), "int64")
    c, report = ozfp4.matmul(a // 2**40, b // 2**40, report=True, **asked)
    assert report.plan is not None
    np.testing.assert_array_equal(c, ozfp4.matmul(a // 2**40, b // 2**40))
    np.testing.assert_array_equal(ozfp4.matmul(a, b, **asked), ozfp4.matmul(a, b))


@pytest.mark.parametrize("m", [1, 2, 97, 2**31 - 1, 2**63 - 1])
def test_modulo_a_number(m: int) -> None:
    rng = np.random.default_rng(5)
    a, b = operand(rng, "full", (33, 600), "int16"), operand(rng, "full", (600, 40), "int16")
    expected = modulo(exact(a, b), m)
    assert (exact(a, b) < 0).any()
    c, report = ozfp4.matmul_mod(a, b, m, report=True)
    np.testing.assert_array_equal(c, expected)
    assert report.plan is None
    large = np.array([[2**62, 2**62]])
    nearest = [min(2**62 % m, m - 2**62 % m)] * 2
    found = multiply(large, large.T, np.empty((1, 1), np.int64), modulus=m)
    assert (found["word_bits"] == 0) == (nearest[0] ** 2 * 2 >= 2**63)


def test_progress_and_blocks() -> None:
    rng = np.random.default_rng(6)
    a, b = operand(rng, "full", (70, 900), "int64"), operand(rng, "full", (900, 65), "int64")
    called: list[float] = []
    with ozfp4.progress(called.append):
        c = ozfp4.matmul(a, b, workspace_limit=300_000)
    np.testing.assert_array_equal(c, wrapped(exact(a, b), np.int64))
    assert len(called) > 1
    assert called[-1] == 1.0
    assert all(x < y for x, y in pairwise([0.0, *called]))

    def stop(_: float) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"), ozfp4.progress(stop):
        ozfp4.matmul(a, b)
    out = noise((70, 65), a.dtype)
    before = out.copy()
    with pytest.raises(MemoryError):  # words need 288 bytes, and a plan more
        multiply(a, b, out, 287)
    np.testing.assert_array_equal(out, before)
    assert multiply(a, b, out, 288)["workspace"] == 288
    np.testing.assert_array_equal(out, c)


def test_limits_below_and_between_words() -> None:
    """Matrices of a stack that need words of both widths: one width multiplies all, or a plan does, or nothing is written."""
    a, b = np.ones((2, 4, 4), np.int64), np.ones((2, 4, 4), np.int64)
    a[1], b[1] = 2**40, 2**10
    expected = wrapped(np.stack([exact(x, y) for x, y in zip(a, b, strict=True)]), np.int64)
    least: int | None = None
    for limit in range(420, 0, -7):
        out = noise((2, 4, 4), np.int64)
        before = out.copy()
        try:
            ozfp4.matmul(a, b, out=out, workspace_limit=limit)
        except MemoryError as error:
            np.testing.assert_array_equal(out, before)
            named = int(str(error).rpartition("at least ")[2].split()[0])
            assert limit < named
            assert least in (None, named)
            least = named
        else:
            assert least is None
            np.testing.assert_array_equal(out, expected)
    assert least is not None
    np.testing.assert_array_equal(ozfp4.matmul(a, b, workspace_limit=least), expected)
    np.testing.assert_array_equal(ozfp4.matmul(a[::-1], b[::-1]), expected[::-1])
    _, report = ozfp4.matmul(a[:1], b[:1], report=True, workspace_limit=144)
    assert (report.bits, report.workspace) == (32, 144)
    assert ozfp4.matmul(a, b, report=True, workspace_limit=288)[1].workspace == 288


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_vectors(dtype: str, kind: str) -> None:
    """One row or one column, in every layout of the other side; long enough for several pieces and threads."""
    rng = np.random.default_rng(9)
    for lines, k in ((1, 1), (1, 513), (2, 70_003), (17, 20_001), (300, 1031)):
        x, y = operand(rng, kind, (lines, k), dtype), operand(rng, kind, (k, 1), dtype)
        spread = np.repeat(y, 3, axis=1)[:, 1:2]
        expected = wrapped(exact(x, y), dtype)
        backwards = x[::-1, ::-1].copy()[::-1, ::-1]
        unaligned = np.ndarray(x.shape, x.dtype, np.empty(x.nbytes + 1, np.uint8), 1)
        unaligned[...] = x
        for matrix in (x, np.asfortranarray(x), backwards, unaligned):
            for vector in (y, spread):
                found, about = direct(matrix, vector)
                np.testing.assert_array_equal(found, expected)
                assert about["workspace"] == 0
                wide = noise((2, 3 * lines), dtype)
                before = wide.copy()
                multiply(vector.T, matrix.T, wide[:1, ::3], 320)
                np.testing.assert_array_equal(wide[:1, ::3], expected.T)
                before[:1, ::3] = expected.T
                np.testing.assert_array_equal(wide, before)


def test_dots_of_a_stack_and_modulo_a_number() -> None:
    rng = np.random.default_rng(10)
    a, b = operand(rng, "full", (50, 300), "int32"), operand(rng, "full", (50, 300), "int32")
    expected = [wrapped(exact(x[None], y[:, None]), np.int32)[0, 0] for x, y in zip(a, b, strict=True)]
    np.testing.assert_array_equal(ozfp4.einsum("ki,ki->k", a, b), expected)
    x, y = operand(rng, "full", (3, 999), "int16"), operand(rng, "full", (999, 1), "int16")
    for left, right in ((x, y), (y.T, x.T)):
        c, report = ozfp4.matmul_mod(left, right, 97, report=True)
        np.testing.assert_array_equal(c, modulo(exact(left, right), 97))
        assert report.plan is None


@pytest.mark.parametrize(("m", "n"), [(100, 2), (3, 100), (2, 2), (4, 4), (33, 7), (7, 33), (100, 9)])
def test_few_columns_or_rows(m: int, n: int) -> None:
    """Either side may be that of the wide panels."""
    rng = np.random.default_rng(11)
    a, b = operand(rng, "full", (m, 700), "int64"), operand(rng, "full", (700, n), "int64")
    for limit in (LIMIT, 5000):
        np.testing.assert_array_equal(direct(a, b, limit)[0], wrapped(exact(a, b), np.int64))


@pytest.mark.parametrize(("m", "k", "n"), [(3, 0, 4), (0, 5, 4), (3, 5, 0), (1, 0, 1)])
def test_report_of_an_empty_product(m: int, k: int, n: int) -> None:
    c, report = ozfp4.matmul(np.ones((m, k), np.int64), np.ones((k, n), np.int64), report=True)
    np.testing.assert_array_equal(c, np.zeros((m, n)))
    assert (report.plan, report.bits, report.products) == (None, 32, 0)
    assert "words of 32 bits" in str(report)


def test_threads_change_no_bit(variables: Callable[..., None]) -> None:
    rng = np.random.default_rng(7)
    a, b = operand(rng, "full", (300, 600), "int64"), operand(rng, "full", (600, 520), "int64")
    found = []
    for threads in ("1", "2", "5"):
        variables(OZFP4_NUM_THREADS=threads)
        found.append(ozfp4.matmul(a, b))
    np.testing.assert_array_equal(found[0], a @ b)
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
