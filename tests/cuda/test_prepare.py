"""prepare on a GPU: what launches, streams, graphs and turns make of operands that are kept.

Their bits are tested with those of the CPU, in tests/api/test_prepare.py."""

from __future__ import annotations

import numpy as np
import pytest
from first_gpu import DEVICE, noisy, on_device, torch

import ozfp4
from ozfp4.testing import assert_same_bits
from support import KINDS, chosen, operands

SIDES = [("left",), ("right",), ("left", "right")]
ACCURACIES = ["scaled", "standard", "correct"]
each_side = pytest.mark.parametrize("sides", SIDES, ids="-".join)
each_dtype = pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)


def pair(dtype, kind, m, k, n):
    first, second = (operands(kind, m, k, n, seed=seed) for seed in (1, 2))
    return [
        on_device(re) if dtype == torch.float64 else torch.complex(on_device(re), on_device(im))
        for re, im in zip(first, second, strict=True)
    ]


def draw(*shape, dtype):
    return torch.randn(shape, dtype=dtype, device=DEVICE)


def prepared(a, b, sides, **options):
    return (
        chosen.prepare(a, "left", **options) if "left" in sides else a,
        chosen.prepare(b, "right", **options) if "right" in sides else b,
    )


@each_side
@each_dtype
@pytest.mark.parametrize("k", [5001, 8192, 8193, 20_000])
@pytest.mark.parametrize("kind", ["normal", "phi32", "whole-range", "cancelling"])
def test_in_one_launch_of_scale_and_encode_and_in_two(kind, k, dtype, sides):
    for accuracy in ACCURACIES:
        a, b = pair(dtype, kind, 70, k, 40)
        x, y = prepared(a, b, sides, accuracy=accuracy)
        expected = chosen.matmul(a.cpu().numpy(), b.cpu().numpy(), accuracy=accuracy)
        assert_same_bits(chosen.matmul(x, y).cpu(), expected, accuracy)


def test_a_stack_that_no_turn_may_cut():
    b = draw(2, 2, 2, 2, 5, 4, dtype=torch.complex128)
    a = draw(2, 2, 2, 2, 3, 5, dtype=torch.complex128)
    y = chosen.prepare(b, "right", backend="int8")
    out = noisy((2, 2, 2, 2, 3, 4), torch.complex128)
    assert_same_bits(chosen.matmul(a, y, out=out).cpu(), chosen.matmul(a, b).cpu())
    out = noisy((2, 2, 2, 2, 3, 4), torch.complex128)
    with pytest.raises(ValueError, match=r"^b: a prepared stack of complex matrices is multiplied at once"):
        chosen.matmul(a.permute(3, 2, 1, 0, 4, 5), y, out=out)  # axes that cannot be merged
    assert bool(out.real.isnan().all())


@pytest.mark.parametrize("other", ["complex", "real", "any"])
def test_views_conjugates_and_broadcast_stacks(other):
    """`other` is "any" of a real operand."""
    rng = np.random.default_rng(3)
    re, im = (on_device(x) for x in rng.standard_normal((2, 4, 60, 50)))
    b = re if other == "any" else torch.complex(re, im)
    a = on_device(rng.standard_normal((2, 4, 33, 60)))
    a = torch.complex(a, a.flip(0)) if other == "complex" else a
    a[0, 1, 5, 6] = float("inf")
    given = {} if other == "any" else {"other": other}
    for view in (
        b, b.conj(), b.flip(1), b[:, :, ::2], b[1:2], b[:1].expand(4, 60, 50), b.mT.contiguous().mT, b.mT.contiguous().mH, b[2],
    ):  # fmt: skip
        y = chosen.prepare(view, "right", **given)
        assert (y.shape, y.dtype, y.device) == (tuple(view.shape), b.dtype, "cuda:0")
        assert_same_bits(chosen.matmul(a, y).cpu(), chosen.matmul(a, view).cpu())
        row = a[1, 0, 0]
        assert_same_bits(chosen.matmul(row, y).cpu(), chosen.matmul(row, view).cpu())
        x = chosen.prepare(view.mT, "left", **given)
        assert_same_bits(chosen.matmul(x, a.mT).cpu(), chosen.matmul(view.mT, a.mT).cpu())
    once = chosen.prepare(b[0], "right", **given).nbytes
    assert chosen.prepare(b[:1].expand(4, 60, 50), "right", **given).nbytes == once


def test_attributes_of_a_prepared_operand():
    b = draw(300, 200, dtype=torch.float64)
    y = chosen.prepare(b, "right")
    assert (y.shape, y.dtype, y.side, y.device) == ((300, 200), torch.float64, "right", "cuda:0")
    assert y.nbytes >= y.plan.planes_b * b.numel()
    assert "right operand, 300 × 200 torch.float64 on cuda:0" in str(y)
    b = b + 1j
    y = chosen.prepare(b, "right", backend="int8")
    assert (y.other, y.result_dtype, y.plan.is_complex) == ("complex", "complex128", True)
    planes = y.plan.planes_b * b.numel()
    assert 32 * b.numel() + planes <= y.nbytes < 1.5 * (32 * b.numel() + planes)
    assert "right operand, 300 × 200 torch.complex128 on cuda:0, for complex ones" in str(y)
    x = chosen.prepare(b, "left", backend="int8")
    planes = x.plan.planes_a * b.numel()
    assert planes <= x.nbytes < 1.5 * planes + 2**16  # b is no copy


@each_dtype
def test_changes_of_a_prepared_tensor_are_refused(dtype):
    a, b = draw(30, 300, dtype=dtype), draw(300, 200, dtype=dtype)
    x, y = chosen.prepare(a, "left"), chosen.prepare(b, "right")
    assert_same_bits(chosen.matmul(a, y).cpu(), chosen.matmul(a, b).cpu())
    out = noisy((30, 200), dtype)
    with pytest.raises(ValueError, match=r"^accuracy: 'correct' is not what b was prepared for"):
        chosen.matmul(a, y, accuracy="correct", out=out)
    a[0, 0] += 1.0
    b[0, 0] += 1.0
    for name, given in (("b", (a, y)), ("a", (x, b))):
        with pytest.raises(
            ValueError, match=rf"^{name}: the tensor was modified in place since it was prepared"
        ):
            chosen.matmul(*given, out=out)
    assert bool(out.isnan().all())
    if not dtype.is_complex:  # else what is kept is a copy of b, see above
        with pytest.raises(ValueError, match=r"^out: the array shares memory with b"):
            chosen.matmul(draw(300, 300, dtype=dtype), ozfp4.prepare(b, "right"), out=b)
    with torch.inference_mode():
        for shape, side in (((300, 20), "right"), ((20, 300), "left")):
            unwatched = draw(*shape, dtype=dtype)
            one = chosen.prepare(unwatched, side)
            both = (lambda z: (a, z)) if side == "right" else (lambda z: (z, a.mT))
            expected = chosen.matmul(*both(unwatched))
            unwatched.zero_()
            assert_same_bits(chosen.matmul(*both(one)).cpu(), expected.cpu())


@each_dtype
def test_another_stream_and_a_graph(dtype):
    a, b = (draw(400, 400, dtype=dtype) for _ in range(2))
    expected = chosen.matmul(a, b)
    y = chosen.prepare(b, "right")
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        found = chosen.matmul(a, y)
    stream.synchronize()
    assert_same_bits(found.cpu(), expected.cpu())
    out = noisy((400, 400), dtype)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        chosen.matmul(a, y, out=out)
    a.mul_(2.0)
    graph.replay()
    torch.cuda.synchronize()
    assert_same_bits(out.cpu(), (2.0 * expected).cpu())


def test_many_products_one_after_the_other():
    """A prepared operand is not changed by products with any other operand."""
    rng = np.random.default_rng(7)
    b = rng.standard_normal((257, 190))
    y = chosen.prepare(on_device(b), "right")
    for kind in [*KINDS, *KINDS]:
        a = operands(kind, 64, 257, 1, seed=rng.integers(1000))[0]
        assert_same_bits(chosen.matmul(on_device(a), y).cpu(), chosen.matmul(a, b), kind)


def test_repeated_products_take_what_they_are_given():
    """Real and complex operands, prepared and not, on both sides; prepared ones are refused after a change of their tensor."""
    a, b, c = (draw(120, 120, dtype=torch.complex128).cpu().numpy() for _ in range(3))
    x, tensor = chosen.prepare(on_device(a), "left", backend="int8"), on_device(b)
    y, z = (chosen.prepare(t, "right", backend="int8") for t in (tensor, on_device(c)))
    apart = chosen.prepare(on_device(c), "right", other="real", backend="int8")
    real = chosen.prepare(on_device(b.real), "right", backend="int8")
    for _ in range(3):
        for left, rows in ((on_device(a), a), (x, a)):
            for right, columns in ((y, b), (z, c), (on_device(c), c)):
                assert_same_bits(chosen.matmul(left, right).cpu(), chosen.matmul(rows, columns))
        assert_same_bits(chosen.matmul(on_device(a.real), apart).cpu(), chosen.matmul(a.real, c))
        assert_same_bits(chosen.matmul(on_device(a), real).cpu(), chosen.matmul(a, b.real))
        assert_same_bits(chosen.matmul(on_device(a.real), real).cpu(), chosen.matmul(a.real, b.real))
        with pytest.raises(ValueError, match="for real operands, and a is complex"):
            chosen.matmul(on_device(a), apart)
    with pytest.raises(ValueError, match="right side"):
        chosen.matmul(y, on_device(a))
    tensor.add_(1)
    for left in (x, on_device(a)):
        with pytest.raises(ValueError, match="modified in place"):
            chosen.matmul(left, y)
