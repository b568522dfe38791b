"""CUDA graphs and streams: a captured product, launched again, has the CPU's bits for whatever the operands hold by then."""

from __future__ import annotations

import numpy as np
import pytest
from first_gpu import on_device, torch

import ozfp4
from ozfp4._dispatch import product
from ozfp4.testing import assert_same_bits
from support import chosen
from support.integers import noise

SQUARES = (200, 200), (200, 200), (200, 200)


def matmul(**options):
    return lambda a, b, out: chosen.matmul(a, b, out=out, **options)


def update(alpha, beta, **options):
    """In place."""
    return lambda a, b, c: ozfp4.gemm(alpha, a, b, beta, c, out=c, **options)


# The dtype; shapes of A, B and the result, which holds C where there is one; the product.
CASES = {
    "scaled, int8": ("float64", SQUARES, matmul(accuracy="scaled", backend="int8")),
    "scaled, fp4": ("float64", SQUARES, matmul(accuracy="scaled", backend="fp4")),
    "standard": ("float64", ((131, 300), (300, 190), (131, 190)), matmul()),
    "correct": ("float64", SQUARES, matmul(accuracy="correct")),
    "correct, down": ("float64", SQUARES, matmul(accuracy="correct", rounding="down")),
    "within a limit": (
        "float64",
        ((6, 30, 5_000), (6, 5_000, 20), (6, 30, 20)),
        matmul(accuracy="scaled", backend="int8", workspace_limit=2 << 20),
    ),
    "complex": ("complex128", ((130, 200), (200, 70), (130, 70)), matmul()),
    "small complex": ("complex128", ((100, 90), (90, 80), (100, 80)), matmul()),
    "integers": ("int64", ((64, 200), (200, 72), (64, 72)), matmul()),
    "gram": ("float64", ((200, 70), (1, 1), (200, 200)), lambda a, _, out: ozfp4.gram(a, left=True, out=out)),
    "update": ("float64", ((60, 200), (200, 80), (60, 80)), update(-1, 1)),
    "imaginary factors": ("complex128", ((30, 40), (40, 50), (30, 50)), update(1j, 2j)),
    "factors with both parts": ("complex128", ((30, 40), (40, 50), (30, 50)), update(1 + 2j, 1 - 1j)),
    "update of integers": ("int64", ((40, 30), (30, 20), (40, 20)), update(-3, 5)),
}


def draw(rng, shape, dtype, deepest):
    if dtype == "int64":
        return noise(shape, "int64" if deepest else "int8").astype(np.int64)  # by all moduli, or by few
    x = rng.standard_normal((2, *shape)) * 2.0 ** -rng.integers(0, deepest + 1, (2, *shape))
    return x[0] + 1j * x[1] if dtype == "complex128" else x[0].copy()


@pytest.mark.parametrize("name", CASES)
def test_a_graph_is_launched_again(name, monkeypatch):
    monkeypatch.setattr(product, "GRAM_COLUMNS", 64)  # several blocks
    dtype, shapes, function = CASES[name]
    rng = np.random.default_rng(15)
    x, y, out = (on_device(draw(rng, s, dtype, 300)) for s in shapes)
    function(x, y, out)  # what it does once is done
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        function(x, y, out)
    for deepest in (0, 300, 0):  # nothing is repaired, or much
        a, b, c = (draw(rng, s, dtype, deepest) for s in shapes)
        for there, here in ((x, a), (y, b), (out, c)):
            there.copy_(torch.from_numpy(here))
        graph.replay()
        function(a, b, c)
        assert_same_bits(out.cpu(), c, (name, deepest))


def test_streams_keep_their_counters():
    """Which are left as they were found, whoever shares them."""
    rng = np.random.default_rng(16)
    cases = []
    for accuracy, deepest in [(x, d) for x in ("scaled", "standard", "correct") for d in (0, 200)]:
        a, b = (draw(rng, s, "float64", deepest) for s in ((70, 60), (60, 90)))
        cases.append(
            (on_device(a), on_device(b), accuracy, chosen.matmul(a, b, accuracy=accuracy, report=True))
        )
    torch.cuda.synchronize()
    found, streams = [], [torch.cuda.Stream() for _ in range(3)]
    for turn in range(36):
        x, y, accuracy, (expected, of_cpu) = cases[turn % 6]
        for stream in streams:
            with torch.cuda.stream(stream):
                found.append((chosen.matmul(x, y, accuracy=accuracy), expected))
        if turn % 5 == 4:
            c, report = chosen.matmul(x, y, accuracy=accuracy, report=True)
            assert_same_bits(c.cpu(), expected)
            if accuracy == "standard":
                assert report.certified.chains == of_cpu.certified.chains
    torch.cuda.synchronize()
    for c, expected in found:
        assert_same_bits(c.cpu(), expected)
