"""Products of short K made tile by tile in one launch: the bits of every other path. Skipped where torch, a GPU or its kernels
are missing."""

from __future__ import annotations

import numpy as np
import pytest
import without_planes
from first_gpu import noisy, on_device, torch
from test_without_planes import WAYS
from without_planes import KINDS, NotedWays

from ozfp4.testing import assert_same_bits, forced
from support import chosen, operands

# Results large enough for the widest tiles, of seven limbs and without certificates: K up to 64 and up to 128.
WIDE = [(1999, 64, 2041), (2040, 61, 1995), (1391, 128, 1529), (1399, 100, 1501)]
MODES = WAYS["tiles"].modes


@pytest.fixture(autouse=True)
def ways():
    yield NotedWays("tiles")
    without_planes.CUDA.note_ways(False)


def check(a, b, x=None, y=None, ways=MODES, context=""):
    without_planes.check("tiles", ways, a, b, x, y, context)


@pytest.mark.parametrize("kind", KINDS)
def test_bits_of_the_widest(kind: str, ways: NotedWays) -> None:
    for number, shape in enumerate(WIDE):
        a, b = operands(kind, *shape, seed=number)
        check(a, b, ways=[{"accuracy": "scaled"}, {"bits": 54, "accuracy": "scaled"}], context=(kind, shape))
    assert all(ways)


def test_lines_of_many_bits(ways: NotedWays) -> None:
    """Some rows and columns, then all of them, have integers too long for the limbs."""
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((70, 64)), rng.standard_normal((64, 70))
    a[::9] *= np.ldexp(1.0, rng.integers(-40, 0, (8, 64)))
    b[:, ::7] *= np.ldexp(1.0, rng.integers(-40, 0, (64, 10)))
    check(a, b, ways=[{}])
    check(a, rng.integers(-1, 2, (64, 70)).astype(float), ways=[{}])
    check(rng.integers(-3, 4, (70, 64)).astype(float), b, ways=[{}])
    check(np.ldexp(a, rng.integers(-30, 30, a.shape)), np.ldexp(b, rng.integers(-30, 30, b.shape)), ways=[{}])
    assert all(ways)


def test_results_that_cancel(ways: NotedWays) -> None:
    """Zeros, one word of sign after the other, and what is left to repair."""
    rng = np.random.default_rng(4)
    a, b = rng.standard_normal((66, 32)), rng.standard_normal((32, 40))
    check(np.hstack([a, a]), np.vstack([b, -b]))
    check(np.hstack([a, a]), np.vstack([b, -b * (1 + 2.0**-52)]))
    check(np.hstack([a, a]), np.vstack([b, -b + np.ldexp(rng.standard_normal(b.shape), -30)]))
    check(np.zeros((66, 64)), np.ones((64, 3)))
    assert all(ways)


def test_all_digits_are_the_least(ways: NotedWays) -> None:
    """Sums of products of limbs at their largest: integers with lower bytes of -128, and powers of two."""
    for bits, inner in ((54, 64), (54, 128), (54, 256), (59, 64), (59, 128), (59, 256)):
        least = -sum(128 << 8 * i for i in range(6 if bits == 54 else 7)) - (1 << (bits - 1))
        assert int(float(least)) == least
        for rows, columns in ((20, 40), (900, 800), (1391, 1529), (1999, 2041)):
            a, b = np.full((rows, inner), float(least)), np.full((inner, columns), float(least))
            context = (bits, inner, rows)
            check(a, b, ways=[{"bits": bits, "accuracy": "scaled"}, {}], context=context)
            check(a, -b, ways=[{"bits": bits, "accuracy": "scaled"}, {}], context=context)
            a[:, 1:] = b[1:] = 2.0**bits
            check(a, b, ways=[{"bits": bits, "accuracy": "scaled"}, {}], context=context)
    assert all(ways)


def test_pairs_of_entries(ways: NotedWays) -> None:
    """Lines and results that start at and off multiples of 16 bytes; an odd column that is the last; one line for all."""
    rng = np.random.default_rng(6)
    a, b = rng.standard_normal((70, 96)), rng.standard_normal((64, 80))
    x, y = on_device(a), on_device(b)
    for first in (0, 1):
        for columns in (65, 64):
            left, right = slice(first, first + 64), slice(first, first + columns)
            check(a[:, left], b[:, right], x[:, left], y[:, right], context=(first, columns))
            wide = noisy((70, 80))
            with forced(tiles=True):
                chosen.matmul(x[:, left], y[:, :columns], out=wide[:, right])
            assert_same_bits(wide[:, right].cpu(), chosen.matmul(a[:, left], b[:, :columns]))
            assert bool(torch.isnan(wide[:, first + columns :]).all())
    row = x[:1, :64].expand(33, 64)
    check(np.broadcast_to(a[:1, :64], (33, 64)), b, row, y)
    assert all(ways)


def test_products_take_it(ways: NotedWays) -> None:
    """By themselves: large stacks, and single products of short K; long K does not."""
    x = torch.randn(
        2000, 64, 64, dtype=torch.float64, device="cuda", generator=torch.Generator("cuda").manual_seed(1)
    )
    found = chosen.matmul(x, x)
    assert list(ways) == [True]
    some = slice(0, 2000, 400)
    assert_same_bits(found[some].cpu(), chosen.matmul(x[some].cpu(), x[some].cpu()))
    square = x[:16].reshape(256, 256)
    assert_same_bits(chosen.matmul(square, square).cpu(), chosen.matmul(square.cpu(), square.cpu()))
    assert list(ways) == [True, True]
    chosen.matmul(x[0].reshape(8, 512), x[1].reshape(512, 8))
    assert list(ways) == [True, True, False]
