"""Gram matrices, integers, prepared operands and plans have the bits of Python's, by the functions of GPUs too."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import library as lib
import numpy as np
import pytest

import ozfp4
from device_names import CUDA
from ozfp4.testing import forced_on_cpu
from support import chosen

# Calls with a report or an error are for the host.
on_the_host = pytest.mark.parametrize("calls", ["host"], indirect=True)
TRANSPOSES = list(itertools.product((lib.NONE, lib.TRANS, lib.CONJ), (lib.NONE, lib.TRANS)))
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def normal(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> lib.Array:
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype.startswith("c") else x).astype(dtype)


def any_integers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> lib.Array:
    limits = np.iinfo(dtype)
    x = rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
    x[rng.random(shape) < 0.2] = limits.min
    x[rng.random(shape) < 0.2] = limits.max
    return x


# ---- Gram matrices ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("accuracy", lib.ACCURACIES)
@pytest.mark.parametrize("dtype", lib.LETTERS)
@pytest.mark.parametrize("order", lib.ORDERS)
def test_gram(calls: Any, order: str, dtype: str, accuracy: str) -> None:
    rng = np.random.default_rng(1)
    asked = lib.options(accuracy=lib.ACCURACIES[accuracy])
    adjoint = lib.CONJ if dtype.startswith("c") else lib.TRANS
    extents = ((1, 1), (7, 20), (600, 3), (5, 0), (0, 4), *calls.sized((), ((70, 33), (33, 300))))
    for trans, (n, k) in itertools.product((lib.NONE, adjoint), extents):
        x = normal(rng, (n, k) if trans == lib.NONE else (k, n), dtype)
        a, lda = lib.lies(x, order, 1)
        c, ldc = lib.lies(np.full((n, n), np.nan, dtype), order, 2)
        calls.succeed(
            f"{lib.LETTERS[dtype]}gram", lib.ORDERS[order], trans, n, k, a, lda, c, ldc, asked=asked
        )
        found = lib.seen(c, order, 2)
        expected = ozfp4.gram(x, left=trans == lib.NONE, accuracy=accuracy)
        assert np.array_equal(found, expected)  # zeros of imaginary parts may differ in sign
        assert np.array_equal(found, found.conj().T)
        if not dtype.startswith("c"):
            assert lib.same_bits(found, expected)


@pytest.mark.parametrize("calls", [CUDA], indirect=True)
@pytest.mark.parametrize("accuracy", lib.ACCURACIES)
@pytest.mark.parametrize("dtype", lib.LETTERS)
def test_gram_in_several_blocks(calls: Any, dtype: str, accuracy: str) -> None:
    """Planes of operands are kept for real types without a limit."""
    rng = np.random.default_rng(10)
    x = normal(rng, (6145, 31), dtype)
    x[60, 3] = np.inf
    for order, limit in [("row", 0), ("column", 1 << 30)][: 2 if accuracy == "standard" else 1]:
        a, lda = lib.lies(x, order, 1)
        c = np.full((6145, 6145), np.nan, dtype)
        asked = lib.options(accuracy=lib.ACCURACIES[accuracy], workspace_limit=limit)
        calls.succeed(
            f"{lib.LETTERS[dtype]}gram", lib.ORDERS[order], lib.NONE, 6145, 31, a, lda, c, 6145, asked=asked
        )
        expected = ozfp4.gram(x, left=True, accuracy=accuracy)
        found = lib.seen(c, order)
        assert np.array_equal(found.real, expected.real, equal_nan=True)
        assert np.array_equal(found.imag, expected.imag, equal_nan=True)


# ---- Integers ---------------------------------------------------------------------------------------------------------


def wrapped(a: lib.Array, b: lib.Array, dtype: str) -> lib.Array:
    """The product modulo 2^w, by Python's integers."""
    exact = a.astype(object) @ b.astype(object) if a.shape[1] else np.zeros((a.shape[0], b.shape[1]), object)
    bits = 8 * np.dtype(dtype).itemsize
    return np.array([int(x) % 2**bits for x in exact.flat], f"uint{bits}").view(dtype).reshape(exact.shape)


def taken(x: lib.Array, trans: int) -> lib.Array:
    """X such that op(X) is x."""
    return x if trans == lib.NONE else x.T


def multiply(
    calls: Any,
    a: lib.Array,
    b: lib.Array,
    dtype: str,
    *,
    order: str = "row",
    trans: tuple[int, int] = (lib.NONE, lib.NONE),
    gap: int = 1,
    factors: tuple[int, int] = (1, 0),
    c: lib.Array | None = None,
    modulus: int | None = None,
    asked: lib.Options | None = None,
    status: int = lib.OK,
) -> lib.Array:
    m, k, n = *a.shape, b.shape[1]
    (held_a, lda), (held_b, ldb) = (
        lib.lies(taken(a, trans[0]), order, gap),
        lib.lies(taken(b, trans[1]), order, 2 * gap),
    )
    held_c, ldc = lib.lies(np.full((m, n), 77, dtype) if c is None else c, order, 3)
    before = held_c.copy()
    of_a, of_b = lib.TYPES[a.dtype.name], lib.TYPES[b.dtype.name]
    if modulus is None:
        found = calls(
            "igemm", lib.ORDERS[order], *trans, m, n, k, factors[0], of_a, held_a, lda, of_b, held_b, ldb, factors[1],
            lib.TYPES[dtype], held_c, ldc, asked=asked,
        )  # fmt: skip
    else:
        found = calls(
            "gemm_mod", lib.ORDERS[order], *trans, m, n, k, of_a, held_a, lda, of_b, held_b, ldb, modulus, held_c, ldc,
            asked=asked,
        )  # fmt: skip
    assert found == status, lib.error(calls.library)
    assert held_c[:, -3:].tobytes() == before[:, -3:].tobytes()  # nothing is written between the lines
    if found != lib.OK:
        assert held_c.tobytes() == before.tobytes()
    return lib.seen(held_c, order, 3)


@pytest.mark.parametrize("result", INTEGERS)
def test_integers_of_every_pair_of_types(calls: Any, result: str) -> None:
    rng = np.random.default_rng(2)
    shapes = [(9, 11, 30), (3, 3, 0), *calls.sized([(1, 1, 1), (2, 40, 130), (0, 2, 2)], [])]
    for (one, other), (m, n, k) in itertools.product(itertools.product(INTEGERS, repeat=2), shapes):
        a, b = any_integers(rng, (m, k), one), any_integers(rng, (k, n), other)
        for order in lib.ORDERS:
            found = multiply(calls, a, b, result, order=order)
            assert np.array_equal(found, wrapped(a, b, result)), (one, other, m, n, k, order)


@on_the_host
@pytest.mark.parametrize("backend", ["fp4", "int8", "fp64"])
def test_integers_by_plans(calls: Any, backend: str) -> None:
    rng = np.random.default_rng(3)
    for one, other, result in (
        ("int64", "int64", "int64"),
        ("uint64", "int8", "int32"),
        ("int8", "int8", "int64"),
    ):
        a, b = any_integers(rng, (13, 37), one), any_integers(rng, (37, 9), other)
        report = lib.new_report()
        asked = lib.options(backend=lib.BACKENDS[backend], report=ctypes.pointer(report))
        assert np.array_equal(multiply(calls, a, b, result, asked=asked), wrapped(a, b, result))
        assert report.backend == lib.BACKENDS[backend]
        exact = (a.astype(object) @ b.astype(object)).ravel()
        limits = np.iinfo(result)
        assert report.overflows == sum(not limits.min <= x <= limits.max for x in exact)


def test_integer_updates(calls: Any) -> None:
    rng = np.random.default_rng(4)
    for dtype, factors in itertools.product(
        ("int8", "uint32", "int64"), ((3, 0), (-1, 1), (0, 5), (2**62, -7), (1, 1), (0, 0))
    ):
        a, b, c = (any_integers(rng, shape, dtype) for shape in ((6, 9), (9, 5), (6, 5)))
        exact = factors[0] * (a.astype(object) @ b.astype(object)) + factors[1] * c.astype(object)
        bits = 8 * np.dtype(dtype).itemsize
        expected = np.array([x % 2**bits for x in exact.flat], f"uint{bits}").view(dtype).reshape(6, 5)
        for order in lib.ORDERS:
            assert np.array_equal(multiply(calls, a, b, dtype, order=order, factors=factors, c=c), expected)


@on_the_host
def test_workspace_of_an_integer_update_is_reported(calls: Any) -> None:
    x = np.ones((50, 40), np.int64)
    report = lib.new_report()
    asked = lib.options(report=ctypes.pointer(report))
    multiply(calls, x, x.T.copy(), "int64", asked=asked)
    plain = report.workspace
    multiply(calls, x, x.T.copy(), "int64", asked=asked, factors=(2, 1))
    assert report.workspace == plain + 50 * 50 * 8  # the product before the sum


@on_the_host
def test_overflow_is_an_error_where_it_is_asked_for(calls: Any) -> None:
    asked = lib.options(overflow=1)
    a = np.array([[100, 27]], np.int8)
    assert multiply(calls, a, np.array([[1], [1]], np.int8), "int8", asked=asked) == 127
    multiply(calls, a, np.array([[1], [2]], np.int8), "int8", asked=asked, status=lib.OVERFLOW)
    text = "options.overflow: {} not fit int8; nothing was written"
    assert lib.error(calls.library) == text.format("1 entry of the product does")
    multiply(
        calls, np.vstack([a, a]), np.array([[1], [2]], np.int8), "int8", asked=asked, status=lib.OVERFLOW
    )
    assert lib.error(calls.library) == text.format("2 entries of the product do")
    assert multiply(calls, a, np.array([[1], [2]], np.int8), "int16", asked=asked) == 154
    multiply(calls, a, a.T, "int16", asked=asked, factors=(2, 0), status=lib.UNSUPPORTED)


def test_named_integer_functions(calls: Any) -> None:
    rng = np.random.default_rng(5)
    for name, entry, result in (
        ("i8i8i32", "int8", "int32"), ("i32i32i64", "int32", "int64"), ("i64i64i64", "int64", "int64"),
    ):  # fmt: skip
        a, b = (any_integers(rng, shape, entry) for shape in ((31, 70), (18, 70)))
        c = np.ones((31, 18), result)
        calls.succeed(f"gemm_{name}", lib.ROW, lib.NONE, lib.TRANS, 31, 18, 70, 1, a, 70, b, 70, 1, c, 18)
        assert np.array_equal(c, wrapped(a, b.T, result) + np.ones((), result))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_products_modulo_a_number(calls: Any, dtype: str) -> None:
    rng = np.random.default_rng(6)
    for modulus, extents in itertools.product(
        (1, 2, 97, 10**9 + 7, 2**63 - 1), ((6, 41, 8), (3, 0, 2), (0, 3, 2))
    ):
        m, k, n = extents
        a, b = any_integers(rng, (m, k), dtype), any_integers(rng, (k, n), dtype)
        expected = ozfp4.matmul_mod(a, b, modulus)
        for order in lib.ORDERS:
            assert np.array_equal(multiply(calls, a, b, "int64", order=order, modulus=modulus), expected)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "uint64"])
@pytest.mark.parametrize("order", lib.ORDERS)
def test_layouts_of_integers(calls: Any, order: str, dtype: str) -> None:
    rng = np.random.default_rng(11)
    m, k, n = 45, 71, 130
    a, b = any_integers(rng, (m, k), dtype), any_integers(rng, (k, n), dtype)
    expected = np.matmul(a, b)
    for trans, gap in itertools.product(TRANSPOSES, (0, 1, 5)):
        given: Any = {"order": order, "trans": trans, "gap": gap}
        assert np.array_equal(multiply(calls, a, b, dtype, **given), expected), given
        found = multiply(calls, a, b, "int64", **given, modulus=97)
        assert np.array_equal(found, ozfp4.matmul_mod(a, b, 97)), given


# ---- Prepared operands --------------------------------------------------------------------------------------------------


def prepare(
    calls: Any, x: lib.Array, side: int, order: str, trans: int, asked: lib.Options | None = None
) -> Any:
    held, leading = lib.lies(x, order, 1)
    rows, columns = x.shape if trans == lib.NONE else x.shape[::-1]
    made = calls.prepare(
        lib.TYPES[x.dtype.name], side, lib.ORDERS[order], trans, rows, columns, held, leading, asked=asked
    )
    held[...] = np.nan  # it is a copy
    return made


@pytest.mark.parametrize("accuracy", lib.ACCURACIES)
@pytest.mark.parametrize("dtype", lib.LETTERS)
@pytest.mark.parametrize("order", lib.ORDERS)
def test_prepared_operands(calls: Any, expect: Any, order: str, dtype: str, accuracy: str) -> None:
    rng = np.random.default_rng(7)
    m, n, k = calls.sized((12, 9, 70), (33, 70, 129))
    asked = lib.options(accuracy=lib.ACCURACIES[accuracy])
    trans = (lib.CONJ, lib.TRANS)
    a, b, c = normal(rng, (k, m), dtype), normal(rng, (n, k), dtype), normal(rng, (m, n), dtype)
    made = (
        prepare(calls, a, lib.LEFT, order, trans[0], asked),
        prepare(calls, b, lib.RIGHT, order, trans[1], asked),
    )
    assert calls.is_gpu or all(calls.library.ozfp4_prepared_bytes(x) > 0 for x in made)
    factors: list[complex] = [1.0, -0.5, 0.0] + ([2j, 1 + 1j] if dtype.startswith("c") else [])
    for (uses_a, uses_b), alpha, beta in itertools.product(((1, 0), (0, 1), (1, 1)), factors, factors):
        if alpha == 2j and uses_a and uses_b:
            continue
        (held_a, lda), (held_b, ldb), (held_c, ldc) = (lib.lies(x, order, 2) for x in (a, b, c))
        first, last = np.array([alpha], dtype), np.array([beta], dtype)
        calls.succeed(
            "gemm_prepared", lib.ORDERS[order], *trans, m, n, k, first,
            *((None, 0, made[0]) if uses_a else (held_a, lda, None)),
            *((None, 0, made[1]) if uses_b else (held_b, ldb, None)), last, held_c, ldc,
        )  # fmt: skip
        expected = expect(alpha, a, b, beta, c, trans=trans, accuracy=accuracy)
        assert lib.same_bits(lib.seen(held_c, order, 2), expected), (uses_a, uses_b, alpha, beta)
    for x in made:
        calls.release(x)


def test_prepared_operands_refuse_other_calls(calls: Any) -> None:
    rng = np.random.default_rng(8)
    left = prepare(calls, normal(rng, (4, 6), "float64"), lib.LEFT, "row", lib.NONE)
    right = prepare(calls, normal(rng, (6, 5), "float32"), lib.RIGHT, "row", lib.NONE)
    turned = prepare(calls, normal(rng, (4, 6), "float64"), lib.LEFT, "column", lib.NONE)
    b, c, one = np.ones((6, 5)), np.zeros((4, 5)), np.ones(1)

    def refusal(of_a: Any, of_b: Any, data_b: Any = b, k: int = 6, **asked: Any) -> str:
        chosen = lib.options(**asked)
        status = calls(
            "gemm_prepared", lib.ROW, lib.NONE, lib.NONE, 4, 5, k, one, None, 6, of_a, data_b, 5, of_b, one, c, 5,
            asked=chosen,
        )  # fmt: skip
        assert status == lib.INVALID
        assert not c.any()
        return lib.error(calls.library)

    assert refusal(None, None).startswith("prepared_a: is NULL")
    assert refusal(left, right).startswith("b: is not NULL")
    assert refusal(left, right, None).startswith("prepared_b: it was prepared for another type")
    assert refusal(right, None).startswith("prepared_a: it was prepared for the other side")
    assert refusal(turned, None).startswith("prepared_a: it was prepared with another order")
    assert refusal(left, None, k=7).startswith("prepared_a: it is 4 x 6")
    assert refusal(left, None, accuracy=3).startswith("options.accuracy")
    assert refusal(left, None, backend=1).startswith("options.backend")
    for x in (left, right, turned):
        calls.release(x)
    calls.release(None)


# ---- Plans ----------------------------------------------------------------------------------------------------------------


@on_the_host
@pytest.mark.parametrize("dtype", lib.LETTERS)
def test_plans_are_those_of_python(library: ctypes.CDLL, gemm: Any, dtype: str) -> None:
    rng = np.random.default_rng(9)
    for given in (
        {}, {"accuracy": "scaled"}, {"bits": 30, "accuracy": "scaled"}, {"scheme": "I"}, {"backend": "fp4"},
        {"family": "paper", "accuracy": "scaled"},
        {"accuracy": "correct", "backend": "int8"}, {"scheme": "I", "backend": "fp4", "family": "paper", "accuracy": "scaled"},
    ):  # fmt: skip
        numbers = {
            "accuracy": lib.ACCURACIES,
            "scheme": lib.SCHEMES,
            "backend": lib.BACKENDS,
            "family": lib.FAMILIES,
        }
        asked = lib.options(**{name: numbers[name][x] if name in numbers else x for name, x in given.items()})
        plan, info = ctypes.c_void_p(), lib.PlanInfo(size=ctypes.sizeof(lib.PlanInfo))
        k = 300
        made = library.ozfp4_plan_create(lib.TYPES[dtype], k, asked, ctypes.addressof(plan))
        assert made == lib.OK, lib.error(library)
        assert library.ozfp4_plan_describe(plan, info) == lib.OK
        moduli = (ctypes.c_int64 * max(info.moduli, 1))()
        assert library.ozfp4_plan_moduli(plan, moduli, info.moduli) == lib.OK
        a, b = normal(rng, (4, k), dtype), normal(rng, (k, 3), dtype)
        with forced_on_cpu():  # complex products in machine words take a plan of real ones
            c, report = chosen.matmul(a, b, report=True, **given)
        expected = report.plan
        assert list(moduli)[: info.moduli] == list(expected.moduli)
        assert lib.SCHEMES[expected.scheme] == info.scheme
        assert lib.BACKENDS[expected.backend] == info.backend
        assert lib.FAMILIES[expected.family] == info.family
        assert bool(info.is_complex) == expected.is_complex
        assert (info.bits, info.products, info.k_max) == (expected.bits, expected.products, expected.k_max)
        again = lib.options(plan=plan.value, accuracy=lib.ACCURACIES[report.accuracy])
        assert lib.same_bits(gemm(1.0, a, b, asked=again), c)
        library.ozfp4_plan_destroy(plan)
    library.ozfp4_plan_destroy(None)
