"""Products of integers on a GPU, against Python's integers. Skipped where torch, a GPU or its kernels are missing."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from first_gpu import DEVICE, torch

import ozfp4
from support import STACKS
from support.integers import (
    DTYPES,
    KINDS,
    exact,
    modulo,
    noise,
    operand,
    overflows,
    steps_of_moduli,
    wrapped,
)

BACKENDS = ["int8", "fp4"]
SHAPES = [(1, 1, 1), (3, 5, 4), (17, 70, 9), (2, 1100, 3), (130, 260, 135), (33, 9000, 20)]


def on_device(x: np.ndarray) -> Any:
    return torch.from_numpy(x).to(DEVICE)


def same(found: Any, expected: np.ndarray) -> None:
    assert found.is_cuda
    found = found.cpu().numpy()
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype: str, backend: str) -> None:
    rng = np.random.default_rng(1)
    for (m, k, n), kind in product(SHAPES, KINDS):
        a, b = operand(rng, kind, (m, k), dtype), operand(rng, kind, (k, n), dtype)
        real = exact(a, b) if m * k * n < 10**6 else None
        expected = np.matmul(a, b) if real is None else wrapped(real, dtype)
        x, y = on_device(a), on_device(b)
        same(ozfp4.matmul(x, y, backend=backend), expected)
        out = on_device(noise((m, n), dtype))
        c, report = ozfp4.matmul(x, y, backend=backend, out=out, report=True)
        assert c is out
        same(out, expected)
        cpu = ozfp4.matmul(a, b, backend=backend, report=True)[1]
        assert report.overflows == (cpu.overflows if real is None else overflows(real, dtype))
        assert (report.kind, report.backend, report.accuracy) == ("integer", backend, "exact")
        assert report.exponents == cpu.exponents
        assert cpu.moduli_used <= report.moduli_used <= cpu.moduli_used + 1
        assert report.products >= report.moduli_used


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_length_of_integers(backend: str) -> None:
    """From one modulus to all of them."""
    rng = np.random.default_rng(2)
    used = set()
    for bits in range(1, 65):
        low, high = -(2**63) >> (64 - bits), (2**63 - 1) >> (64 - bits)
        a, b = (rng.integers(low, high, shape, endpoint=True) for shape in ((40, 130), (130, 36)))
        c, report = ozfp4.matmul(on_device(a), on_device(b), backend=backend, report=True)
        same(c, np.matmul(a, b))
        used.add(report.moduli_used)
    assert min(used) <= 2
    assert max(used) >= 17


@pytest.mark.parametrize("backend", BACKENDS)
def test_where_a_modulus_more_is_needed(backend: str) -> None:
    """Lines of one number, whose products are as large as their norms let them be: about half of every product of moduli."""
    for below, above in steps_of_moduli(
        ozfp4.plan(2, 2, 3, bits=64, accuracy="scaled", backend=backend).moduli
    ):
        for a, b in ((below, below), (above, above), (below, -below), (above, -above)):
            left, right = np.full((2, 3), a), np.full((3, 2), b)
            same(ozfp4.matmul(on_device(left), on_device(right), backend=backend), np.matmul(left, right))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("value", [2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 0, -1])
def test_overflow_at_the_ends(value: int, backend: str) -> None:
    a = np.array([[2**62, 2**62, value // 2, value - value // 2]])
    b = np.array([[2**62], [-(2**62)], [1], [1]])
    out = on_device(noise((1, 1), np.int64))
    before = out.clone()
    x, y = on_device(a), on_device(b)
    if -(2**63) <= value < 2**63:
        assert ozfp4.matmul(x, y, backend=backend, overflow="raise", out=out) is out
        same(out, np.array([[value]]))
    else:
        with pytest.raises(OverflowError, match=r"1 entry of the product does not fit torch\.int64"):
            ozfp4.matmul(x, y, backend=backend, overflow="raise", out=out)
        assert torch.equal(out, before)


def test_unsigned_numbers_above_int64() -> None:
    large = np.full((3, 1025), 2**64 - 1, np.uint64)
    one = np.zeros((1025, 1), np.uint64)
    one[7] = 1
    x = on_device(large)
    same(ozfp4.matmul(x, x.T), np.full((3, 3), 1025, np.uint64))
    same(ozfp4.matmul(x, on_device(one), overflow="raise"), np.full((3, 1), 2**64 - 1, np.uint64))
    with pytest.raises(OverflowError, match="9 entries"):
        ozfp4.matmul(x, x.T, overflow="raise")
    least = np.full((2, 3000), -(2**63))
    same(ozfp4.matmul(on_device(least), on_device(least.T.copy())), np.zeros((2, 2), np.int64))


@pytest.mark.parametrize("shapes", STACKS, ids=str)
def test_stacks_and_out(shapes: Any) -> None:
    rng = np.random.default_rng(4)
    for dtype in ("int64", "int16", "uint8", "bool"):
        a, b = (
            noise(shape, dtype) if dtype == "bool" else operand(rng, "full", shape, dtype) for shape in shapes
        )
        expected = np.asarray(np.matmul(a, b))
        same(ozfp4.matmul(on_device(a), on_device(b)), expected)
        out = on_device(noise(expected.shape, dtype))
        assert ozfp4.matmul(on_device(a), on_device(b), out=out) is out
        same(out, expected)
        if dtype != "bool":
            continue
        same(ozfp4.matmul(on_device(a), on_device(b), overflow="raise"), expected)


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
def test_layouts_blocks_and_pieces(dtype: str) -> None:
    rng = np.random.default_rng(5)
    a, b = operand(rng, "full", (140, 2000), dtype), operand(rng, "full", (2000, 150), dtype)
    expected = np.matmul(a, b)
    x, y = on_device(a), on_device(b)
    same(ozfp4.matmul(x, y.T.contiguous().T), expected)
    same(ozfp4.matmul(x.T.contiguous().T, y), expected)
    same(ozfp4.matmul(x[::2, 1::3], y[1::3, ::2]), np.matmul(a[::2, 1::3], b[1::3, ::2]))
    wide = on_device(noise((150, 280), dtype))
    before = wide.clone()
    ozfp4.matmul(x, y, out=wide[:, ::2].T)
    same(wide[:, ::2].T, expected)
    assert torch.equal(wide[:, 1::2], before[:, 1::2])
    for limit in (6 << 20, 3 << 20):
        c, report = ozfp4.matmul(x, y, workspace_limit=limit, report=True)
        same(c, expected)
        assert report.workspace <= limit


def test_splits_of_k() -> None:
    rng = np.random.default_rng(6)
    a, b = operand(rng, "full", (5, 70000), "int64"), operand(rng, "full", (70000, 6), "int64")
    x, y = on_device(a), on_device(b)
    same(ozfp4.matmul(x, y), np.matmul(a, b))
    m = 2**61 - 1
    same(ozfp4.matmul_mod(x, y, m), ozfp4.matmul_mod(a, b, m))
    with pytest.raises(OverflowError, match="30 entries"):
        ozfp4.matmul(x, y, overflow="raise")


@pytest.mark.parametrize("shape", [(0, 3, 4), (3, 0, 4), (3, 4, 0)], ids=str)
def test_empty_products(shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    for dtype in ("int64", "int8", "bool"):
        out = on_device(noise((m, n), dtype))
        x, y = (on_device(np.ones(s, dtype)) for s in ((m, k), (k, n)))
        ozfp4.matmul(x, y, out=out, overflow="raise")
        same(out, np.zeros((m, n), dtype))
        if dtype != "bool":
            same(ozfp4.matmul_mod(x, y, 7), np.zeros((m, n), np.int64))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("m", [1, 2, 3, 97, 256, 2**31 - 1, 2**32, 2**61 - 1, 2**62 + 11, 2**63 - 1])
def test_modulo(m: int, backend: str) -> None:
    rng = np.random.default_rng(7)
    for dtype, kind, (rows, k, columns) in product(DTYPES, KINDS, [(3, 5, 4), (40, 300, 37)]):
        a, b = operand(rng, kind, (rows, k), dtype), operand(rng, kind, (k, columns), dtype)
        expected = modulo(exact(a, b), m) if rows < 10 else ozfp4.matmul_mod(a, b, m)
        out = on_device(noise((rows, columns), np.int64))
        c, report = ozfp4.matmul_mod(on_device(a), on_device(b), m, backend=backend, out=out, report=True)
        assert c is out
        same(out, expected)
        assert report.kind == "integer"


def test_mixtures_and_floats() -> None:
    a, b = noise((40, 50), "int32"), noise((50, 30), "int64")
    same(ozfp4.matmul(on_device(a), on_device(b)), np.matmul(a, b))
    real = np.random.default_rng(8).standard_normal((50, 30)).astype(np.float32)
    x, y = on_device(a), on_device(real)
    assert torch.equal(ozfp4.matmul(x, y), ozfp4.matmul(x.float(), y))
    assert torch.equal(ozfp4.matmul(x, y.double()), ozfp4.matmul(x.double(), y.double()))
    with pytest.raises(TypeError, match=r"^b: torch has no common dtype of torch.int64 and torch.uint64"):
        ozfp4.matmul(on_device(noise((4, 4), "uint64")), on_device(noise((4, 4), "int64")))
    with pytest.raises(ValueError, match=r"^scheme: 'I' is not for integers on a GPU"):
        ozfp4.matmul(x, on_device(b), scheme="I")
    with pytest.raises(
        ValueError, match=r"^plan: its bits are 120; integers on a GPU take plans of 82 at most"
    ):
        ozfp4.matmul(
            x, on_device(b), plan=ozfp4.plan(40, 30, 50, bits=120, accuracy="scaled", backend="int8")
        )
    same(
        ozfp4.matmul(
            x, on_device(b), plan=ozfp4.plan(40, 30, 50, bits=80, accuracy="scaled", backend="int8")
        ),
        np.matmul(a, b),
    )
    with pytest.raises(ValueError, match=r"^accuracy: .* floating-point"):
        ozfp4.matmul(x, on_device(b), accuracy="correct")


def test_graph_capture_and_streams() -> None:
    a, b = noise((64, 200), "int64"), noise((200, 72), "int64")
    x, y = on_device(a), on_device(b)
    out = torch.zeros((64, 72), dtype=torch.int64, device=DEVICE)
    ozfp4.matmul(x, y, out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        ozfp4.matmul(x, y, out=out)
    small = noise((64, 200), "int8").astype(np.int64)
    x.copy_(on_device(small))  # fewer moduli than at the capture
    graph.replay()
    same(out, np.matmul(small, b))


@pytest.mark.parametrize(
    "dtypes",
    [*((dtype, dtype) for dtype in DTYPES), ("int32", "int64"), ("uint8", "int8"), ("int64", "float64"), ("float32", "int16"),
     ("int64", "complex128")],
)  # fmt: skip
def test_repeated_products_of_other_data(dtypes: tuple[str, str]) -> None:
    """What was launched once is launched again without checks: integers of 64 bits as they are, others converted anew."""
    rng = np.random.default_rng(11)
    for _ in range(4):
        a, b = (
            (rng.integers(0, 2, (20, 20)) if d == "bool" else rng.integers(0, 120, (20, 20))).astype(d)
            for d in dtypes
        )
        expected = np.matmul(a, b)
        same(ozfp4.matmul(on_device(a), on_device(b)), expected)
        same(ozfp4.matmul(on_device(a)[:, ::2], on_device(b)[::2]), np.matmul(a[:, ::2], b[::2]))
        same(ozfp4.matmul(on_device(a)[0], on_device(b)), expected[0])
