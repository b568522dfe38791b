"""Small products in one launch, in machine words: the bits of every other path. Skipped where torch, a GPU or its kernels are
missing."""

from __future__ import annotations

import numpy as np
import pytest
from first_gpu import DEVICE, noisy, on_device, torch

import ozfp4
from ozfp4.backends.cuda import launch
from ozfp4.dispatch import repeated
from ozfp4.testing import assert_same_bits, forced, operands

# Entries, a warp's row, a block's columns and the list's words, and one beside each; K around a group, a chunk and the two limbs'
# longest sums.
SHAPES = [
    (1, 1, 1), (8, 64, 32), (9, 65, 33), (7, 63, 31), (64, 64, 64), (16, 8, 96), (65, 7, 129), (5, 511, 40), (5, 512, 40),
    (3, 1024, 70), (130, 200, 66),
]  # fmt: skip
KINDS = (
    "normal",
    "uniform",
    "phi8",
    "phi32",
    "row-exponents",
    "spikes",
    "zero-lines",
    "whole-range",
    "specials",
    "scaling-ties",
)
WAYS = [{"bits": b} for b in (2, 24, 53, 54, 62, 63, 76, 82)] + [{"accuracy": "scaled"}, {"accuracy": "fp64"}]


@pytest.fixture(autouse=True)
def ways(monkeypatch):
    """Of every product that is prepared, whether it is made in one launch."""
    made = []
    prepare = launch.prepare

    def noted(*arguments, **further):
        prepared = prepare(*arguments, **further)
        made.append(prepared.problem.describe()["direct"])
        return prepared

    monkeypatch.setattr(launch, "prepare", noted)
    monkeypatch.setattr(repeated, "made", {})
    return made


def direct(x, y, dtype, shape, **options):
    out = noisy(shape, dtype)
    with forced(direct=True):
        ozfp4.matmul(x, y, out=out, **options)
    return out.cpu()


def check(a, b, x=None, y=None, ways=WAYS, context=""):
    x, y = on_device(a) if x is None else x, on_device(b) if y is None else y
    for way in ways:
        expected = ozfp4.matmul(a, b, **way)
        dtype = torch.from_numpy(expected.reshape(-1)[:1]).dtype
        assert_same_bits(direct(x, y, dtype, expected.shape, **way), expected, (context, way))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_bits_of_the_cpu(kind: str, dtype: type, ways: list[bool]) -> None:
    for number, shape in enumerate(SHAPES):
        a, b = operands(kind, *shape, seed=number, dtype=dtype)
        check(a, b, context=(kind, shape))
    assert all(ways)


def test_views_and_stacks(ways: list[bool]) -> None:
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((3, 2, 20, 40)), rng.standard_normal((2, 40, 50))
    x, y = on_device(a), on_device(b)
    check(a, b, x, y)
    check(a[:, :1, ::2, ::3][..., ::-1], b[:1, ::3], x[:, :1, ::2, ::3].flip(-1), y[:1, ::3])
    check(a.swapaxes(-1, -2), b.swapaxes(-1, -2)[..., :20, :], x.mT, y.mT[..., :20, :])
    wide = noisy((40, 300))
    with forced(direct=True):
        ozfp4.matmul(x[0, 0], y[0], out=wide[::2, ::6])
    assert_same_bits(wide[::2, ::6].cpu(), ozfp4.matmul(a[0, 0], b[0]))
    assert bool(torch.isnan(wide[1::2]).all())
    assert bool(torch.isnan(wide[:, 1::6]).all())
    check(rng.standard_normal((1000, 3, 4)), rng.standard_normal((1000, 4, 5)))
    check(rng.standard_normal((65535, 2, 1)), rng.standard_normal((1, 3)), ways=[{"bits": 53}, {}])
    a, b = rng.standard_normal((2, 1, 3, 1, 9, 40)), rng.standard_normal((1, 2, 1, 2, 40, 33))
    a[1, 0, 2, 0, 3, 7], b[0, 1, 0, 0, 8, 32], b[0, 0, 0, 1, 9, 1] = np.nan, np.inf, -np.inf
    check(a, b)
    wide = noisy((2, 2, 3, 2, 18, 99))
    with forced(direct=True):
        ozfp4.matmul(on_device(a), on_device(b), out=wide[..., ::2, ::3])
    assert_same_bits(wide[..., ::2, ::3].cpu(), ozfp4.matmul(a, b))
    assert all(ways)


def test_what_has_no_such_kernel(ways: list[bool]) -> None:
    """The stages make it, with the same bits."""
    rng = np.random.default_rng(8)
    a, b = rng.standard_normal((9, 1025)), rng.standard_normal((1025, 5))
    check(a, b, ways=[{"bits": 53}, {}])
    check(rng.standard_normal((65536, 1, 1)), rng.standard_normal((1, 2)), ways=[{"bits": 53}])
    check(a[:, :40], b[:40], ways=[{"bits": 83}, {"accuracy": "correct"}])
    check(a[:, :40], b[:40].astype(np.float32), ways=[{"bits": 53}])
    assert not any(ways)


def test_entries_without_a_certificate_are_repaired() -> None:
    """Sums that cancel, some of them to exact zeros, beside ordinary ones, in every half of a pair of words."""
    rng = np.random.default_rng(6)
    for columns in (20, 33, 64, 97):
        a, b = rng.standard_normal((30, 60)), rng.standard_normal((60, columns))
        a[::3, 30:] = -a[::3, :30]
        b[30:, ::2] = b[:30, ::2] * (1 + 2.0**-50 * rng.integers(0, 2, (30, (columns + 1) // 2)))
        check(a, b, ways=[{"accuracy": "fp64"}], context=columns)


def test_small_products_take_it() -> None:
    a, b = (torch.randn(64, 64, dtype=torch.float64, device=DEVICE) for _ in range(2))
    for way in ({}, {"bits": 53}, {"accuracy": "fp64"}):
        repeated.made.clear()
        first = ozfp4.matmul(a, b, **way)
        (made,) = repeated.made.values()
        assert made[0].problem.describe()["direct"]
        assert_same_bits(ozfp4.matmul(a, b, **way).cpu(), first.cpu())
        reported, report = ozfp4.matmul(a, b, report=True, **way)
        assert_same_bits(reported.cpu(), first.cpu())
        assert report.moduli_used > 0
    for way in ({"backend": "int8"}, {"accuracy": "correct"}):
        repeated.made.clear()
        ozfp4.matmul(a, b, **way)
        assert not any(made[0].problem.describe()["direct"] for made in repeated.made.values())


def test_a_graph_and_another_stream() -> None:
    rng = np.random.default_rng(7)
    a, b = rng.standard_normal((48, 48)), rng.standard_normal((48, 48))
    x, y, out = on_device(a), on_device(b), noisy((48, 48))
    ozfp4.matmul(x, y, out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        ozfp4.matmul(x, y, out=out)
        ozfp4.matmul(out, y, out=out.new_empty(out.shape))
    out.fill_(float("nan"))
    graph.replay()
    assert_same_bits(out.cpu(), ozfp4.matmul(a, b))
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        other = ozfp4.matmul(x, y)
    side.synchronize()
    assert_same_bits(other.cpu(), ozfp4.matmul(a, b))
