"""gemm with complex factors and of integers, and gram of integers, on a GPU: the bits of the CPU, and Python's integers.

Skipped where torch, a GPU or its kernels are missing."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from first_gpu import DEVICE, noisy, on_device, torch

import ozfp4
from ozfp4._dispatch import product as dispatched
from ozfp4.testing import assert_same_bits
from support.integers import DTYPES, KINDS, exact, noise, operand, overflows, wrapped

REAL_AND_IMAGINARY = [(1j, 1.0), (-0.7j, 0.0), (0.3, 2.3j), (2j, -0.1j), (0.0, 1j)]
BOTH = [(1 + 2j, 0.0), (0.6 - 0.8j, -1.0), (-1.0, 0.3 + 1j), (0.0, 1 + 1j), (2j, 1e-200 - 7j)]
INTEGERS = [(1, 1), (-3, 2), (2**62, -1), (0, -5), (-(2**63), 2**64 - 1), (5, 0)]


def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any, deep: int = 20) -> np.ndarray:
    x, y = (np.ldexp(rng.standard_normal(shape), rng.integers(-deep, deep, shape)) for _ in range(2))
    return np.asarray(x + 1j * y if np.dtype(dtype).kind == "c" else x, dtype)


def check(alpha: complex, a: np.ndarray, b: np.ndarray, beta: complex, c: np.ndarray, **given: Any) -> None:
    here = (alpha, beta, given, a.shape, b.shape, c.shape, a.dtype, b.dtype, c.dtype)
    expected, bound = ozfp4.gemm(alpha, a, b, beta, c, return_bound=True, **given)
    x, y, z = on_device(a), on_device(b), on_device(c)
    found = ozfp4.gemm(alpha, x, y, beta, z, return_bound=True, **given)
    assert_same_bits(found[0].cpu(), np.asarray(expected), here)
    assert_same_bits(found[1].cpu(), np.asarray(bound), (*here, "bound"))
    out = noisy(np.shape(expected), found[0].dtype)
    assert ozfp4.gemm(alpha, x, y, beta, z, out=out, **given) is out
    assert_same_bits(out.cpu(), np.asarray(expected), (*here, "out"))
    if out.shape == z.shape and out.dtype == z.dtype:
        ozfp4.gemm(alpha, x, y, beta, z, out=z, **given)
        assert_same_bits(z.cpu(), np.asarray(expected), (*here, "in place"))


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("accuracy", ["scaled", "standard", "correct"])
def test_complex_factors(accuracy: str, dtype: Any) -> None:
    rng = np.random.default_rng(1)
    for shapes in (((37, 60), (60, 35), (37, 35)), ((3, 5, 9), (9, 4), (4,)), ((9,), (9,), ())):
        a, b, c = (draw(rng, s, dtype) for s in shapes)
        for alpha, beta in (*REAL_AND_IMAGINARY, *BOTH):
            check(alpha, a, b, beta, c, accuracy=accuracy)
    single = np.float32 if dtype == np.complex64 else np.float64
    for types in ((dtype, single, single), (single, dtype, dtype)):
        a, b, c = (draw(rng, s, t) for s, t in zip(((20, 30), (30, 7), (20, 7)), types, strict=True))
        for alpha, beta in (REAL_AND_IMAGINARY[0], BOTH[1]):
            check(alpha, a, b, beta, c, accuracy=accuracy)


def test_complex_factors_rounded_in_every_direction() -> None:
    rng = np.random.default_rng(2)
    a, b, c = (draw(rng, s, np.complex128, 100) for s in ((20, 30), (30, 25), (20, 25)))
    for rounding, (alpha, beta) in product(("down", "up", "zero"), REAL_AND_IMAGINARY):
        check(alpha, a, b, beta, c, accuracy="correct", rounding=rounding)


def test_complex_specials_and_cancellation() -> None:
    values = [0.0, -0.0, 1.0, -3.0, np.nan, np.inf, -np.inf]
    a = np.array([[complex(x, y), 1.0] for x, y in product(values, values)])
    b = np.array([[1.0, 1j, np.inf, complex(0, np.nan)], [0.0, 2.0, 1.0, -1j]])
    c = np.take(np.array(values) * (1 - 2j), np.add.outer(np.arange(len(a)), 2 * np.arange(4)) % len(values))
    for alpha, beta in (*REAL_AND_IMAGINARY, *BOTH):
        check(alpha, a, b, beta, c)
        check(alpha, a, b, beta, c, accuracy="correct")
    rng = np.random.default_rng(3)
    a, b = draw(rng, (40, 50), np.complex128, 3), draw(rng, (50, 45), np.complex128, 3)
    for accuracy in ("standard", "correct"):
        check(0.6 + 0.8j, a, b, 1.0, -(0.6 + 0.8j) * (a @ b), accuracy=accuracy)


def test_complex_views_and_graphs() -> None:
    rng = np.random.default_rng(4)
    a, b, c = (draw(rng, s, np.complex128) for s in ((30, 40), (40, 50), (30, 50)))
    x, y, z = on_device(a), on_device(b), on_device(c)
    for alpha, beta in ((1j, 2j), (1 + 2j, 1 - 1j)):
        expected = ozfp4.gemm(alpha, a, b, beta, c)
        lazy = (x.conj().resolve_conj().conj(), y.mT.contiguous().mT, z.mT.contiguous().mT)
        assert_same_bits(ozfp4.gemm(alpha, lazy[0], lazy[1], beta, lazy[2]).cpu(), expected)
        wide = torch.zeros((60, 150), dtype=torch.complex128, device=DEVICE)
        ozfp4.gemm(alpha, x, y, beta, z, out=wide[::2, ::3])
        assert_same_bits(wide[::2, ::3].cpu(), expected)
        graph, place = torch.cuda.CUDAGraph(), z.clone()
        ozfp4.gemm(alpha, x, y, beta, place, out=place)
        with torch.cuda.graph(graph):
            ozfp4.gemm(alpha, x, y, beta, place, out=place)
        place.copy_(z)
        graph.replay()
        assert_same_bits(place.cpu(), expected)


def test_a_long_result() -> None:
    """More entries than are summed at a time, within the workspace that they are cut for."""
    rng = np.random.default_rng(5)
    a, b = draw(rng, (1500, 3), np.complex128), draw(rng, (3, 1000), np.complex128)
    expected = ozfp4.gemm(1 + 2j, a, b)
    assert_same_bits(ozfp4.gemm(1 + 2j, on_device(a), on_device(b)).cpu(), expected)
    limited = ozfp4.gemm(1 + 2j, on_device(a), on_device(b), workspace_limit=64 << 20)
    assert_same_bits(limited.cpu(), expected)


def same(found: Any, expected: np.ndarray) -> None:
    assert found.is_cuda
    assert str(found.dtype) == f"torch.{expected.dtype}"
    np.testing.assert_array_equal(found.cpu().numpy(), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_integers(dtype: str) -> None:
    rng = np.random.default_rng(6)
    for (alpha, beta), kind in product(INTEGERS, KINDS):
        for extents in ((17, 9), (9,), ()):
            a, b, c = (operand(rng, kind, s, dtype) for s in ((17, 30), (30, 9), extents))
            expected = wrapped(np.asarray(exact(a, b) * alpha + beta * c.astype(object), object), dtype)
            x, y, z = on_device(a), on_device(b), on_device(c)
            same(ozfp4.gemm(alpha, x, y, beta, z), expected)
            out = on_device(noise((9, 17), dtype)).T
            assert ozfp4.gemm(alpha, x, y, beta, z, out=out) is out
            same(out, expected)
        place = on_device(noise((17, 9), dtype))
        real = np.asarray(exact(a, b) * alpha + beta * place.cpu().numpy().astype(object), object)
        assert ozfp4.gemm(alpha, x, y, beta, place, out=place) is place
        same(place, wrapped(real, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_overflow_is_of_the_exact_sum(dtype: str) -> None:
    rng = np.random.default_rng(7)
    most = np.iinfo(dtype).max
    for alpha, beta in ((1, -1), (2, 0), (3, 7), (0, 2), (1, 1), (2, -2)):
        for kind in ("small", "extremes"):
            a, b = (operand(rng, kind, s, dtype) for s in ((5, 6), (6, 4)))
            c = rng.choice(np.array([0, 1, most, most - 1], dtype), (5, 4))
            real = np.asarray(exact(a, b) * alpha + beta * c.astype(object), object)
            out = on_device(noise((5, 4), dtype))
            before = out.clone()
            given = (alpha, on_device(a), on_device(b), beta, on_device(c))
            right = [0, beta, *(alpha * int(x) for x in b.ravel())]
            fits = min(right) >= -(2**63) and max(right) < 2 ** (63 if min(right) < 0 else 64)
            if (beta != 0 or alpha not in (0, 1)) and not fits:
                with pytest.raises(ValueError, match=r"^overflow: 'raise' needs alpha b and beta in 64 bits"):
                    ozfp4.gemm(*given, out=out, overflow="raise")
            elif wraps := overflows(real, dtype):
                with pytest.raises(
                    OverflowError, match=rf"^overflow: {wraps} entr.* (torch\.)?{dtype}; nothing"
                ):
                    ozfp4.gemm(*given, out=out, overflow="raise")
            else:
                assert ozfp4.gemm(*given, out=out, overflow="raise") is out
                same(out, wrapped(real, dtype))
                continue
            assert torch.equal(out, before)


def test_truth_stacks_mixtures_and_reports() -> None:
    rng = np.random.default_rng(8)
    a, b, c = rng.random((2, 40, 30)) < 0.1, rng.random((30, 50)) < 0.1, rng.random((40, 50)) < 0.1
    for overflow in ("wrap", "raise"):
        same(
            ozfp4.gemm(1, on_device(a), on_device(b), 1, on_device(c), overflow=overflow), np.matmul(a, b) | c
        )
    wide = rng.integers(-(2**62), 2**62, (40, 50))
    expected = 3 * np.matmul(a.astype(np.int64), b.astype(np.int64)) - 2 * wide
    found, report = ozfp4.gemm(3, on_device(a), on_device(b), -2, on_device(wide), report=True)
    same(found, expected)
    assert report.kind == "integer"
    x = rng.standard_normal((30, 50))
    same(ozfp4.gemm(2, on_device(a[0].astype(np.int8)), on_device(x), 1, on_device(c)),
         ozfp4.gemm(2, a[0].astype(float), x, 1, c.astype(float)))  # fmt: skip


def test_updates_of_integers_in_a_graph() -> None:
    a, b, c = noise((40, 30), "int64"), noise((30, 20), "int64"), noise((40, 20), "int64")
    x, y, place = on_device(a), on_device(b), on_device(c)
    ozfp4.gemm(-3, x, y, 5, place, out=place)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        ozfp4.gemm(-3, x, y, 5, place, out=place)
    place.copy_(on_device(c))
    graph.replay()
    same(place, 5 * c - 3 * (a @ b))


@pytest.mark.parametrize("is_cut", [True, False])
@pytest.mark.parametrize("dtype", [*DTYPES, "bool"])
def test_gram_of_integers(dtype: str, is_cut: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if is_cut:
        monkeypatch.setattr(dispatched, "GRAM_COLUMNS", 64)
    for shape in ((30, 201), (2, 9, 130), (0, 70), (1, 1)):
        a = noise(shape, dtype)
        turned = a.swapaxes(-1, -2)
        found, report = ozfp4.gram(on_device(a), report=True)
        same(found, np.matmul(turned, a))
        assert report.kind == "integer"
        out = on_device(noise(found.shape, dtype))
        assert ozfp4.gram(on_device(turned), left=True, out=out) is out
        same(out, np.matmul(turned, a))


@pytest.mark.parametrize("is_cut", [True, False])
def test_overflow_of_gram(is_cut: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if is_cut:
        monkeypatch.setattr(dispatched, "GRAM_COLUMNS", 64)
    a = np.random.default_rng(9).integers(-9, 9, (2, 150, 150)).astype(np.int8)
    real = exact(a, a.swapaxes(-1, -2))
    out = on_device(noise((2, 150, 150), np.int8))
    before = out.clone()
    with pytest.raises(
        OverflowError, match=r"^overflow: \d+ entries of the product do not fit torch.int8; nothing"
    ):
        ozfp4.gram(on_device(a), left=True, out=out, overflow="raise")
    assert torch.equal(out, before)
    report = ozfp4.gram(on_device(a), left=True, report=True)[1]
    assert report.overflows == ozfp4.gram(a, left=True, report=True)[1].overflows
    if not is_cut:
        assert report.overflows == overflows(real, np.int8)
    wide = on_device(a.astype(np.int64))
    same(ozfp4.gram(wide, left=True, overflow="raise"), real.astype(np.int64))


@pytest.mark.parametrize("dtype", [*DTYPES, "bool"])
def test_stacks_strides_and_other_types(dtype: str) -> None:
    """Addends of every dtype that promotes to the operands', wherever they lie."""
    rng = np.random.default_rng(10)
    a, b = noise((2, 3, 18, 30), dtype)[..., ::2, ::3], noise((3, 10, 26), dtype)[..., ::2]
    has_no_promotion = dtype in ("uint16", "uint32", "uint64")  # in torch
    for other in (dtype,) if has_no_promotion else (dtype, "bool"):
        c = noise((3, 1, 26), other)[..., ::2]
        alpha, beta = (1, 1) if dtype == "bool" else (int(rng.integers(-9, 9)) or 2, -3)
        real = np.asarray(alpha * exact(a, b) + beta * c.astype(object), object)
        expected = real.astype(bool) if dtype == "bool" else wrapped(real, dtype)
        x, y, z = (on_device(np.ascontiguousarray(v)) for v in (a, b, c))
        same(ozfp4.gemm(alpha, x, y, beta, z), expected)
        apart = on_device(noise((2, 3, 18, 39), dtype))[..., ::2, ::3]
        assert ozfp4.gemm(alpha, x, y.mT.contiguous().mT, beta, z, out=apart) is apart
        same(apart.contiguous(), expected)
        wide = on_device(np.repeat(a[..., np.newaxis], 2, -1))[
            ..., 0
        ]  # neither axis has its entries side by side
        same(ozfp4.gemm(alpha, wide, y, beta, z), expected)
        same(ozfp4.gemm(alpha, x[0, 0, 0], y[0], beta, z[0, 0]), expected[0, 0, 0])
