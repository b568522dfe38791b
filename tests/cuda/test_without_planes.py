"""Products that a GPU makes in one launch, without planes: the bits of every other path. By machine words ("direct"), by one pass
over an operand if the other has few lines ("thin"), tile by tile ("tiles").

Skipped where torch, a GPU or its kernels are missing. Subjects of one way alone: test_direct.py, test_tiles.py.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import without_planes
from first_gpu import DEVICE, noisy, on_device, torch
from without_planes import KINDS, NotedWays, ways_of

from ozfp4._backends.cuda import extension
from ozfp4.testing import assert_same_bits, forced
from support import chosen, operands

SCALED, STANDARD = {"accuracy": "scaled"}, {"accuracy": "standard"}
OF_53 = {"bits": 53, **SCALED}


def bits(*capacities: int) -> list[dict[str, Any]]:
    return [{"bits": b, **SCALED} for b in capacities]


@dataclasses.dataclass(frozen=True)
class Way:
    name: str
    shapes: list[tuple[int, int, int]]
    modes: list[dict[str, Any]]
    stacks: tuple[tuple[int, int], tuple[int, int]]  # of matrices of these extents
    too_large: list[tuple[tuple[int, ...], tuple[int, ...]]]  # what has no such kernel
    too_many_bits: int
    takes_float32: bool = True

    def check(
        self, a: Any, b: Any, x: Any = None, y: Any = None, modes: Any = None, context: Any = ""
    ) -> None:
        without_planes.check(self.name, modes or self.modes, a, b, x, y, context)


WAYS = {
    # Around single entries, a warp's row, a block's columns and the list's words; K around a group, a chunk and the two
    # limbs' longest sums.
    "direct": Way(
        "direct",
        [(1, 1, 1), (8, 64, 32), (9, 65, 33), (7, 63, 31), (64, 64, 64), (16, 8, 96), (65, 7, 129), (5, 511, 40), (5, 512, 40),
         (3, 1024, 70), (130, 200, 66)],
        [*bits(2, 24, 53, 54, 62, 63, 76, 82), SCALED, STANDARD],
        ((20, 40), (40, 50)), [((9, 1025), (1025, 5)), ((65536, 1, 1), (65536, 1, 2))], 83,
    ),
    # Around a tile's lines, a unit of K, a thread's entries, a block's slice and a cluster's, by few columns.
    "thin": Way(
        "thin",
        [(1, 1, 1), (8, 64, 1), (9, 65, 2), (7, 63, 3), (31, 130, 8), (33, 511, 5), (32, 1024, 1), (13, 1025, 4), (5, 2049, 1),
         (6, 4096, 2), (3, 8191, 1), (9, 8192, 4), (11, 8192, 8), (300, 70, 4)],
        [*bits(2, 24, 53, 54, 82), STANDARD],
        ((20, 140), (140, 5)),
        [((20, 1025), (1025, 9)), ((65536, 2, 1), (65536, 1, 2)), ((3, 8193), (8193, 5)), ((3, 65537), (65537, 1))], 83,
    ),
    # Around a warp's rows and columns, tiles of each kind, parts and steps along K. The last shapes have enough tiles for the
    # larger kind.
    "tiles": Way(
        "tiles",
        [(1, 1, 1), (16, 32, 32), (17, 33, 31), (64, 64, 64), (65, 63, 65), (8, 5, 130), (129, 64, 1), (1, 64, 200), (70, 17, 96),
         (15, 16, 33), (33, 128, 65), (34, 127, 64), (16, 129, 32), (40, 193, 33), (50, 255, 70), (64, 256, 64),
         (900, 64, 801), (833, 47, 1000), (901, 128, 800), (850, 99, 903)],
        [SCALED, STANDARD, *bits(2, 24, 54, 55, 59)],
        ((70, 40), (40, 90)), [((9, 257), (257, 5))], 60, takes_float32=False,
    ),
}  # fmt: skip


not_tiles = pytest.mark.parametrize("way", ["direct", "thin"], indirect=True)


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Way:
    if request.param == "thin" and not extension.require_cuda().has_thin_kernels(DEVICE.index or 0):
        pytest.skip("this GPU has no kernels of few lines")
    return WAYS[request.param]


@pytest.fixture
def noted(way: Way) -> Any:
    yield NotedWays(way.name)
    without_planes.CUDA.note_ways(False)


def across(a: np.ndarray) -> Any:
    """The same matrix on the device, its columns adjacent."""
    return on_device(np.ascontiguousarray(a.swapaxes(-1, -2))).mT


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", KINDS)
def test_bits_of_the_cpu(way: Way, noted: NotedWays, kind: str, dtype: type) -> None:
    if dtype == np.float32 and not way.takes_float32:
        pytest.skip("for float64")
    for number, (m, k, n) in enumerate(way.shapes):
        a, b = operands(kind, m, k, n, seed=number, dtype=dtype)
        way.check(a, b, context=(kind, m, k, n))
        if way.name == "thin":  # few columns and few rows, lines along K and across it
            some = way.modes[2::3]
            way.check(a, b, across(a), modes=some, context=(kind, m, k, n, "across"))
            a, b = operands(kind, n, k, m, seed=number, dtype=dtype)
            way.check(a, b, modes=some, context=(kind, n, k, m))
            way.check(a, b, None, across(b), modes=some, context=(kind, n, k, m, "across"))
    assert all(noted)


def test_views_and_stacks(way: Way, noted: NotedWays) -> None:
    rng = np.random.default_rng(5)
    (m, k), (_, n) = way.stacks
    a, b = rng.standard_normal((3, 2, m, k)), rng.standard_normal((2, k, n))
    x, y = on_device(a), on_device(b)
    way.check(a, b, x, y)
    way.check(a[:, :1, ::2, ::3][..., ::-1], b[:1, ::3], x[:, :1, ::2, ::3].flip(-1), y[:1, ::3])
    way.check(rng.standard_normal((1000, 3, 4)), rng.standard_normal((1000, 4, 5)))
    way.check(rng.standard_normal((65535, 2, 1)), rng.standard_normal((1, 3)), modes=[OF_53, {}])
    wide = noisy((2 * m, 3 * n))
    with forced(**{way.name: True}):
        chosen.matmul(x[0, 0], y[0], out=wide[::2, ::3])
    assert_same_bits(wide[::2, ::3].cpu(), chosen.matmul(a[0, 0], b[0]))
    assert bool(torch.isnan(wide[1::2]).all())
    assert bool(torch.isnan(wide[:, 1::3]).all())
    assert all(noted)


@not_tiles
def test_more_views_and_stacks(way: Way, noted: NotedWays) -> None:
    rng = np.random.default_rng(5)
    (m, k), (_, n) = way.stacks
    a, b = rng.standard_normal((3, 2, m, k)), rng.standard_normal((2, k, n))
    x, y = on_device(a), on_device(b)
    way.check(a[..., 1:], b[:, 1:], x[..., 1:], y[:, 1:])  # no pair of entries is aligned
    way.check(b.swapaxes(-1, -2), a.swapaxes(-1, -2), y.mT, x.mT)
    a, b = rng.standard_normal((2, 1, 3, 1, 9, k)), rng.standard_normal((1, 2, 1, 2, k, n))
    a[1, 0, 2, 0, 3, 7], b[0, 1, 0, 0, 8, n - 1], b[0, 0, 0, 1, 9, 1] = np.nan, np.inf, -np.inf
    way.check(a, b)
    wide = noisy((2, 2, 3, 2, 18, 3 * n))
    with forced(**{way.name: True}):
        chosen.matmul(on_device(a), on_device(b), out=wide[..., ::2, ::3])
    assert_same_bits(wide[..., ::2, ::3].cpu(), chosen.matmul(a, b))
    assert bool(torch.isnan(wide[..., 1::2, :]).all())
    assert bool(torch.isnan(wide[..., 1::3]).all())
    assert all(noted)


def test_what_has_no_such_kernel(way: Way, noted: NotedWays) -> None:
    """Others make it, with the same bits."""
    rng = np.random.default_rng(8)
    for number, shapes in enumerate(way.too_large):
        modes = [OF_53, {}] if number == 0 else [OF_53]
        way.check(*(rng.standard_normal(shape) for shape in shapes), modes=modes)
    a, b = rng.standard_normal((9, 40)), rng.standard_normal((40, 2))
    way.check(a, b, modes=[*bits(way.too_many_bits), {"accuracy": "correct"}])
    if way.takes_float32:
        way.check(a, b.astype(np.float32), modes=[OF_53])
    else:
        way.check(a.astype(np.float32), b.astype(np.float32), modes=[{}])
    assert not any(noted)


@pytest.mark.parametrize("columns", [1, 2, 5, 8, 20, 33, 64, 97])
def test_entries_without_a_certificate_are_repaired(way: Way, columns: int) -> None:
    """Sums that cancel, some to exact zeros, among ordinary ones; few columns and few rows, and every half of a pair of words."""
    rng = np.random.default_rng(6)
    a, b = rng.standard_normal((70, 160)), rng.standard_normal((160, columns))
    a[::3, 80:] = -a[::3, :80]
    b[80:, ::2] = b[:80, ::2] * (1 + 2.0**-50 * rng.integers(0, 2, (80, (columns + 1) // 2)))
    way.check(a, b, modes=[STANDARD], context=columns)
    way.check(b.T, a.T, modes=[STANDARD], context=columns)


@pytest.mark.parametrize(
    ("way", "extents", "dtype", "capacity"),
    # Products of 64 x 64 float64 entries and few bits are made tile by tile.
    [("direct", (64, 64), torch.float32, 24), ("thin", (4096, 1), torch.float64, 53)],
    indirect=["way"],
)
def test_products_take_it(
    way: Way, extents: tuple[int, int], dtype: torch.dtype, capacity: int, noted: NotedWays
) -> None:
    a, b = (torch.randn(extents[0], n, dtype=dtype, device=DEVICE) for n in extents)
    for mode in ({}, *bits(capacity), STANDARD):
        for x, y in ((a, b), (b.mT, a)):
            right = chosen.matmul(x, y, **mode)
            assert ways_of(lambda x=x, y=y, mode=mode: chosen.matmul(x, y, **mode)) == [way.name]
            assert_same_bits(chosen.matmul(x, y, **mode).cpu(), right.cpu())
            reported, report = chosen.matmul(x, y, report=True, **mode)
            assert_same_bits(reported.cpu(), right.cpu())
            assert report.moduli_used > 0
    for mode in ({"backend": "int8"}, {"accuracy": "correct"}):
        assert ways_of(lambda mode=mode: chosen.matmul(a, b, **mode)) == ["stages"]


@not_tiles
def test_a_graph_and_another_stream(way: Way) -> None:
    rng = np.random.default_rng(7)
    (_, k), (_, n) = way.stacks
    a, b = rng.standard_normal((k, k)), rng.standard_normal((k, n))
    x, y, out = on_device(a), on_device(b), noisy((k, n))
    with forced(**{way.name: True}):
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


only_thin = pytest.mark.parametrize("way", ["thin"], indirect=True)


@only_thin
def test_longer_lines_beside_few(way: Way, noted: NotedWays) -> None:
    """As long as a cluster takes them."""
    for k, few in ((65536, 1), (32768, 2), (16384, 4), (40001, 1)):
        a, b = operands("phi8", 5, k, few, seed=k)
        way.check(a, b, modes=[OF_53, STANDARD])
    rng = np.random.default_rng(5)
    way.check(rng.standard_normal((1, 9, 3000)), rng.standard_normal((40, 3000, 1)))
    assert all(noted)


@only_thin
def test_lines_of_their_own_capacity_beside_few(way: Way, noted: NotedWays) -> None:
    """In a tile some lines have integers of two limbs, some of three; few lines likewise."""
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((40, 3000)), rng.standard_normal((3000, 6))
    a[::3] *= 2.0 ** rng.integers(-30, 30, (14, 3000))
    a[1::5] = np.round(a[1::5] * 8)
    way.check(a, b, modes=[STANDARD])
    way.check(a, b, across(a), modes=[STANDARD])
    b[:, ::2] *= 2.0 ** rng.integers(-30, 30, (3000, 3))
    way.check(a, b, modes=[STANDARD])
    assert all(noted)
