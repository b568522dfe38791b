"""Multiply and reconstruct in one launch, on Hopper: the bits of every other path. Skipped where torch, a GPU or its kernels are
missing."""

from __future__ import annotations

import numpy as np
import pytest
from first_gpu import DEVICE, noisy, on_device, torch

import ozfp4
from ozfp4.backends.cuda import launch
from ozfp4.dispatch import repeated
from ozfp4.testing import assert_same_bits, forced, operands

if torch.cuda.get_device_capability(DEVICE) != (9, 0):
    pytest.skip("the kernel is for Hopper", allow_module_level=True)

# Entries, a quad's and a warp's rows, a warpgroup's, a tile's and the cluster's columns, and one beside each; K around an
# instruction's 32, a stage's 128 and the ring's eight stages.
SHAPES = [
    (1, 1, 1), (8, 31, 2), (9, 32, 7), (17, 33, 63), (64, 127, 64), (65, 128, 65), (127, 129, 127), (128, 200, 128),
    (129, 256, 129), (257, 300, 191), (130, 1025, 193), (200, 1500, 64), (1000, 70, 1300),
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
# Words of 64 and of 128 bits, up to 16 moduli; what most data and what unusual data need.
WAYS = [{"bits": b} for b in (2, 24, 53, 54)] + [{"accuracy": "scaled"}, {"accuracy": "fp64"}]


@pytest.fixture(autouse=True)
def ways(monkeypatch):
    """Of every product that is prepared, whether it is made in this way."""
    made = []
    prepare = launch.prepare

    def noted(*arguments, **further):
        prepared = prepare(*arguments, **further)
        made.append(prepared.problem.describe()["fused"])
        return prepared

    monkeypatch.setattr(launch, "prepare", noted)
    monkeypatch.setattr(repeated, "made", {})
    return made


def fused(x, y, dtype, shape, is_fused=True, **options):
    out = noisy(shape, dtype)
    with forced(fused=is_fused):
        ozfp4.matmul(x, y, out=out, backend="int8", **options)
    return out.cpu()


def check(a, b, x=None, y=None, ways=WAYS, context=""):
    x, y = on_device(a) if x is None else x, on_device(b) if y is None else y
    for way in ways:
        expected = ozfp4.matmul(a, b, **way)
        dtype = torch.from_numpy(expected.reshape(-1)[:1]).dtype
        assert_same_bits(fused(x, y, dtype, expected.shape, **way), expected, (context, way))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_bits_of_the_cpu(kind: str, dtype: type, ways: list[bool]) -> None:
    for number, shape in enumerate(SHAPES):
        a, b = operands(kind, *shape, seed=number, dtype=dtype)
        check(a, b, context=(kind, shape))
    assert all(ways)


def test_views_and_stacks(ways: list[bool]) -> None:
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((3, 2, 140, 40)), rng.standard_normal((2, 40, 150))
    x, y = on_device(a), on_device(b)
    check(a, b, x, y)
    check(a[:, :1, ::2, ::3][..., ::-1], b[:1, ::3], x[:, :1, ::2, ::3].flip(-1), y[:1, ::3])
    check(a.swapaxes(-1, -2), b.swapaxes(-1, -2)[..., :140, :], x.mT, y.mT[..., :140, :])
    wide = noisy((280, 900))
    with forced(fused=True):
        ozfp4.matmul(x[0, 0], y[0], out=wide[::2, ::6], backend="int8")
    assert_same_bits(wide[::2, ::6].cpu(), ozfp4.matmul(a[0, 0], b[0]))
    assert bool(torch.isnan(wide[1::2]).all())
    assert bool(torch.isnan(wide[:, 1::6]).all())
    check(rng.standard_normal((1000, 3, 4)), rng.standard_normal((1000, 4, 5)))
    a, b = rng.standard_normal((2, 1, 3, 1, 70, 40)), rng.standard_normal((1, 2, 1, 2, 40, 133))
    a[1, 0, 2, 0, 3, 7], b[0, 1, 0, 0, 8, 132], b[0, 0, 0, 1, 9, 1] = np.nan, np.inf, -np.inf
    check(a, b)
    assert all(ways)


def test_entries_without_a_certificate_are_repaired() -> None:
    """Sums that cancel, some of them to exact zeros, beside ordinary ones, in every part of a row's words."""
    rng = np.random.default_rng(6)
    for columns in (20, 33, 64, 97, 150):
        a, b = rng.standard_normal((150, 60)), rng.standard_normal((60, columns))
        a[::3, 30:] = -a[::3, :30]
        b[30:, ::2] = b[:30, ::2] * (1 + 2.0**-50 * rng.integers(0, 2, (30, (columns + 1) // 2)))
        check(a, b, ways=[{"accuracy": "fp64"}], context=columns)


def test_data_that_need_more_moduli_than_the_launch_takes(ways: list[bool]) -> None:
    """One wide row is enough: then the two launches behind it serve, and else they end at once."""
    rng = np.random.default_rng(9)
    a, b = rng.standard_normal((150, 90)), rng.standard_normal((90, 140))
    check(a, b, ways=[{"accuracy": "fp64"}])
    a[7] *= 2.0 ** rng.integers(-60, 1, 90)
    b[:, 11] *= 2.0 ** rng.integers(-60, 1, 90)
    check(a, b, ways=[{"accuracy": "fp64"}])
    assert all(ways)


def test_what_has_no_such_kernel(ways: list[bool]) -> None:
    """Other launches make it, with the same bits."""
    rng = np.random.default_rng(8)
    a, b = rng.standard_normal((70, 40)), rng.standard_normal((40, 66))
    check(a, b, ways=[{"bits": 90}, {"accuracy": "correct"}, {"scheme": "I", "bits": 53}])
    assert not any(ways)


def test_many_outputs_of_short_k_take_it() -> None:
    a, b = (torch.randn(shape, dtype=torch.float64, device=DEVICE) for shape in ((8192, 100), (100, 8192)))
    for way in ({"bits": 53}, {"accuracy": "fp64"}):
        repeated.made.clear()
        out = ozfp4.matmul(a, b, backend="int8", **way)
        (made,) = repeated.made.values()
        assert made[0].problem.describe()["fused"]
        assert_same_bits(fused(a, b, torch.float64, out.shape, is_fused=False, **way), out.cpu())


def test_a_graph() -> None:
    rng = np.random.default_rng(7)
    a, b = rng.standard_normal((148, 148)), rng.standard_normal((148, 148))
    x, y, out = on_device(a), on_device(b), noisy((148, 148))
    with forced(fused=True):
        ozfp4.matmul(x, y, out=out, backend="int8")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            ozfp4.matmul(x, y, out=out, backend="int8")
            ozfp4.matmul(out, y, out=out.new_empty(out.shape), backend="int8")
    out.fill_(float("nan"))
    graph.replay()
    assert_same_bits(out.cpu(), ozfp4.matmul(a, b))
