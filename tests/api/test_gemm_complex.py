"""ozfp4.gemm of complex operands: both parts equal the reference of the real form, bit for bit."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4.testing import assert_same_bits
from support import complex_gemm_reference, gemm_reference, noise
from support.devices import Device

COMPLEX = (np.complex128, np.complex64)
DTYPES = (np.float64, np.float32, *COMPLEX)
MODES = [
    ("scaled", "nearest"),
    ("standard", "nearest"),
    *(("correct", r) for r in ("nearest", "down", "up", "zero")),
]


def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    x = np.ldexp(rng.standard_normal(shape), rng.integers(-20, 20, shape))
    return np.asarray(x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x, dtype)


@pytest.mark.parametrize("mode", MODES, ids="-".join)
def test_values_of_every_dtype(mode: tuple[str, str], device: Device) -> None:
    rng = np.random.default_rng(1)
    accuracy, rounding = mode
    for i, types in enumerate(product(DTYPES, DTYPES, DTYPES)):
        if not {types[0], types[1]} & set(COMPLEX):
            continue
        for j, shapes in enumerate(
            (
                ((3, 9), (9, 4), (3, 4)),
                ((2, 3, 9), (9, 4), (4,)),
                ((9,), (2, 9, 4), (1, 4)),
                ((9,), (9,), ()),
            )
        ):
            if (i // 2 + j + MODES.index(mode)) % 2 == 0:  # in the next mode
                continue
            a, b, c = (draw(rng, shape, t) for shape, t in zip(shapes, types, strict=True))
            given: dict[str, Any] = {"accuracy": accuracy, "rounding": rounding}
            # All types with both, and all shapes.
            alpha, beta = ((-1.0, 1.0), (0.7, -2.3))[(i + j) % 2]
            expected = complex_gemm_reference(alpha, a, b, beta, c, accuracy, rounding)
            assert_same_bits(
                np.asarray(device.gemm(alpha, a, b, beta, c, **given)), expected, (types, shapes)
            )
            out = noise(expected.shape, expected.dtype)
            device.gemm(alpha, a, b, beta, c, out=out, **given)
            assert_same_bits(out, expected, (types, shapes, "out"))
            if c.shape == expected.shape and c.dtype == expected.dtype:
                assert device.gemm(alpha, a, b, beta, c, out=c, **given) is c
                assert_same_bits(c, expected, (types, shapes, "in place"))


def test_residual(device: Device) -> None:
    rng = np.random.default_rng(2)
    a, x = draw(rng, (20, 40), np.complex128), draw(rng, (40, 6), np.complex128)
    b = a @ x
    found = device.gemm(-1, a, x, 1, b, accuracy="correct")
    assert_same_bits(found, complex_gemm_reference(-1, a, x, 1, b, "correct", "nearest"))


def test_conjugates_and_views() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    a, b, c = (draw(rng, s, np.complex128) for s in ((9, 5), (6, 9), (5, 6)))
    expected = ozfp4.gemm(0.3, a.conj().T.copy(), b.T.copy(), -1, c)
    assert_same_bits(ozfp4.gemm(0.3, a, b, -1, c, trans_a="C", trans_b="T"), expected)
    x, y, z = (torch.from_numpy(value) for value in (a, b, c))
    assert_same_bits(ozfp4.gemm(0.3, x, y.conj(), -1, z, trans_a="C", trans_b="C").numpy(), expected)
    lazy = z.conj().resolve_conj().conj()
    assert_same_bits(ozfp4.gemm(0.3, x.conj(), y, -1, lazy, trans_a=True, trans_b=True).numpy(), expected)
    turned = np.asfortranarray(c)
    assert ozfp4.gemm(0.3, a, b, -1, turned, trans_a="C", trans_b="T", out=turned) is turned
    assert_same_bits(turned, expected)
    held = noise((10, 18), np.complex128)
    held[::2, ::3] = c
    ozfp4.gemm(
        0.3, a, b, -1, held[::2, ::3], trans_a="C", trans_b="T", out=held[::2, ::3], workspace_limit=20_000
    )
    assert_same_bits(held[::2, ::3].copy(), expected)


def test_bounds_and_reports() -> None:
    rng = np.random.default_rng(4)
    a, b, c = (draw(rng, s, np.complex128) for s in ((7, 30), (30, 6), (7, 6)))
    found, bound, report = ozfp4.gemm(-2, a, b, 0.1, c, return_bound=True, report=True)
    expected = complex_gemm_reference(-2, a, b, 0.1, c, "correct", "nearest")
    slack = np.spacing(np.maximum(abs(found.real), abs(found.imag)))
    assert (abs(found.real - expected.real) <= bound.real + slack).all()
    assert (abs(found.imag - expected.imag) <= bound.imag + slack).all()
    assert report.certified.total == 2 * c.size


def test_nothing_to_multiply(device: Device) -> None:
    c = np.array([[1 + 2j, np.nan - 1j, 3e-310 + 0j]])
    bad = np.full((1, 2), np.nan + 0j)
    expected = np.empty((1, 3), complex)
    for name in ("real", "imag"):
        setattr(expected, name, gemm_reference(0, np.zeros((1, 0)), np.zeros((0, 3)), -0.1, getattr(c, name)))
    assert_same_bits(device.gemm(0, bad, bad.T @ np.ones((1, 3)), -0.1, c), expected)
    assert_same_bits(device.gemm(1, bad[:, :0], np.ones((0, 3)), -0.1, c), expected)
    assert_same_bits(device.gemm(0, bad, np.ones((2, 3))), np.zeros((1, 3), complex))


def test_refusals() -> None:
    a, b, c = np.ones((3, 4)), np.ones((4, 5), complex), np.ones((3, 5), complex)
    for factors, words in (((1j, 1), "alpha: 1j"), ((1, 2 - 1j), r"beta: \(2-1j\)")):
        with pytest.raises(TypeError, match=f"{words} is complex, and the product is real, of float64"):
            ozfp4.gemm(factors[0], a, b.real, factors[1], c.real)
    with pytest.raises(TypeError, match="c: dtype complex128, and the product is real, of float64"):
        ozfp4.gemm(1, a, b.real, 1, c)
    with pytest.raises(TypeError, match="out: dtype float64 is not the result's dtype complex128"):
        ozfp4.gemm(1, a, b, 1, c, out=np.ones((3, 5)))
