"""Small products in one launch, in machine words: the bits of every other path. Skipped where torch, a GPU or its kernels are
missing."""

from __future__ import annotations

import numpy as np
import pytest
import without_planes
from first_gpu import DEVICE, on_device, torch
from test_without_planes import WAYS
from without_planes import NotedWays, ways_of

import ozfp4
from ozfp4.testing import assert_same_bits, forced
from support import chosen

SHAPES = WAYS["direct"].shapes


@pytest.fixture(autouse=True)
def ways():
    yield NotedWays("direct")
    without_planes.CUDA.note_ways(False)


def test_small_complex_products_take_it() -> None:
    for extent, is_direct in ((64, True), (512, False)):
        a, b = (torch.randn(extent, extent, dtype=torch.complex128, device=DEVICE) for _ in range(2))
        for way in ({}, {"bits": 53, "accuracy": "scaled"}):
            right = chosen.matmul(a.cpu(), b.cpu(), **way)
            assert_same_bits(chosen.matmul(a, b, **way).cpu(), right)
            assert ways_of(lambda a=a, b=b, way=way: chosen.matmul(a, b, **way)) == [
                "direct" if is_direct else "stages"
            ]


def test_small_updates_take_it() -> None:
    a, b, c = (torch.randn(64, 64, dtype=torch.float64, device=DEVICE) for _ in range(3))
    for way in ({}, {"bits": 53, "accuracy": "scaled"}):
        right = chosen.gemm(0.7, a.cpu(), b.cpu(), -1, c.cpu(), **way)
        for _ in range(3):
            assert_same_bits(chosen.gemm(0.7, a, b, -1, c, **way).cpu(), right)
        out = c.clone()
        assert ways_of(lambda out=out, way=way: chosen.gemm(0.7, a, b, -1, out, out=out, **way)) == ["direct"]
        assert_same_bits(out.cpu(), right)


@pytest.mark.parametrize("dtype", [np.float64, np.complex64])
def test_updates_around_the_ends(dtype: type, ways: NotedWays) -> None:
    """Complex products are real ones of twice the columns and twice the inner dimension."""
    rng = np.random.default_rng(10)
    for m, k, n in SHAPES[:9]:
        parts = (rng.standard_normal((2, *shape)) for shape in ((m, k), (k, n), (m, n)))
        a, b, c = ((x + 1j * y if dtype == np.complex64 else x).astype(dtype) for x, y in parts)
        with forced(direct=True):
            found = chosen.gemm(0.7, on_device(a), on_device(b), -1, on_device(c))
        assert_same_bits(found.cpu(), chosen.gemm(0.7, a, b, -1, c), (m, k, n))
    assert all(ways)


INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool")


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name: str, ways: NotedWays) -> None:
    """Every sum modulo 2^w of its dtype; of bool, whether there is any."""
    rng = np.random.default_rng(12)

    def draw(*shape: int) -> np.ndarray:
        if name == "bool":
            return rng.random(shape) < 0.05
        limits = np.iinfo(name)
        return rng.integers(limits.min, limits.max, shape, dtype=name, endpoint=True)

    def check_integers(a, b, x=None, y=None):
        expected = chosen.matmul(a, b)
        x, y = on_device(a) if x is None else x, on_device(b) if y is None else y
        out = torch.from_numpy(draw(*expected.shape)).to(DEVICE)
        with forced(direct=True):
            assert_same_bits(chosen.matmul(x, y).cpu(), expected)
            chosen.matmul(x, y, out=out)
        assert_same_bits(out.cpu(), expected)

    for m, k, n in SHAPES:
        check_integers(draw(m, k), draw(k, n))
    a, b = draw(3, 2, 20, 40), draw(2, 40, 50)
    x, y = on_device(a), on_device(b)
    check_integers(a, b, x, y)
    check_integers(a[:, :1, ::2, ::3], b[:1, ::3], x[:, :1, ::2, ::3], y[:1, ::3])
    check_integers(a.swapaxes(-1, -2), b.swapaxes(-1, -2)[..., :20, :], x.mT, y.mT[..., :20, :])
    assert all(ways)


def test_integers_that_need_the_stages(ways: NotedWays) -> None:
    """Sums that may not wrap, those modulo a number, and long ones."""
    rng = np.random.default_rng(13)
    a, b = rng.integers(-9, 9, (20, 30)), rng.integers(-9, 9, (30, 10))
    x, y = on_device(a), on_device(b)
    with forced(direct=True):
        assert_same_bits(chosen.matmul(x, y, overflow="raise").cpu(), a @ b)
        assert_same_bits(ozfp4.matmul_mod(x, y, 1009).cpu(), a @ b % 1009)
        long = rng.integers(-9, 9, (5, 1025))
        assert_same_bits(chosen.matmul(on_device(long), on_device(long.T)).cpu(), long @ long.T)
    assert not any(ways)


def test_small_integers_take_it() -> None:
    a = torch.randint(-(2**62), 2**62, (64, 64), device=DEVICE)
    right = a.cpu().numpy() @ a.cpu().numpy()
    assert_same_bits(chosen.matmul(a, a).cpu(), right)
    assert ways_of(lambda: chosen.matmul(a, a)) == ["direct"]
    assert_same_bits(chosen.matmul(a, a, report=True)[0].cpu(), right)
