"""Features of a GPU alone: graphs, streams, counts that the device writes, workspaces that are refused or need not be."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from typing import Any

import library as lib
import numpy as np
import pytest
from cuda_calls import Host, Launch

import ozfp4
from device_names import CUDA

RNG = np.random.default_rng(1)
ONE, BOTH = np.array([1 + 0j]), np.array([1 + 2j])


pytestmark = pytest.mark.parametrize("calls", [CUDA], indirect=True)


@pytest.fixture
def cuda(calls: Any) -> Any:
    return calls


def normal(*shape: int, dtype: str = "float64", deep: int = 0) -> lib.Array:
    x = RNG.standard_normal((2, *shape)) * np.exp2(RNG.integers(-deep, deep + 1, (2, *shape)))
    return np.asarray(x[0] + 1j * x[1] if dtype.startswith("c") else x[0], dtype)


def product(a: lib.Array, b: lib.Array, c: lib.Array, alpha: Any = 1.0, beta: Any = 0.0) -> tuple[Any, ...]:
    """The arguments of a product of rows."""
    (m, k), n = a.shape, b.shape[1]
    factors = (lib.factor(x, a.dtype) if np.ndim(x) == 0 else x for x in (alpha, beta))
    return (lib.ROW, lib.NONE, lib.NONE, m, n, k, next(factors), a, max(k, 1), b, n, next(factors), c, n)


class Count:
    """A number that the device writes, there or in pinned memory of the host."""

    def __init__(self, pinned: bool) -> None:
        import torch

        self.at = torch.full(
            (1,), -777, dtype=torch.int64, **({"pin_memory": True} if pinned else {"device": "cuda:0"})
        )
        self.pointer = ctypes.cast(self.at.data_ptr(), ctypes.POINTER(ctypes.c_int64))

    def value(self) -> int:
        import torch

        torch.cuda.synchronize()
        return int(self.at.item())


def check_replays(
    launch: Launch, c: lib.Array, expected: lib.Array, between: Callable[[], None] = lambda: None
) -> None:
    """Enqueued on another stream, and whenever a graph of it is launched, behind noise, and behind what comes `between`."""
    import torch

    noise = c.copy()

    def again() -> None:
        torch.cuda.synchronize()  # it reads in the order of another stream
        launch.read()
        assert lib.same_bits(c, expected)
        c[...] = noise
        launch.memory.put(c).copy_(torch.from_numpy(noise))
        torch.cuda.synchronize()

    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    torch.cuda.synchronize()  # small operands may still be on their way to the device, in the order of another stream
    assert launch.run(stream=stream.cuda_stream) == lib.OK
    again()
    with torch.cuda.graph(graph, stream=stream):
        assert launch.run(stream=stream.cuda_stream) == lib.OK
    between()
    for _ in range(2):
        graph.replay()
        again()


@pytest.mark.parametrize("accuracy", ["standard", "correct"])
@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
def test_graphs_of_factors_with_both_parts(cuda: Any, dtype: str, accuracy: str) -> None:
    """The count is that of their repairs, and 0 where nothing is multiplied."""
    a, b, c = (normal(*s, dtype=dtype) for s in ((40, 50), (50, 30), (40, 30)))
    told = Count(pinned=False)
    asked = lib.options(accuracy=lib.ACCURACIES[accuracy], repaired=told.pointer)
    name, alpha, beta = f"{lib.LETTERS[dtype]}gemm", np.array([1 - 1j], dtype), np.array([0.5 + 2j], dtype)
    # beta C, in place, would be another number in each turn.
    expected = ozfp4.gemm(1 - 1j, a, b, 0, None, accuracy=accuracy)
    check_replays(Launch(cuda.library, name, product(a, b, c, alpha), asked, None), c, expected)
    assert 0 <= told.value() <= 4 * c.size
    expected = ozfp4.gemm(1 - 1j, a, b, 0.5 + 2j, c, accuracy=accuracy)
    cuda.succeed(name, *product(a, b, c, alpha, beta), asked=asked)
    assert lib.same_bits(c, expected)
    cuda.succeed(name, *product(a, b, c, np.zeros(1, dtype), beta), asked=asked)
    assert told.value() == 0


@pytest.mark.parametrize("extent", [24, 400])  # without planes, and by stages
@pytest.mark.parametrize("entry", ["int8", "int64"])
def test_graphs_of_integers(cuda: Any, entry: str, extent: int) -> None:
    a, b = (RNG.integers(-128, 127, (extent, extent), entry) for _ in range(2))
    c = np.full((extent, extent), 7)
    types = lib.TYPES[entry], lib.TYPES["int64"]
    given = (
        lib.ROW, lib.NONE, lib.NONE, extent, extent, extent, 5, types[0], a, extent, types[0], b, extent, 0, types[1], c, extent,
    )  # fmt: skip
    check_replays(Launch(cuda.library, "igemm", given, None, None), c, 5 * (a.astype(int) @ b.astype(int)))


def test_a_graph_keeps_its_schedule(cuda: Any) -> None:
    """One of 677 steps, which lies on the device, behind products of more extents than the library keeps, and in what memory was
    given back since."""
    import torch

    a, b, c = (normal(*s) for s in ((70, 90), (90, 40), (70, 40)))
    asked = lib.options(accuracy=1, scheme=lib.SCHEMES["I"], backend=lib.BACKENDS["int8"], bits=200)
    expected, held = c.copy(), []
    Host(cuda.library).succeed("dgemm", *product(a, b, expected), asked=asked)

    def multiply_others() -> None:
        for m, n in itertools.product(range(1, 92), repeat=2):
            others = np.ones((m, 3)), np.ones((3, n)), np.empty((m, n))
            assert Launch(cuda.library, "dgemm", product(*others), None, None).run() == lib.OK
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        held.extend(torch.full((32768,), 0xA5, dtype=torch.uint8, device="cuda:0") for _ in range(256))

    check_replays(Launch(cuda.library, "dgemm", product(a, b, c), asked, None), c, expected, multiply_others)


@pytest.mark.parametrize("dtype", lib.LETTERS)
def test_prepared_operands_on_another_stream(cuda: Any, dtype: str) -> None:
    import torch

    a, b, c = (normal(*s, dtype=dtype) for s in ((90, 200), (200, 80), (90, 80)))
    kind, stream = lib.TYPES[dtype], torch.cuda.Stream()
    left = cuda.prepare(kind, lib.LEFT, lib.ROW, lib.NONE, 90, 200, a, 200, stream=stream.cuda_stream)
    right = cuda.prepare(kind, lib.RIGHT, lib.ROW, lib.NONE, 200, 80, b, 80, stream=stream.cuda_stream)
    one, zero = np.ones(1, dtype), np.zeros(1, dtype)
    given = (lib.ROW, lib.NONE, lib.NONE, 90, 80, 200, one, None, 1, left, None, 1, right, zero, c, 80)
    check_replays(Launch(cuda.library, "gemm_prepared", given, None, None), c, ozfp4.matmul(a, b))
    for m in (1, 7, 64, 500):  # one operand, many products
        rows, out = normal(m, 200, dtype=dtype), np.empty((m, 80), dtype)
        cuda.succeed(
            "gemm_prepared", lib.ROW, lib.NONE, lib.NONE, m, 80, 200, one, rows, 200, None, None, 1, right, zero, out, 80,
        )  # fmt: skip
        assert lib.same_bits(out, ozfp4.matmul(rows, b))
    for made in (left, right):
        cuda.release(made)


@pytest.mark.parametrize("beta", [0.0, 2.0])
@pytest.mark.parametrize(
    "extents", [(60, 40, 50), (500, 300, 400), (3000, 20, 90)]
)  # one launch, stages, tiles
@pytest.mark.parametrize("deep", [0, 300])
def test_repairs_are_counted_on_the_device(cuda: Any, deep: int, extents: Any, beta: float) -> None:
    m, k, n = extents
    a, b, before = (abs(normal(*s)) for s in ((m, k), (k, n), (m, n)))
    a, b = (np.ldexp(x, RNG.integers(-deep, deep + 1, x.shape)) for x in (a, b))
    counts = []
    for pinned in (False, True):
        told, c = Count(pinned), before.copy()
        asked = lib.options(repaired=told.pointer)
        cuda.succeed("dgemm", *product(a, b, c, 1.0, beta), asked=asked)
        assert lib.same_bits(c, ozfp4.gemm(1, a, b, beta, before))
        counts.append(told.value())
        asked.accuracy = lib.ACCURACIES["scaled"]
        cuda.succeed("dgemm", *product(a, b, c, 1.0, beta), asked=asked)
        assert told.value() == 0
    assert counts[0] == counts[1]
    assert (counts[0] > 0) == (deep > 0)
    asked.accuracy = 0
    for x, y, alpha in ((a[:0], b, 1.0), (a[:, :0].copy(), b[:0], 1.0), (a, b, 0.0)):
        told = Count(pinned=False)
        c = np.ones((x.shape[0], n))
        asked.repaired = told.pointer
        cuda.succeed("dgemm", *product(x, y, c, alpha, beta), asked=asked)
        assert told.value() == 0


def test_repairs_of_all_blocks_of_a_gram_matrix_are_told(cuda: Any) -> None:
    n, k = 6145, 2500
    x, found = normal(n, k, deep=300), np.empty((n, n))
    told = Count(pinned=True)
    asked = lib.options(repaired=told.pointer)
    cuda.succeed("dgemm", lib.ROW, lib.NONE, lib.TRANS, n, n, k, 1.0, x, k, x, k, 0.0, found, n, asked=asked)
    of_whole, whole = told.value(), found.copy()
    assert of_whole > n * n // 100
    cuda.succeed("dgram", lib.ROW, lib.NONE, n, k, x, k, found, n, asked=asked)
    assert lib.same_bits(found, whole)
    # The entries above the diagonal are multiplied, and a part of those below.
    assert of_whole <= 2 * told.value() < 2 * of_whole


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint64", "int64"])
def test_overflows_are_counted_on_the_device(cuda: Any, dtype: str) -> None:
    limits = np.iinfo(dtype)
    large = (515, 1030, 390)
    for (m, k, n), backend in (
        ((70, 300, 67), 0), ((3, 1, 300), 0), ((1, 3000, 1), 0), (large, 1), (large, 2),
    ):  # fmt: skip
        for entries in ("all", "extreme", "few") if m < 500 else ("extreme",):
            low, high = (limits.min, limits.max) if entries != "few" else (0, 5)
            a, b = (RNG.integers(low, high, s, dtype, endpoint=True) for s in ((m, k), (k, n)))
            if entries == "extreme":
                ends = np.array([limits.min, limits.max], dtype)
                a, b = (ends[(x % 2).astype(int)] for x in (a, b))
            for result in {dtype, "int64"}:
                told, c, kind = Count(pinned=False), np.zeros((m, n), result), lib.TYPES[dtype]
                cuda.succeed(
                    "igemm", lib.ROW, lib.NONE, lib.NONE, m, n, k, 1, kind, a, k, kind, b, n, 0, lib.TYPES[result], c, n,
                    asked=lib.options(overflows=told.pointer, backend=backend),
                )  # fmt: skip
                wide = a.astype(result), b.astype(result)
                assert np.array_equal(c, np.matmul(*wide))
                report = lib.new_report()
                lib.succeed(
                    cuda.library, "igemm", lib.ROW, lib.NONE, lib.NONE, m, n, k, 1, kind, a, k, kind, b, n, 0, lib.TYPES[result],
                    c, n, lib.options(report=ctypes.pointer(report)),
                )  # fmt: skip
                assert told.value() == report.overflows


def test_a_limit_that_a_factor_with_both_parts_keeps(cuda: Any) -> None:
    """The product A B exceeds it: blocks, with the same bits. One below the smallest block is refused."""
    n, k = 256, 16
    a, b, c = (normal(*s, dtype="complex128") for s in ((n, k), (k, n), (n, n)))
    before, limit = c.copy(), n * n * 16
    expected = ozfp4.gemm(1 + 1j, a, b, 1, c)
    sizes = []
    for asked in (None, lib.options(workspace_limit=limit)):
        c[...] = before
        launch = Launch(cuda.library, "zgemm", product(a, b, c, np.array([1 + 1j]), ONE), asked, None)
        assert launch.run() == lib.OK
        launch.read()
        assert lib.same_bits(c, expected)
        sizes.append(launch.size)
    assert sizes[1] <= limit < sizes[0]
    c[...] = before
    given = product(a, b, c, np.array([1 + 1j]), ONE)
    assert cuda("zgemm", *given, asked=lib.options(workspace_limit=256)) == lib.WORKSPACE
    assert lib.error(cuda.library).startswith("options.workspace_limit: 256 bytes is too small")
    assert lib.same_bits(c, before)


def test_null_workspace_where_none_is_needed(cuda: Any) -> None:
    a, b, c = (normal(*s, dtype="complex128") for s in ((20, 10), (10, 30), (20, 30)))
    expected = ozfp4.gemm(0, a, b, 1 + 2j, c)
    launch = Launch(cuda.library, "zgemm", product(a, b, c, ONE, BOTH), None, None)
    assert launch.size > 0
    launch.size = 0
    assert launch.run() == lib.WORKSPACE
    assert lib.error(cuda.library).startswith("workspace_bytes: 0 are fewer than")
    launch = Launch(cuda.library, "zgemm", product(a, b, c, 0 * ONE, BOTH), None, None)
    assert launch.size == 0
    assert launch.run() == lib.OK
    launch.read()
    assert lib.same_bits(c, expected)


def test_an_imaginary_factor_beside_two_prepared_operands(cuda: Any) -> None:
    a, b, c = (normal(*s, dtype="complex128") for s in ((4, 6), (6, 5), (4, 5)))
    kind = lib.TYPES["complex128"]
    left = cuda.prepare(kind, lib.LEFT, lib.ROW, lib.NONE, 4, 6, a, 6)
    right = cuda.prepare(kind, lib.RIGHT, lib.ROW, lib.NONE, 6, 5, b, 5)
    before = c.copy()
    given = (lib.ROW, lib.NONE, lib.NONE, 4, 5, 6, 1j * ONE, None, 6, left, None, 5, right, ONE, c, 5)
    assert cuda("gemm_prepared", *given) == lib.INVALID
    words = "alpha: it is imaginary, and both operands are prepared as they are"
    assert lib.error(cuda.library).startswith(words)
    assert lib.same_bits(c, before)
    for made in (left, right):
        cuda.release(made)
