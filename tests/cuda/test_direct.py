"""Small products in one launch, in machine words: the bits of every other path. Skipped where torch, a GPU or its kernels are
missing."""

from __future__ import annotations

import numpy as np
import pytest
import without_planes
from first_gpu import DEVICE, noisy, on_device, torch
from without_planes import KINDS, NotedWays, ways_of

import ozfp4
from ozfp4.testing import assert_same_bits, forced
from support import chosen, operands

# Entries, a warp's row, a block's columns and the list's words, and one beside each; K around a group, a chunk and the two limbs'
# longest sums.
SHAPES = [
    (1, 1, 1), (8, 64, 32), (9, 65, 33), (7, 63, 31), (64, 64, 64), (16, 8, 96), (65, 7, 129), (5, 511, 40), (5, 512, 40),
    (3, 1024, 70), (130, 200, 66),
]  # fmt: skip
WAYS = [{"bits": b, "accuracy": "scaled"} for b in (2, 24, 53, 54, 62, 63, 76, 82)] + [
    {"accuracy": "scaled"},
    {"accuracy": "standard"},
]


@pytest.fixture(autouse=True)
def ways():
    yield NotedWays("direct")
    without_planes.CUDA.note_ways(False)


def check(a, b, x=None, y=None, ways=WAYS, context=""):
    without_planes.check("direct", ways, a, b, x, y, context)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_complex_products(dtype: type, ways: NotedWays) -> None:
    """By the real product that they are, of twice the columns and twice the inner dimension."""
    rng = np.random.default_rng(9)

    def draw(*shape: int) -> np.ndarray:
        parts = np.ldexp(rng.standard_normal((2, *shape)), rng.integers(-9, 9, (2, *shape)))
        return (parts[0] + 1j * parts[1]).astype(dtype)

    for m, k, n in ((1, 1, 1), (9, 33, 17), (64, 64, 64), (5, 512, 20), (130, 100, 33)):
        a, b = draw(m, k), draw(k, n)
        check(a, b, context=(m, k, n))
        check(a.conj(), b.T.copy().T, on_device(a).conj(), on_device(b.T.copy()).mT, context="views")
    check(draw(3, 1, 20, 30), draw(2, 30, 10))
    a, b = draw(20, 30), draw(30, 40)
    a[3, 4], a[7, 7], b[8, 9], b[10, 11] = np.nan, complex(1, np.inf), complex(-np.inf, 2), complex(0, -0.0)
    check(a, b)
    a, b = draw(20, 60), draw(60, 10)
    a[:, 30:], b[30:] = -a[:, :30], b[:30]
    check(a, b, context="sums that cancel")
    assert all(ways)


def test_small_complex_products_take_it() -> None:
    for extent, is_direct in ((64, True), (512, False)):
        a, b = (torch.randn(extent, extent, dtype=torch.complex128, device=DEVICE) for _ in range(2))
        for way in ({}, {"bits": 53, "accuracy": "scaled"}):
            right = chosen.matmul(a.cpu(), b.cpu(), **way)
            assert_same_bits(chosen.matmul(a, b, **way).cpu(), right)
            assert ways_of(lambda a=a, b=b, way=way: chosen.matmul(a, b, **way)) == [
                "direct" if is_direct else "stages"
            ]


def check_update(alpha, a, b, beta, c, context="", x=None, y=None, z=None, ways=WAYS):
    """Beside C, in its place, and behind what was launched before; C may be None."""
    given = [on_device(own) if there is None else there for own, there in ((a, x), (b, y))]
    addend = z if z is not None or c is None else on_device(c)
    for way in ways:
        expected = np.asarray(chosen.gemm(alpha, a, b, beta, c, **way))
        dtype = torch.from_numpy(expected.reshape(-1)[:1]).dtype
        out = noisy(expected.shape, dtype)
        with forced(direct=True):
            chosen.gemm(alpha, *given, beta, addend, out=out, **way)
            assert_same_bits(out.cpu(), expected, (context, way))
            if c is not None and c.shape == expected.shape and c.dtype == expected.dtype:
                out.copy_(addend)
                chosen.gemm(alpha, *given, beta, out, out=out, **way)
                assert_same_bits(out.cpu(), expected, (context, way, "in place"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_updates(kind: str, dtype: type, ways: NotedWays) -> None:
    rng = np.random.default_rng(10)
    for number, (m, k, n) in enumerate(((1, 1, 1), (9, 65, 33), (7, 63, 31), (5, 512, 40), (40, 90, 66))):
        a, b = operands(kind, m, k, n, seed=number, dtype=dtype)
        with np.errstate(all="ignore"):
            near = chosen.matmul(a, b)
            lost = -np.where(np.isfinite(near), near, near.dtype.type(1))  # what cancels the product
        far = np.ldexp(rng.standard_normal(near.shape), rng.integers(-140, 120, near.shape)).astype(dtype)
        for alpha, beta, c in ((1, 1, lost), (-0.7, 2.0**-70, far), (2.0**60, -0.3, far), (0.3, 0, None)):
            check_update(alpha, a, b, beta, c, (kind, m, k, n, alpha))
    assert all(ways)


def test_updates_of_views_stacks_and_specials(ways: NotedWays) -> None:
    rng = np.random.default_rng(11)
    a, b, c = (rng.standard_normal(s) for s in ((3, 2, 20, 40), (2, 40, 50), (3, 2, 20, 50)))
    x, y, z = on_device(a), on_device(b), on_device(c)
    check_update(0.7, a, b, -1.5, c)
    check_update(
        1,
        a[:, :1, ::2, ::3],
        b[:1, ::3],
        1,
        c[:, :1, ::2],
        "views",
        x[:, :1, ::2, ::3],
        y[:1, ::3],
        z[:, :1, ::2],
    )
    check_update(1, a, b, 1, c[:1, :, :1, ::50], "C is broadcast", x, y, z[:1, :, :1, ::50])
    check_update(1, a, b, 1, c.swapaxes(0, 1).copy().swapaxes(0, 1), "C lies otherwise", x, y, z)
    single = c.astype(np.float32)
    check_update(-2, a, b, 0.1, single, "C of another dtype")
    a, b, c = a[0, 0], b[0], c[0, 0]
    for x, at in ((a, (3, 7)), (a, (5, 8)), (b, (8, 33)), (c, (1, 2)), (c, (3, 3)), (c, (4, 33))):
        x[at] = rng.choice([np.nan, np.inf, -np.inf])
    check_update(-0.5, a, b, 3, c, "specials")
    with np.errstate(invalid="ignore"):
        a, b, c = a * 1j + a, b * 2j - b, c * 1j
        check_update(1, a, b, -0.7, c, "complex")
        check_update(1, *(x.astype(np.complex64) for x in (a, b)), 1, c.astype(np.complex64), "complex64")
    assert all(ways)


def test_small_updates_take_it() -> None:
    a, b, c = (torch.randn(64, 64, dtype=torch.float64, device=DEVICE) for _ in range(3))
    for way in ({}, {"bits": 53, "accuracy": "scaled"}):
        right = chosen.gemm(0.7, a.cpu(), b.cpu(), -1, c.cpu(), **way)
        for _ in range(3):
            assert_same_bits(chosen.gemm(0.7, a, b, -1, c, **way).cpu(), right)
        out = c.clone()
        assert ways_of(lambda out=out, way=way: chosen.gemm(0.7, a, b, -1, out, out=out, **way)) == ["direct"]
        assert_same_bits(out.cpu(), right)


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
