"""gram: the bits of matmul(a.T, a), symmetric, of blocks on and above the diagonal alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4._dispatch import product as dispatched
from ozfp4.testing import assert_same_bits
from support import noise, operands
from support.devices import Device
from support.dtypes import both_types


@pytest.fixture(autouse=True)
def narrow_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatched, "GRAM_COLUMNS", 64)


def product(a: np.ndarray, left: bool, **options: Any) -> Any:
    other = a.swapaxes(-1, -2)
    return ozfp4.matmul(a, other, **options) if left else ozfp4.matmul(other, a, **options)


def assert_symmetric(c: np.ndarray) -> None:
    assert_same_bits(c, np.ascontiguousarray(c.swapaxes(-1, -2)))


@both_types
@pytest.mark.parametrize("accuracy", ["scaled", "standard", "correct"])
@pytest.mark.parametrize("kind", ["phi32", "specials"])
def test_equals_the_product(kind: str, accuracy: str, dtype: type, device: Device) -> None:
    for left in (False, True):
        for m, k in ((201, 30), (130, 1), (1, 9), (64, 5), *device.sized([], [(1000, 129)])):
            a = operands(kind, m, k, 1, dtype=dtype)[0]
            a = a if left else np.ascontiguousarray(a.T)
            expected = product(a, left, accuracy=accuracy)
            for backend in device.sized(["auto"], ["int8", "fp4"]):
                out = noise((m, m), dtype)
                assert device.gram(a, left=left, accuracy=accuracy, backend=backend, out=out) is out
                assert_same_bits(out, expected, f"{kind} {left} {m} x {k} {backend}")
                assert_symmetric(out)


@pytest.mark.parametrize("left", [False, True])
def test_specials_stacks_and_views(left: bool, device: Device) -> None:
    rng = np.random.default_rng(3)
    a = rng.standard_normal((2, 3, 100, 90))
    a[0, 0, 7, 70], a[1, 2, 99, 0], a[0, 1, 3] = np.nan, np.inf, 0.0
    a[1, 1, 5, 6], a[1, 1, 5, 80] = np.inf, -np.inf
    for x in (a, a[:, ::-1, ::-2], a.swapaxes(-1, -2), a[0, 0], a[:0], a[:, :, :0], a[..., :0], a[1, 1, 5:6]):
        big = noise((*x.shape[:-2], 210, 210))
        extent = x.shape[-2] if left else x.shape[-1]
        out = big[..., 1 : 2 * extent : 2, extent - 1 :: -1] if extent else big[..., :0, :0]
        if not device.takes(out):
            out = big[..., 1 : 2 * extent : 2, :extent]
        device.gram(x, left=left, out=out)
        assert_same_bits(out, product(x, left))
        assert_symmetric(out)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64], ids=["complex128", "complex64"])
@pytest.mark.parametrize("left", [False, True])
def test_complex(left: bool, dtype: type, device: Device) -> None:
    rng = np.random.default_rng(8)
    a = (rng.standard_normal((2, 150, 140)) + 1j * rng.standard_normal((2, 150, 140))).astype(dtype)
    a[:, :, 3].imag, a[:, 5] = 0.0, 0.0
    a[1, 100, 90] = complex(1.0, np.inf)
    for accuracy, rounding in (
        ("scaled", "nearest"),
        ("standard", "nearest"),
        ("correct", "nearest"),
        ("correct", "zero"),
    ):
        options = {"accuracy": accuracy, "rounding": rounding}
        for x in (a, a[0, ::2, ::-1], a[0, :, :1], a[:, :0]):
            extent = x.shape[-2 if left else -1]
            out = noise((*x.shape[:-2], extent, extent), np.dtype(dtype))
            assert device.gram(x, left=left, out=out, **options) is out
            adjoint = x.conj().swapaxes(-1, -2)
            expected = ozfp4.matmul(x, adjoint, **options) if left else ozfp4.matmul(adjoint, x, **options)
            below = np.tri(
                extent, k=-1, dtype=bool
            )  # the chains of its parts go another way than those above
            expected[..., below] = expected.conj().swapaxes(-1, -2)[..., below]
            diagonal = np.eye(extent, dtype=bool) & np.isfinite(expected)
            expected.imag[diagonal] = 0.0  # what chains leave there is rounding
            assert_same_bits(out.real, expected.real, f"{options} real")
            assert_same_bits(out.imag + 0.0, expected.imag + 0.0, f"{options} imaginary")
            assert_same_bits(out.real, np.ascontiguousarray(out.real.swapaxes(-1, -2)))
            assert np.array_equal(out.imag, -out.imag.swapaxes(-1, -2), equal_nan=True)
    report = device.gram(a, left=left, report=True)[1]
    assert report.kind == "complex"
    assert device.is_gpu or report.special_rows == report.special_columns


def lines_whose_chains_overflow(dtype: type) -> np.ndarray:
    """Large real and small imaginary parts: no certificate, and products beyond the largest number."""
    rng = np.random.default_rng(9)
    large, small = (900, 70) if dtype == np.complex128 else (100, 30)
    parts = 0.5 + rng.random((2, 70, 40))
    return (np.ldexp(parts[0], large) + 1j * np.ldexp(parts[1], large - small)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64], ids=["complex128", "complex64"])
@pytest.mark.parametrize("left", [False, True])
def test_the_diagonal_is_real_where_chains_overflow(left: bool, dtype: type, device: Device) -> None:
    a = lines_whose_chains_overflow(dtype)
    a[3, 5], a[60, 0] = np.nan, complex(np.inf, 1)
    a = a if left else np.ascontiguousarray(a.T)
    adjoint = a.conj().T
    product = ozfp4.matmul(a, adjoint) if left else ozfp4.matmul(adjoint, a)
    expected = np.zeros(70, product.real.dtype)
    expected[[3, 60]] = np.nan
    assert np.isinf(product.diagonal().imag).sum() > 20
    assert_same_bits(device.gram(a, left=left).diagonal().imag.copy(), expected)


def test_only_blocks_above_the_diagonal_are_multiplied(device: Device) -> None:
    a = operands("normal", 64 * 16, 3, 1)[0]
    c, report = device.gram(a, left=True, report=True)
    assert_symmetric(c)
    assert device.is_gpu or report.certified.total * 32 == 17 * 1024**2


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.complex128, np.complex64])
@pytest.mark.parametrize("accuracy", ["standard", "correct", "scaled"])
def test_bounds_are_those_of_the_product(dtype: Any, accuracy: str, left: bool, device: Device) -> None:
    rng = np.random.default_rng(4)
    a = rng.standard_normal((2, 130, 150)).astype(dtype)
    if dtype != np.float64:
        a.imag = rng.standard_normal(a.shape)
    c, bound, report = device.gram(a, left=left, accuracy=accuracy, return_bound=True, report=True)
    assert_same_bits(c, device.gram(a, left=left, accuracy=accuracy))
    of_cpu = ozfp4.gram(a, left=left, accuracy=accuracy, return_bound=True, report=True)
    assert_same_bits(c, of_cpu[0])
    assert_same_bits(bound, of_cpu[1])
    assert (report.kind, report.largest_bound) == (of_cpu[2].kind, of_cpu[2].largest_bound)
    assert_same_bits(np.ascontiguousarray(bound.swapaxes(-1, -2)), bound)
    expected = product(a, left, accuracy=accuracy, return_bound=True)[1]
    above = np.triu(np.ones(bound.shape[-2:], bool))
    if dtype == np.float64:
        assert_same_bits(bound[..., above], expected[..., above])
    assert report.certified is not None or accuracy == "scaled"


@pytest.mark.parametrize("left", [False, True])
def test_overflow_is_refused_and_leaves_out_as_it_was(left: bool, device: Device) -> None:
    a = np.random.default_rng(5).integers(-9, 9, (150, 150)).astype(np.int8)
    out = np.full((150, 150), 3, np.int8)
    with pytest.raises(OverflowError, match=r"^overflow: .* not fit (torch\.)?int8; nothing was written"):
        device.gram(a, left=left, out=out, overflow="raise")
    assert (out == 3).all()
    wide = a.astype(np.int64)
    assert_same_bits(device.gram(wide, left=left, overflow="raise"), wide @ wide.T if left else wide.T @ wide)
    with pytest.raises(ValueError, match=r"^overflow: 'raise' is for products of integers"):
        device.gram(a.astype(float), overflow="raise")


def test_the_report_is_of_all_blocks() -> None:
    a = operands("normal", 200, 40, 1)[0]
    a[5, 6] = np.nan
    c, report = ozfp4.gram(a, left=True, report=True)
    whole = product(a, True, report=True)[1]
    assert_same_bits(c, ozfp4.gram(a, left=True))
    for name in ("exponents", "capacities", "special_rows", "special_columns", "bits", "accuracy", "plan"):
        assert getattr(report, name) == getattr(whole, name), name
    # Blocks of 128 x 128 and 200 x 72; line 5 holds the NaN.
    assert report.certified is not None
    assert report.certified.total == 128 * 128 - 255 + 200 * 72 - 72
    assert set(report.seconds) == set(whole.seconds)
    assert str(report)


def test_conjugated_and_turned_tensors() -> None:
    torch = pytest.importorskip("torch")
    a = torch.randn(90, 130, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    z = torch.complex(a, a.flip(0))
    for view in (z, z.conj(), z.mT):
        assert_same_bits(ozfp4.gram(view).real, ozfp4.matmul(view.mH, view).real)
        assert torch.equal(ozfp4.gram(view), ozfp4.matmul(view.mH, view))


def test_refusals() -> None:
    a = operands("normal", 130, 20, 1)[0]
    before = a.copy()
    out = noise((130, 130))
    kept = out.copy()
    refused: list[tuple[type[Exception], str, Any, dict[str, Any]]] = [
        (ValueError, r"^a: a matrix or a stack of matrices is needed, its shape is \(20,\)", a[0], {}),
        (ValueError, "^rounding: 'up' gives no Hermitian result", a + 1j, {"accuracy": "correct", "rounding": "up"}),
        (TypeError, "^a: dtype float16 is not supported", a.astype(np.float16), {}),
        (ValueError, r"^out: shape \(130, 130\)", a, {"out": out}),
        (TypeError, "^out: dtype float64", a.astype(np.float32), {"left": True, "out": out}),
        (ValueError, "^out: the array shares memory with a", out, {"out": out}),
        (ValueError, "^rounding: 'up' needs", a, {"rounding": "up"}),
        (MemoryError, "^workspace_limit = 10 bytes is too small", a, {"left": True, "out": out, "workspace_limit": 10}),
    ]  # fmt: skip
    for error, text, operand, options in refused:
        with pytest.raises(error, match=text):
            ozfp4.gram(operand, **options)
    assert_same_bits(out, kept)
    assert_same_bits(a, before)
