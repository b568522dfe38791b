"""prepare on a GPU: products of what is kept have the CPU's bits. Skipped where torch, a GPU or its kernels are missing."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from first_gpu import DEVICE, noisy, on_device, torch

import ozfp4
from ozfp4.testing import assert_same_bits
from support import KINDS, STACKS, chosen, operands, stack_operands

SIDES = [("left",), ("right",), ("left", "right")]
BACKENDS = ["int8", "fp4"]
ACCURACIES = ["scaled", "standard", "correct"]


def prepared(a, b, sides, **options):
    return (
        chosen.prepare(a, "left", **options) if "left" in sides else a,
        chosen.prepare(b, "right", **options) if "right" in sides else b,
    )


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("kind", list(KINDS))
def test_every_kind_and_accuracy(kind, dtype, backend, sides):
    for accuracy, (m, k, n) in itertools.product(ACCURACIES, [(7, 130, 5), (1, 1, 1), (150, 300, 70)]):
        a, b = operands(kind, m, k, n, dtype=dtype)
        expected = chosen.matmul(a, b, accuracy=accuracy)
        x, y = prepared(on_device(a), on_device(b), sides, accuracy=accuracy, backend=backend)
        out = noisy((m, n), on_device(a[:1]).dtype)
        assert chosen.matmul(x, y, out=out) is out
        assert_same_bits(out.cpu(), expected, f"{kind} {accuracy} {m} x {k} x {n}")


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
@pytest.mark.parametrize("k", [8192, 8193, 20_000])
@pytest.mark.parametrize("kind", ["normal", "phi32", "whole-range", "cancelling"])
def test_in_one_launch_of_scale_and_encode_and_in_two(kind, k, sides):
    for accuracy in ACCURACIES:
        a, b = operands(kind, 70, k, 40)
        x, y = prepared(on_device(a), on_device(b), sides, accuracy=accuracy)
        assert_same_bits(chosen.matmul(x, y).cpu(), chosen.matmul(a, b, accuracy=accuracy), accuracy)


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
@pytest.mark.parametrize(
    "path",
    [("II", "fp4", "paper"), ("II", "fp4", "paper-karatsuba"), ("I", "fp4", "least"), ("I", "int8", "least")],
    ids="-".join,
)
def test_other_paths(path, sides):
    a, b = operands("phi8", 90, 200, 60)
    names = dict(zip(("scheme", "backend", "family"), path, strict=True))
    x, y = prepared(on_device(a), on_device(b), sides, accuracy="scaled", **names)
    assert_same_bits(chosen.matmul(x, y).cpu(), chosen.matmul(a, b, accuracy="scaled"), str(path))


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
@pytest.mark.parametrize("bits", [2, 30, 100, 150])
def test_bits(bits, sides):
    a, b = operands("normal", 30, 90, 20)
    x, y = prepared(on_device(a), on_device(b), sides, bits=bits, accuracy="scaled", backend="int8")
    assert_same_bits(chosen.matmul(x, y).cpu(), chosen.matmul(a, b, bits=bits, accuracy="scaled"))


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
def test_roundings_and_bounds(sides):
    a, b = operands("phi32", 40, 300, 50)
    for accuracy in ACCURACIES:
        x, y = prepared(on_device(a), on_device(b), sides, accuracy=accuracy)
        found = chosen.matmul(x, y, return_bound=True)
        for have, want in zip(found, chosen.matmul(a, b, accuracy=accuracy, return_bound=True), strict=True):
            assert_same_bits(have.cpu(), want, accuracy)
    for found, rounding in zip(ozfp4.enclose(x, y), ("down", "up"), strict=True):
        assert_same_bits(found.cpu(), chosen.matmul(a, b, accuracy="correct", rounding=rounding), rounding)
    for rounding in ("down", "up", "zero"):
        found = chosen.matmul(x, y, rounding=rounding)
        assert_same_bits(found.cpu(), chosen.matmul(a, b, accuracy="correct", rounding=rounding), rounding)


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
@pytest.mark.parametrize("kind", ["relu", "cancelling", "phi32", "specials"])
def test_magnitudes_and_chains_of_what_is_kept(kind, sides):
    a, b = operands("normal" if kind == "relu" else kind, 150, 400, 130)
    if kind == "relu":
        a = np.maximum(a, 0.0)
    expected = chosen.matmul(a, b)
    x, y = prepared(on_device(a), on_device(b), sides)
    assert_same_bits(chosen.matmul(x, y).cpu(), expected, kind)


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
@pytest.mark.parametrize("shapes", [s for s in STACKS if all(len(x) > 1 for x in s)], ids=str)
def test_stacks(shapes, sides):
    a, b = stack_operands(shapes)
    expected = chosen.matmul(a, b)
    x, y = prepared(on_device(a), on_device(b), sides)
    assert_same_bits(chosen.matmul(x, y).cpu(), expected)


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
@pytest.mark.parametrize("backend", BACKENDS)
def test_turns_blocks_and_pieces(backend, sides):
    rng = np.random.default_rng(2)
    for shape_a, shape_b in (
        ((3, 5, 300, 700), (5, 700, 290)),
        ((300, 40_000), (40_000, 330)),
        ((2, 1, 70, 900), (3, 900, 70)),
    ):
        a, b = rng.standard_normal(shape_a), rng.standard_normal(shape_b)
        x, y = prepared(on_device(a), on_device(b), sides, backend=backend)
        plain = chosen.matmul(on_device(a), on_device(b), backend=backend)
        whole = chosen.matmul(x, y, report=True)
        assert_same_bits(whole[0].cpu(), plain.cpu(), "whole")
        refused = 0
        for log in range(22, 30):
            try:
                found = chosen.matmul(x, y, workspace_limit=2**log)
            except MemoryError:
                refused += 1
                continue
            assert_same_bits(found.cpu(), plain.cpu(), f"{shape_a} 2^{log}")
        assert refused < 4


def test_views_and_broadcast_stacks():
    rng = np.random.default_rng(3)
    b = on_device(rng.standard_normal((4, 60, 50)))
    a = on_device(rng.standard_normal((2, 4, 33, 60)))
    a[0, 1, 5, 6] = float("inf")
    for view in (b, b.flip(1), b[:, :, ::2], b[1:2], b[:1].expand(4, 60, 50), b.mT.contiguous().mT, b[2]):
        y = chosen.prepare(view, "right")
        assert_same_bits(chosen.matmul(a, y).cpu(), chosen.matmul(a, view).cpu())
        assert_same_bits(chosen.matmul(a[0, 0, 0], y).cpu(), chosen.matmul(a[0, 0, 0], view).cpu())
    once = chosen.prepare(b[0], "right").nbytes
    assert chosen.prepare(b[:1].expand(4, 60, 50), "right").nbytes == once


def test_empty():
    for shape in ((0, 5), (5, 0), (0, 0), (2, 0, 5), (0, 5, 5)):
        x = torch.zeros(shape, dtype=torch.float64, device=DEVICE)
        a = torch.ones((3, shape[-2]), dtype=torch.float64, device=DEVICE)
        y = chosen.prepare(x, "right")
        assert y.nbytes == 0
        assert_same_bits(chosen.matmul(a, y).cpu(), chosen.matmul(a, x).cpu())


def test_float32_that_meets_float64():
    a, b = operands("normal", 20, 130, 30)
    single = on_device(b).float()
    y = chosen.prepare(single, "right", dtype=torch.float64)
    assert_same_bits(chosen.matmul(on_device(a), y).cpu(), chosen.matmul(a, single.cpu().numpy()))
    with pytest.raises(ValueError, match=r"^b: it was prepared for results of float32"):
        chosen.matmul(on_device(a), chosen.prepare(single, "right"))


@pytest.mark.parametrize("accuracy", ACCURACIES)
def test_the_report_is_that_of_the_plain_product(accuracy):
    a, b = (on_device(x) for x in operands("normal", 40, 130, 50))
    a[3, 4], b[5, 6] = float("nan"), float("inf")
    plain = chosen.matmul(a, b, accuracy=accuracy, report=True)[1]
    for sides in SIDES:
        report = chosen.matmul(*prepared(a, b, sides, accuracy=accuracy), report=True)[1]
        for name in (
            "plan",
            "moduli_used",
            "products",
            "bits",
            "exponents",
            "special_rows",
            "special_columns",
            "capacities",
        ):
            assert getattr(report, name) == getattr(plain, name), f"{sides} {name}"
        assert report.certified == plain.certified


def test_it_says_what_it_is_and_notices_changes():
    b = torch.randn(300, 200, dtype=torch.float64, device=DEVICE)
    a = torch.randn(30, 300, dtype=torch.float64, device=DEVICE)
    y = chosen.prepare(b, "right")
    assert (y.shape, y.dtype, y.side, y.device) == ((300, 200), torch.float64, "right", "cuda:0")
    assert y.nbytes >= y.plan.planes_b * b.numel()
    assert "right operand, 300 × 200 torch.float64 on cuda:0" in str(y)
    expected = chosen.matmul(a, b)
    assert_same_bits(chosen.matmul(a, y).cpu(), expected.cpu())
    b[0, 0] += 1.0
    out = torch.full((30, 200), 7.0, dtype=torch.float64, device=DEVICE)
    with pytest.raises(ValueError, match=r"^b: the tensor was modified in place since it was prepared"):
        chosen.matmul(a, y, out=out)
    with pytest.raises(ValueError, match=r"^accuracy: 'correct' is not what b was prepared for"):
        chosen.matmul(a, chosen.prepare(b, "right"), accuracy="correct", out=out)
    with pytest.raises(ValueError, match=r"^out: the array shares memory with b"):
        chosen.matmul(
            torch.ones(300, 300, dtype=torch.float64, device=DEVICE), ozfp4.prepare(b, "right"), out=b
        )
    assert bool((out == 7.0).all())
    with torch.inference_mode():
        unwatched = torch.randn(300, 20, dtype=torch.float64, device=DEVICE)
        expected = chosen.matmul(a, unwatched)
        y = chosen.prepare(unwatched, "right")
        unwatched.zero_()
        assert_same_bits(chosen.matmul(a, y).cpu(), expected.cpu())


def test_another_stream_and_a_graph():
    a, b = (torch.randn(400, 400, dtype=torch.float64, device=DEVICE) for _ in range(2))
    expected = chosen.matmul(a, b)
    y = chosen.prepare(b, "right")
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        found = chosen.matmul(a, y)
    stream.synchronize()
    assert_same_bits(found.cpu(), expected.cpu())
    out = torch.full_like(expected, float("nan"))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        chosen.matmul(a, y, out=out)
    a.mul_(2.0)
    graph.replay()
    torch.cuda.synchronize()
    assert_same_bits(out.cpu(), (2.0 * expected).cpu())


def test_many_products_one_after_the_other():
    """What is kept stays as it is, whatever the data of the other operand ask for."""
    rng = np.random.default_rng(7)
    b = rng.standard_normal((257, 190))
    y = chosen.prepare(on_device(b), "right")
    for kind in [*KINDS, *KINDS]:
        a = operands(kind, 64, 257, 1, seed=rng.integers(1000))[0]
        assert_same_bits(chosen.matmul(on_device(a), y).cpu(), chosen.matmul(a, b), kind)


def test_repeated_products_take_what_they_are_given():
    """Of another operand that was prepared alike, of slices, on both sides; and none whose tensor was modified."""
    rng = np.random.default_rng(8)
    a, b, c = (rng.standard_normal((200, 200)) for _ in range(3))
    x, tensor = chosen.prepare(on_device(a), "left"), on_device(b)
    y, z = chosen.prepare(tensor, "right"), chosen.prepare(on_device(c), "right")
    for _ in range(2):
        for left, rows in ((on_device(a), a), (x, a)):
            for right, columns in ((y, b), (z, c), (on_device(c), c)):
                assert_same_bits(chosen.matmul(left, right).cpu(), chosen.matmul(rows, columns))
    with pytest.raises(ValueError, match="right side"):
        chosen.matmul(y, on_device(a))
    tensor.add_(1)
    for left in (x, on_device(a)):
        with pytest.raises(ValueError, match="modified in place"):
            chosen.matmul(left, y)
