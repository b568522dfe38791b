"""Products of few columns or rows, in one pass over the other operand: the bits of every other path. Skipped where torch, a GPU
or its kernels are missing."""

from __future__ import annotations

import numpy as np
import pytest
import without_planes
from first_gpu import DEVICE, noisy, on_device, torch
from without_planes import KINDS, NotedWays, ways_of

from ozfp4._backends.cuda import extension
from ozfp4.testing import assert_same_bits, forced
from support import chosen, operands

if not extension.require_cuda().has_thin_kernels(DEVICE.index or 0):
    pytest.skip("this GPU has no kernels of few lines", allow_module_level=True)

# (lines, K, few lines): a tile's lines, a unit of K, a thread's entries, a block's slice, a cluster's, and one beside each.
SHAPES = [
    (1, 1, 1), (8, 64, 1), (9, 65, 2), (7, 63, 3), (31, 130, 8), (33, 511, 5), (32, 1024, 1), (13, 1025, 4), (5, 2049, 1),
    (6, 4096, 2), (3, 8191, 1), (9, 8192, 4), (11, 8192, 8), (300, 70, 4),
]  # fmt: skip
WAYS = [{"bits": b, "accuracy": "scaled"} for b in (2, 24, 53, 54, 82)] + [{"accuracy": "standard"}]


@pytest.fixture(autouse=True)
def ways():
    yield NotedWays("thin")
    without_planes.CUDA.note_ways(False)


def check(a, b, x=None, y=None, ways=WAYS, context=""):
    without_planes.check("thin", ways, a, b, x, y, context)


def across(a):
    """The same matrix on the device, its columns adjacent."""
    return on_device(np.ascontiguousarray(a.swapaxes(-1, -2))).mT


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_bits_of_the_cpu(kind: str, dtype: type, ways: NotedWays) -> None:
    """Few columns and few rows, lines along K and across it."""
    for number, (lines, k, few) in enumerate(SHAPES):
        a, b = operands(kind, lines, k, few, seed=number, dtype=dtype)
        check(a, b, context=(kind, lines, k, few))
        check(a, b, across(a), ways=WAYS[2::3], context=(kind, lines, k, few, "across"))
        a, b = operands(kind, few, k, lines, seed=number, dtype=dtype)
        check(a, b, ways=WAYS[2::3], context=(kind, few, k, lines))
        check(a, b, None, across(b), ways=WAYS[2::3], context=(kind, few, k, lines, "across"))
    assert all(ways)


def test_longer_lines(ways: NotedWays) -> None:
    """As long as a cluster takes them."""
    for k, few in ((65536, 1), (32768, 2), (16384, 4), (40001, 1)):
        a, b = operands("phi8", 5, k, few, seed=k)
        check(a, b, ways=[{"bits": 53, "accuracy": "scaled"}, {"accuracy": "standard"}])
    assert all(ways)


def test_views_and_stacks(ways: NotedWays) -> None:
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((3, 2, 20, 140)), rng.standard_normal((2, 140, 5))
    x, y = on_device(a), on_device(b)
    check(a, b, x, y)
    check(a[:, :1, ::2, ::3][..., ::-1], b[:1, ::3], x[:, :1, ::2, ::3].flip(-1), y[:1, ::3])
    check(a[..., 1:], b[:, 1:], x[..., 1:], y[:, 1:])  # no pair of entries is aligned
    check(b.swapaxes(-1, -2), a.swapaxes(-1, -2), y.mT, x.mT)
    check(rng.standard_normal((700, 3, 4)), rng.standard_normal((700, 4, 5)))
    check(rng.standard_normal((1, 9, 3000)), rng.standard_normal((40, 3000, 1)))
    check(
        rng.standard_normal((65535, 2, 1)),
        rng.standard_normal((1, 3)),
        ways=[{"bits": 53, "accuracy": "scaled"}, {}],
    )
    a, b = rng.standard_normal((2, 1, 3, 1, 9, 1400)), rng.standard_normal((1, 2, 1, 2, 1400, 3))
    a[1, 0, 2, 0, 3, 7], b[0, 1, 0, 0, 8, 2], b[0, 0, 0, 1, 9, 1] = np.nan, np.inf, -np.inf
    check(a, b)
    wide = noisy((2, 2, 3, 2, 18, 9))
    with forced(thin=True):
        chosen.matmul(on_device(a), on_device(b), out=wide[..., ::2, ::3])
    assert_same_bits(wide[..., ::2, ::3].cpu(), chosen.matmul(a, b))
    assert bool(torch.isnan(wide[..., 1::2, :]).all())
    assert bool(torch.isnan(wide[..., :, 1::3]).all())
    assert all(ways)


def test_lines_of_their_own_capacity(ways: NotedWays) -> None:
    """In a tile some lines have integers of two limbs, some of three; few lines likewise."""
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((40, 3000)), rng.standard_normal((3000, 6))
    a[::3] *= 2.0 ** rng.integers(-30, 30, (14, 3000))
    a[1::5] = np.round(a[1::5] * 8)
    check(a, b, ways=[{"accuracy": "standard"}])
    check(a, b, across(a), ways=[{"accuracy": "standard"}])
    b[:, ::2] *= 2.0 ** rng.integers(-30, 30, (3000, 3))
    check(a, b, ways=[{"accuracy": "standard"}])
    assert all(ways)


def test_what_has_no_such_kernel(ways: NotedWays) -> None:
    """The stages make it, with the same bits."""
    rng = np.random.default_rng(8)
    a, b = rng.standard_normal((20, 1025)), rng.standard_normal((1025, 9))
    check(a, b, ways=[{"bits": 53, "accuracy": "scaled"}, {}])
    check(
        rng.standard_normal((65536, 2, 1)),
        rng.standard_normal((65536, 1, 2)),
        ways=[{"bits": 53, "accuracy": "scaled"}],
    )
    check(
        rng.standard_normal((3, 8193)),
        rng.standard_normal((8193, 5)),
        ways=[{"bits": 53, "accuracy": "scaled"}],
    )
    check(
        rng.standard_normal((3, 65537)),
        rng.standard_normal((65537, 1)),
        ways=[{"bits": 53, "accuracy": "scaled"}],
    )
    check(a[:, :40], b[:40, :2], ways=[{"bits": 83, "accuracy": "scaled"}, {"accuracy": "correct"}])
    check(a[:, :40], b[:40, :2].astype(np.float32), ways=[{"bits": 53, "accuracy": "scaled"}])
    assert not any(ways)


def test_entries_without_a_certificate_are_repaired() -> None:
    """Sums that cancel, some of them to exact zeros, beside ordinary ones; of few columns and of few rows."""
    rng = np.random.default_rng(6)
    for few in (1, 2, 5, 8):
        a, b = rng.standard_normal((70, 160)), rng.standard_normal((160, few))
        a[::3, 80:] = -a[::3, :80]
        b[80:] = b[:80] * (1 + 2.0**-50 * rng.integers(0, 2, (80, few)))
        check(a, b, ways=[{"accuracy": "standard"}], context=few)
        check(b.T, a.T, ways=[{"accuracy": "standard"}], context=few)


def test_products_with_a_vector_take_it() -> None:
    a = torch.randn(4096, 4096, dtype=torch.float64, device=DEVICE)
    b = torch.randn(4096, 1, dtype=torch.float64, device=DEVICE)
    for way in ({}, {"bits": 53, "accuracy": "scaled"}, {"accuracy": "standard"}):
        for x, y in ((a, b), (b.mT, a)):
            first = chosen.matmul(x, y, **way)
            assert ways_of(lambda x=x, y=y, way=way: chosen.matmul(x, y, **way)) == ["thin"]
            assert_same_bits(chosen.matmul(x, y, **way).cpu(), first.cpu())
            reported, report = chosen.matmul(x, y, report=True, **way)
            assert_same_bits(reported.cpu(), first.cpu())
            assert report.moduli_used > 0
    for way in ({"backend": "int8"}, {"accuracy": "correct"}):
        assert ways_of(lambda way=way: chosen.matmul(a, b, **way)) == ["stages"]


def test_a_graph_and_another_stream() -> None:
    rng = np.random.default_rng(7)
    a, b = rng.standard_normal((1500, 1500)), rng.standard_normal((1500, 1))
    x, y, out = on_device(a), on_device(b), noisy((1500, 1))
    with forced(thin=True):
        chosen.matmul(x, y, out=out)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            chosen.matmul(x, y, out=out)
            chosen.matmul(x, out, out=out.new_empty(out.shape))
        out.fill_(float("nan"))
        graph.replay()
        assert_same_bits(out.cpu(), chosen.matmul(a, b))
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            other = chosen.matmul(x, y)
        side.synchronize()
    assert_same_bits(other.cpu(), chosen.matmul(a, b))
