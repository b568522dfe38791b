"""Prepared operands of complex products on a GPU: the CPU's bits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from first_gpu import DEVICE, noisy, on_device, torch

import ozfp4
from ozfp4._plans.plan import make_plan
from ozfp4.testing import assert_same_bits
from support import KINDS, STACKS, chosen, operands, stack_operands

SIDES = [("left",), ("right",), ("left", "right")]
BACKENDS = ["int8", "fp4"]
ACCURACIES = ["scaled", "standard", "correct"]
WHICH = {"complex": (True, True), "complex-real": (True, False), "real-complex": (False, True)}


def joined(re, im):
    """re + 1j im, where 1j times infinity would be NaN."""
    x = np.empty(re.shape, np.result_type(re.dtype, np.complex64))
    x.real, x.imag = re, im
    return x


def pair(which, kind, m, k, n, dtype=np.float64):
    first, second = (operands(kind, m, k, n, dtype=dtype, seed=seed) for seed in (1, 2))
    return [
        joined(re, im) if is_complex else re
        for re, im, is_complex in zip(first, second, WHICH[which], strict=True)
    ]


def prepared(a, b, sides, **options):
    of_a, of_b = ("complex" if x.is_complex() else "real" for x in (a, b))
    return (
        chosen.prepare(a, "left", other=of_b, **options) if "left" in sides else a,
        chosen.prepare(b, "right", other=of_a, **options) if "right" in sides else b,
    )


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("which", WHICH)
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("kind", list(KINDS))
def test_every_kind_and_accuracy(kind, dtype, which, backend, sides):
    for accuracy, (m, k, n) in itertools.product(ACCURACIES, [(7, 130, 5), (1, 1, 1), (150, 300, 70)]):
        a, b = pair(which, kind, m, k, n, dtype)
        expected = chosen.matmul(a, b, accuracy=accuracy)
        x, y = prepared(on_device(a), on_device(b), sides, accuracy=accuracy, backend=backend)
        made = (y if "right" in sides else x).plan
        assert made.is_complex == (which == "complex")
        context = f"{kind} {accuracy} {m} x {k} x {n}"
        out = noisy((m, n), on_device(expected).dtype)
        assert chosen.matmul(x, y, out=out) is out
        assert_same_bits(out.cpu(), expected, context)
        for _ in range(3):  # the second one is repeated
            assert_same_bits(chosen.matmul(x, y).cpu(), expected, context)


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
@pytest.mark.parametrize("kind", ["normal", "phi32", "cancelling"])
def test_long_lines(kind, sides):
    for accuracy in ACCURACIES:
        a, b = pair("complex", kind, 70, 5001, 40)
        x, y = prepared(on_device(a), on_device(b), sides, accuracy=accuracy)
        assert_same_bits(chosen.matmul(x, y).cpu(), chosen.matmul(a, b, accuracy=accuracy), accuracy)


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
@pytest.mark.parametrize("bits", [2, 24, 31, 53, 62, 63, 82, 83, 150])
def test_bits_and_given_plans(bits, sides):
    a, b = pair("complex", "whole-range", 30, 90, 20)
    expected = chosen.matmul(a, b, bits=bits, accuracy="scaled")
    x, y = prepared(on_device(a), on_device(b), sides, bits=bits, accuracy="scaled", backend="int8")
    assert_same_bits(chosen.matmul(x, y).cpu(), expected)
    plan = make_plan("II", "int8", "least", bits, 180)
    x, y = prepared(on_device(a), on_device(b), sides, plan=plan, accuracy="scaled")
    assert_same_bits(chosen.matmul(x, y).cpu(), expected)


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
@pytest.mark.parametrize("which", WHICH)
def test_roundings_bounds_enclosures_and_updates(which, sides):
    a, b = pair(which, "phi32", 40, 300, 50)
    c = joined(*operands("normal", 40, 40, 50, seed=5)[0][:, :1] * np.ones((2, 1, 50)))
    for accuracy in ACCURACIES:
        x, y = prepared(on_device(a), on_device(b), sides, accuracy=accuracy)
        found = chosen.matmul(x, y, return_bound=True)
        for have, want in zip(found, chosen.matmul(a, b, accuracy=accuracy, return_bound=True), strict=True):
            assert_same_bits(have.cpu(), want, accuracy)
        out = noisy((40, 50), torch.complex128)
        assert chosen.gemm(-1, x, y, 0.5, on_device(c), out=out) is out
        assert_same_bits(out.cpu(), chosen.gemm(-1, a, b, 0.5, c, accuracy=accuracy), accuracy)
    for found, expected in zip(ozfp4.enclose(x, y), ozfp4.enclose(a, b), strict=True):
        assert_same_bits(found.cpu(), expected)
    for rounding in ("down", "up", "zero"):
        found = chosen.matmul(x, y, rounding=rounding)
        assert_same_bits(found.cpu(), chosen.matmul(a, b, accuracy="correct", rounding=rounding), rounding)


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
@pytest.mark.parametrize("kind", ["relu", "cancelling", "phi32", "specials"])
def test_magnitudes_and_chains_of_what_is_kept(kind, sides):
    a, b = pair("complex", "normal" if kind == "relu" else kind, 150, 400, 130)
    if kind == "relu":
        a = joined(np.maximum(a.real, 0.0), np.maximum(a.imag, 0.0))
    expected = chosen.matmul(a, b)
    x, y = prepared(on_device(a), on_device(b), sides)
    assert_same_bits(chosen.matmul(x, y).cpu(), expected, kind)


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
@pytest.mark.parametrize("which", WHICH)
@pytest.mark.parametrize("shapes", [s for s in STACKS if all(len(x) > 1 for x in s)], ids=str)
def test_stacks(shapes, which, sides):
    first, second = (stack_operands(shapes, seed=seed) for seed in (1, 2))
    a, b = (
        joined(re, im) if is_complex else re
        for re, im, is_complex in zip(first, second, WHICH[which], strict=True)
    )
    expected = chosen.matmul(a, b)
    x, y = prepared(on_device(a), on_device(b), sides)
    assert_same_bits(chosen.matmul(x, y).cpu(), expected)


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
@pytest.mark.parametrize("which", WHICH)
@pytest.mark.parametrize("backend", BACKENDS)
def test_turns_blocks_and_pieces(backend, which, sides):
    rng = np.random.default_rng(2)
    for shape_a, shape_b in (
        ((3, 5, 130, 300), (5, 300, 90)),
        ((130, 20_000), (20_000, 90)),
        ((2, 1, 70, 400), (3, 400, 70)),
    ):
        a, b = (
            joined(*rng.standard_normal((2, *shape))) if is_complex else rng.standard_normal(shape)
            for shape, is_complex in zip((shape_a, shape_b), WHICH[which], strict=True)
        )
        x, y = prepared(on_device(a), on_device(b), sides, backend=backend)
        plain = chosen.matmul(on_device(a), on_device(b), backend=backend)
        assert_same_bits(chosen.matmul(x, y).cpu(), plain.cpu(), "whole")
        served = 0
        for log in range(22, 32):
            try:
                found = chosen.matmul(x, y, workspace_limit=2**log)
            except MemoryError:
                continue
            assert_same_bits(found.cpu(), plain.cpu(), f"{shape_a} 2^{log}")
            served += 1
        assert served > 3


def test_a_stack_that_no_turn_may_cut():
    b = torch.randn(2, 2, 2, 2, 5, 4, dtype=torch.complex128, device=DEVICE)
    a = torch.randn(2, 2, 2, 2, 3, 5, dtype=torch.complex128, device=DEVICE)
    y = chosen.prepare(b, "right", backend="int8")
    out = noisy((2, 2, 2, 2, 3, 4), torch.complex128)
    assert_same_bits(chosen.matmul(a, y, out=out).cpu(), chosen.matmul(a, b).cpu())
    out = noisy((2, 2, 2, 2, 3, 4), torch.complex128)
    with pytest.raises(ValueError, match=r"^b: a prepared stack of complex matrices is multiplied at once"):
        chosen.matmul(a.permute(3, 2, 1, 0, 4, 5), y, out=out)  # axes that cannot be merged
    assert bool(out.real.isnan().all())


@pytest.mark.parametrize("other", ["complex", "real"])
def test_views_conjugates_and_vectors(other):
    rng = np.random.default_rng(3)
    b = on_device(joined(*rng.standard_normal((2, 4, 60, 50))))
    a = rng.standard_normal((2, 4, 33, 60))
    a = on_device(joined(a, a[::-1]) if other == "complex" else a)
    a[0, 1, 5, 6] = float("inf")
    for view in (
        b,
        b.conj(),
        b.flip(1),
        b[:, :, ::2],
        b[1:2],
        b[:1].expand(4, 60, 50),
        b.mT.contiguous().mT,
        b.mT.contiguous().mH,
        b[2],
    ):
        expected = chosen.matmul(a, view)
        y = chosen.prepare(view, "right", other=other)
        assert (y.shape, y.dtype, y.device) == (tuple(view.shape), torch.complex128, "cuda:0")
        assert_same_bits(chosen.matmul(a, y).cpu(), expected.cpu())
        row = a[1, 0, 0]
        assert_same_bits(chosen.matmul(row, y).cpu(), chosen.matmul(row, view).cpu())
        x = chosen.prepare(view.mT, "left", other=other)
        assert_same_bits(chosen.matmul(x, a.mT).cpu(), chosen.matmul(view.mT, a.mT).cpu())
    once = chosen.prepare(b[0], "right", other=other).nbytes
    assert chosen.prepare(b[:1].expand(4, 60, 50), "right", other=other).nbytes == once


def test_empty():
    for shape in ((0, 5), (5, 0), (0, 0), (2, 0, 5), (0, 5, 5)):
        x = torch.zeros(shape, dtype=torch.complex128, device=DEVICE)
        for other, dtype in (("complex", torch.complex128), ("real", torch.float64)):
            a = torch.ones((3, shape[-2]), dtype=dtype, device=DEVICE)
            y = chosen.prepare(x, "right", other=other)
            assert y.nbytes == 0
            assert_same_bits(chosen.matmul(a, y).cpu(), chosen.matmul(a, x).cpu())


def test_single_that_meets_double():
    a, b = pair("complex", "normal", 20, 130, 30)
    single = on_device(b).to(torch.complex64)
    y = chosen.prepare(single, "right", dtype=torch.complex128)
    assert_same_bits(chosen.matmul(on_device(a), y).cpu(), chosen.matmul(a, single.cpu().numpy()))
    with pytest.raises(ValueError, match=r"^b: it was prepared for results of complex64, .* complex128;"):
        chosen.matmul(on_device(a), chosen.prepare(single, "right"))


@pytest.mark.parametrize("accuracy", ACCURACIES)
@pytest.mark.parametrize("which", WHICH)
def test_the_report_is_that_of_the_plain_product(which, accuracy):
    a, b = (on_device(x) for x in pair(which, "normal", 40, 130, 50))
    a[3, 4], b[5, 6] = float("nan"), float("inf")
    plain = chosen.matmul(a, b, accuracy=accuracy, report=True)[1]
    for sides in SIDES:
        report = chosen.matmul(*prepared(a, b, sides, accuracy=accuracy), report=True)[1]
        for name in (
            "kind",
            "plan",
            "moduli_used",
            "products",
            "bits",
            "exponents",
            "special_rows",
            "special_columns",
            "capacities",
            "certified",
        ):
            assert getattr(report, name) == getattr(plain, name), f"{sides} {name}"


def test_it_says_what_it_is_and_notices_changes():
    b = torch.randn(300, 200, dtype=torch.complex128, device=DEVICE)
    a = torch.randn(30, 300, dtype=torch.complex128, device=DEVICE)
    y = chosen.prepare(b, "right", backend="int8")
    assert (y.other, y.result_dtype, y.plan.is_complex) == ("complex", "complex128", True)
    assert (
        2 * 16 * b.numel() + y.plan.planes_b * b.numel()
        <= y.nbytes
        < 1.5 * (32 + y.plan.planes_b) * b.numel()
    )
    assert "right operand, 300 × 200 torch.complex128 on cuda:0, for complex ones" in str(y)
    x = chosen.prepare(a, "left", backend="int8")
    assert x.plan.planes_a * a.numel() <= x.nbytes < 1.5 * x.plan.planes_a * a.numel() + 2**16  # a is no copy
    expected = chosen.matmul(a, b)
    assert_same_bits(chosen.matmul(a, y).cpu(), expected.cpu())
    out = noisy((30, 200), torch.complex128)
    with pytest.raises(
        ValueError,
        match=r"^b: it was prepared for complex operands, and a is real; prepare it with other='real'$",
    ):
        chosen.matmul(a.real, y)
    b[0, 0] += 1.0
    with pytest.raises(ValueError, match=r"^b: the tensor was modified in place since it was prepared"):
        chosen.matmul(a, y, out=out)
    a[0, 0] += 1.0
    with pytest.raises(ValueError, match=r"^a: the tensor was modified in place since it was prepared"):
        chosen.matmul(x, b, out=out)
    assert bool(out.real.isnan().all())
    with torch.inference_mode():
        for shape, side in (((300, 20), "right"), ((20, 300), "left")):
            unwatched = torch.randn(shape, dtype=torch.complex128, device=DEVICE)
            one = chosen.prepare(unwatched, side)
            both = (lambda z: (a, z)) if side == "right" else (lambda z: (z, a.mT))
            expected = chosen.matmul(*both(unwatched))
            unwatched.zero_()
            assert_same_bits(chosen.matmul(*both(one)).cpu(), expected.cpu())


def test_another_stream_and_a_graph():
    a, b = (torch.randn(200, 200, dtype=torch.complex128, device=DEVICE) for _ in range(2))
    expected = chosen.matmul(a, b)
    y = chosen.prepare(b, "right")
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        found = chosen.matmul(a, y)
    stream.synchronize()
    assert_same_bits(found.cpu(), expected.cpu())
    out = noisy((200, 200), torch.complex128)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        chosen.matmul(a, y, out=out)
    a.mul_(2.0)
    graph.replay()
    torch.cuda.synchronize()
    assert_same_bits(out.cpu(), (2.0 * expected).cpu())


def test_repeated_products_take_what_they_are_given():
    """Real and complex ones, prepared and not, on both sides; and none whose tensor was modified."""
    rng = np.random.default_rng(8)
    a, b, c = (joined(*rng.standard_normal((2, 120, 120))) for _ in range(3))
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
    tensor.add_(1)
    for left in (x, on_device(a)):
        with pytest.raises(ValueError, match="modified in place"):
            chosen.matmul(left, y)
