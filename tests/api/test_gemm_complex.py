"""ozfp4.gemm of complex operands on the CPU: both parts equal the reference of the real form, bit for bit."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4.testing import assert_same_bits, gemm_reference, noise

COMPLEX = (np.complex128, np.complex64)
DTYPES = (np.float64, np.float32, *COMPLEX)
MODES = [
    ("scaled", "nearest"),
    ("fp64", "nearest"),
    *(("correct", r) for r in ("nearest", "down", "up", "zero")),
]


def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    x = np.ldexp(rng.standard_normal(shape), rng.integers(-20, 20, shape))
    return np.asarray(x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x, dtype)


def reference(alpha: float, a: Any, b: Any, beta: float, c: Any, accuracy: str, rounding: str) -> np.ndarray:
    """By the rows (re, im) and the columns (re, -im), (im, re) of the real form, part by part."""
    rows = a[np.newaxis] if a.ndim == 1 else a
    columns = b[:, np.newaxis] if b.ndim == 1 else b
    if a.dtype.kind == b.dtype.kind:
        rows = np.stack([rows.real, rows.imag], -1).reshape(*rows.shape[:-1], -1)
        both = ((columns.real, -columns.imag), (columns.imag, columns.real))
        extents = (*columns.shape[:-2], -1, columns.shape[-1])
        pairs = [(rows, np.stack(halves, -2).reshape(extents)) for halves in both]
    elif a.dtype.kind == "c":
        pairs = [(rows.real, columns), (rows.imag, columns)]
    else:
        pairs = [(rows, columns.real), (rows, columns.imag)]
    dtype = np.result_type(a, b, *([] if c is None else [c]))
    single = np.float32 if dtype == np.complex64 else np.float64
    shape = np.matmul(a, b).shape
    found = np.empty(shape, dtype)
    whole = np.zeros(shape, dtype) if c is None else np.broadcast_to(c, shape).astype(dtype)
    for name, (x, y) in zip(("real", "imag"), pairs, strict=True):
        extents = np.matmul(x, y).shape
        own = getattr(whole, name).astype(single).reshape(extents)
        setattr(found, name, gemm_reference(alpha, x, y, beta, own, accuracy, rounding).reshape(shape))
    return found


@pytest.mark.parametrize("mode", MODES, ids="-".join)
def test_values_of_every_dtype(mode: tuple[str, str]) -> None:
    rng = np.random.default_rng(1)
    accuracy, rounding = mode
    for types in product(DTYPES, DTYPES, DTYPES):
        if not {types[0], types[1]} & set(COMPLEX):
            continue
        for shapes in (
            ((3, 9), (9, 4), (3, 4)),
            ((2, 3, 9), (9, 4), (4,)),
            ((9,), (2, 9, 4), (1, 4)),
            ((9,), (9,), ()),
        ):
            a, b, c = (draw(rng, shape, t) for shape, t in zip(shapes, types, strict=True))
            given: dict[str, Any] = {"accuracy": accuracy, "rounding": rounding}
            for alpha, beta in ((-1.0, 1.0), (0.7, -2.3)):
                expected = reference(alpha, a, b, beta, c, accuracy, rounding)
                assert_same_bits(
                    np.asarray(ozfp4.gemm(alpha, a, b, beta, c, **given)), expected, (types, shapes)
                )
                out = noise(expected.shape, expected.dtype)
                ozfp4.gemm(alpha, a, b, beta, c, out=out, **given)
                assert_same_bits(out, expected, (types, shapes, "out"))
                if c.shape == expected.shape and c.dtype == expected.dtype:
                    assert ozfp4.gemm(alpha, a, b, beta, c, out=c, **given) is c
                    assert_same_bits(c, expected, (types, shapes, "in place"))


def test_residual() -> None:
    rng = np.random.default_rng(2)
    a, x = draw(rng, (20, 40), np.complex128), draw(rng, (40, 6), np.complex128)
    b = a @ x
    found = ozfp4.gemm(-1, a, x, 1, b, accuracy="correct")
    assert_same_bits(found, reference(-1, a, x, 1, b, "correct", "nearest"))


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
    expected = reference(-2, a, b, 0.1, c, "correct", "nearest")
    slack = np.spacing(np.maximum(abs(found.real), abs(found.imag)))
    assert (abs(found.real - expected.real) <= bound.real + slack).all()
    assert (abs(found.imag - expected.imag) <= bound.imag + slack).all()
    assert report.certified.total == 2 * c.size


def test_nothing_to_multiply() -> None:
    c = np.array([[1 + 2j, np.nan - 1j, 3e-310 + 0j]])
    bad = np.full((1, 2), np.nan + 0j)
    expected = np.empty((1, 3), complex)
    for name in ("real", "imag"):
        setattr(expected, name, gemm_reference(0, np.zeros((1, 0)), np.zeros((0, 3)), -0.1, getattr(c, name)))
    assert_same_bits(ozfp4.gemm(0, bad, bad.T @ np.ones((1, 3)), -0.1, c), expected)
    assert_same_bits(ozfp4.gemm(1, bad[:, :0], np.ones((0, 3)), -0.1, c), expected)
    assert_same_bits(ozfp4.gemm(0, bad, np.ones((2, 3))), np.zeros((1, 3), complex))


def test_refusals() -> None:
    a, b, c = np.ones((3, 4)), np.ones((4, 5), complex), np.ones((3, 5), complex)
    with pytest.raises(TypeError, match=r"alpha: .*complex, is not a real number"):
        ozfp4.gemm(1j, a, b, 1, c)
    with pytest.raises(TypeError, match="c: dtype complex128, and the product is real, of float64"):
        ozfp4.gemm(1, a, b.real, 1, c)
    with pytest.raises(TypeError, match="out: dtype float64 is not the result's dtype complex128"):
        ozfp4.gemm(1, a, b, 1, c, out=np.ones((3, 5)))
