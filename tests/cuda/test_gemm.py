"""alpha A B + beta C on a GPU, against the CPU path, bit for bit."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from first_gpu import DEVICE, MODES, noisy, on_device, torch

import ozfp4
from ozfp4.testing import assert_same_bits, correct_matmul
from support import HARD, KINDS, STRUCTURED, gemm_reference, hard_operands, operands, structured_operands

DTYPES = (np.float64, np.float32)
PATHS = [("II", "int8"), ("II", "fp4"), ("I", "int8"), ("I", "fp4")]
FACTORS = [(-1.0, 1.0), (2.0**-60, 2.0**40), (0.7, -2.3), (-0.3, 0.0)]


def addends(a, b, seed):
    """What cancels the product, and what has no relation to it."""
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        near = ozfp4.matmul(a, b)
        finite = np.where(np.isfinite(near), near, near.dtype.type(1))
        far = np.ldexp(rng.standard_normal(near.shape), rng.integers(-1070, 1020, near.shape)).astype(
            near.dtype
        )
    return [-finite, np.where(rng.random(near.shape) < 0.5, finite, far)]


def check(a, b, c, context, factors=FACTORS, **options):
    x, y, z = on_device(a), on_device(b), on_device(c)
    for mode, (alpha, beta) in product(MODES, factors):
        here = (context, *mode.values(), alpha, beta)
        expected, bound = ozfp4.gemm(alpha, a, b, beta, c, **mode, return_bound=True)
        found, found_bound = ozfp4.gemm(alpha, x, y, beta, z, **mode, return_bound=True, **options)
        assert_same_bits(found.cpu(), np.asarray(expected), here)
        assert_same_bits(found_bound.cpu(), np.asarray(bound), (*here, "bound"))
        out = noisy(tuple(found.shape), found.dtype)
        assert ozfp4.gemm(alpha, x, y, beta, z, **mode, out=out, **options) is out
        assert_same_bits(out.cpu(), np.asarray(expected), (*here, "alone"))
        if z.shape == out.shape and z.dtype == out.dtype:
            out.copy_(z)
            ozfp4.gemm(alpha, x, y, beta, out, **mode, out=out, **options)
            assert_same_bits(out.cpu(), np.asarray(expected), (*here, "in place"))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_values(kind, dtype):
    a, b = operands(kind, 37, 60, 70, dtype=dtype)
    for i, c in enumerate(addends(a, b, 1)):
        check(a, b, c, (kind, i), FACTORS[i::2])


@pytest.mark.parametrize("kind", HARD)
def test_hard_values(kind):
    a, b = hard_operands(kind, 9, 24, 35)
    for i, c in enumerate(addends(a, b, 2)):
        check(a, b, c, (kind, i), FACTORS[i::2])
    c = -correct_matmul(a, b)
    for mode in MODES:
        expected = gemm_reference(0.7, a[:3], b[:, :5], 0.7, c[:3, :5], **mode)
        found = ozfp4.gemm(0.7, on_device(a), on_device(b), 0.7, on_device(c), **mode)
        assert_same_bits(found.cpu()[:3, :5], expected, (kind, mode))


@pytest.mark.parametrize("kind", STRUCTURED)
def test_disjoint_lines(kind):
    a, b = structured_operands(kind, 80, 300, 130)
    for i, c in enumerate(addends(a, b, 3)):
        check(a, b, c, (kind, i), FACTORS[:2])


@pytest.mark.parametrize(("scheme", "backend"), PATHS)
def test_paths_blocks_and_dense_tiles(scheme, backend):
    """Most entries are listed, so that repair takes whole tiles; then in blocks and pieces of K."""
    rng = np.random.default_rng(5)
    for dtype, deep in product(DTYPES, (4, 60)):
        a, b = (
            np.ldexp(rng.standard_normal(s), rng.integers(-deep, deep, s)).astype(dtype)
            for s in ((90, 300), (300, 130))
        )
        c = -ozfp4.matmul(a, b)
        # The 441 products of scheme I on FP4 leave no steps for pieces of K.
        least = 1_500_000 if (scheme, backend) != ("I", "fp4") else 12_000_000
        for options in ({}, {"workspace_limit": least}):
            check(
                a,
                b,
                c,
                (scheme, backend, dtype, deep),
                FACTORS[:1],
                scheme=scheme,
                backend=backend,
                **options,
            )


def test_specials():
    values = [0.0, -0.0, 1.0, -3.0, np.nan, np.inf, -np.inf]
    for dtype in DTYPES:
        a = np.array([[x, 1.0] for x in values], dtype)
        b = np.array([[1.0, 2.0, np.inf, np.nan, 0.0], [0.0, 1.0, 2.0, 1.0, -np.inf]], dtype)
        for shift in range(len(values)):
            rows, columns = np.indices((len(values), 5))
            c = np.take(np.array(values, dtype), (rows + 2 * columns + shift) % len(values))
            check(a, b, c, shift)


def test_views_stacks_and_dtypes():
    rng = np.random.default_rng(9)
    for shape_a, shape_b, shape_c in (
        ((3, 40, 70), (70, 50), (3, 40, 50)),
        ((3, 40, 70), (3, 70, 50), (3, 1, 50)),
        ((2, 1, 40, 70), (3, 70, 50), (50,)),
        ((2, 3, 2, 1, 2, 4, 7), (7, 5), (3, 1, 1, 2, 4, 1)),
        ((40, 70), (70, 50), ()),
        ((70,), (70, 50), (50,)),
        ((40, 70), (70,), (40,)),
        ((70,), (70,), ()),
    ):
        for types in product(DTYPES, DTYPES, DTYPES):
            a, b, c = (
                rng.standard_normal(s).astype(t)
                for s, t in zip((shape_a, shape_b, shape_c), types, strict=True)
            )
            for mode in MODES[:3]:
                expected = np.asarray(ozfp4.gemm(-1, a, b, 0.3, c, **mode))
                found = ozfp4.gemm(-1, on_device(a), on_device(b), 0.3, on_device(c), **mode)
                assert_same_bits(found.cpu(), expected, (shape_a, types, mode))
    a, b, c = (rng.standard_normal(s) for s in ((40, 70), (70, 50), (40, 50)))
    expected = ozfp4.gemm(-1, a, b, 2, c)
    x, y, z = on_device(a.T), on_device(b.T), on_device(np.pad(c, 3)[::1])
    found = ozfp4.gemm(-1, x, y, 2, z[3:-3, 3:-3], trans_a=True, trans_b="T")
    assert_same_bits(found.cpu(), expected)
    inside = z[3:-3, 3:-3]
    assert ozfp4.gemm(-1, x.T, y.T, 2, inside, out=inside) is inside
    assert_same_bits(inside.cpu(), expected)
    assert (z[:3] == 0).all()
    assert_same_bits(ozfp4.gemm(-1, x.T, y.T, 2, torch._neg_view(on_device(-c))).cpu(), expected)


def test_complex():
    rng = np.random.default_rng(11)

    def draw(shape, dtype):
        x = np.ldexp(rng.standard_normal(shape), rng.integers(-20, 20, shape))
        return np.asarray(x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x, dtype)

    dtypes = (np.float64, np.complex128, np.complex64)
    for types in product(dtypes, dtypes, dtypes):
        if {types[0], types[1]} == {np.float64}:
            continue
        for shapes in (((33, 90), (90, 40), (33, 40)), ((2, 3, 9), (9, 4), (4,)), ((9,), (9,), ())):
            a, b, c = (draw(shape, t) for shape, t in zip(shapes, types, strict=True))
            check(a, b, c, (types, shapes), FACTORS[1:2])
    x, y, z = (draw(s, np.complex128) for s in ((90, 33), (40, 90), (33, 40)))
    expected = ozfp4.gemm(-1, x, y, 1, z, trans_a="C", trans_b="C", accuracy="correct")
    z = on_device(z)
    found = ozfp4.gemm(
        -1, on_device(x), on_device(y), 1, z, trans_a="C", trans_b="C", accuracy="correct", out=z
    )
    assert found is z
    assert_same_bits(found.cpu(), expected)


def test_prepared_operands():
    rng = np.random.default_rng(12)
    a, b = (np.ldexp(rng.standard_normal(s), rng.integers(-30, 30, s)) for s in ((90, 140), (140, 80)))
    c = -(a @ b)
    x, y, z = on_device(a), on_device(b), on_device(c)
    for mode in MODES:
        expected = ozfp4.gemm(0.7, a, b, 0.7, c, **mode)
        left, right = (
            ozfp4.prepare(q, side, accuracy=mode["accuracy"]) for q, side in ((x, "left"), (y, "right"))
        )
        rounding = mode.get("rounding", "nearest")
        for p, q in ((left, y), (x, right), (left, right)):
            found = ozfp4.gemm(0.7, p, q, 0.7, z, rounding=rounding)
            assert_same_bits(found.cpu(), expected, mode)


def test_nothing_to_multiply():
    c = np.array([[1.5, -0.0, np.nan], [np.inf, 3e-310, -7.0]])
    bad = np.full((2, 3), np.nan)
    for beta in (1.0, -0.1):
        expected = gemm_reference(1, np.zeros((2, 0)), np.zeros((0, 3)), beta, c)
        found = ozfp4.gemm(5, on_device(np.zeros((2, 0))), on_device(np.zeros((0, 3))), beta, on_device(c))
        assert_same_bits(found.cpu(), expected)
        found = ozfp4.gemm(0, on_device(bad), on_device(np.full((3, 3), np.inf)), beta, on_device(c))
        assert_same_bits(found.cpu(), expected)
    assert_same_bits(ozfp4.gemm(0, on_device(bad), on_device(bad.T.copy())).cpu(), np.zeros((2, 2)))
    found = ozfp4.gemm(3, on_device(np.ones((2, 1))), on_device(np.ones((1, 3))), 0, on_device(bad))
    assert_same_bits(found.cpu(), np.full((2, 3), 3.0))
    assert ozfp4.gemm(
        1, on_device(np.ones((0, 4))), on_device(np.ones((4, 3))), 2, on_device(np.ones((0, 3)))
    ).shape == (0, 3)


def test_refusals():
    a, b, c = (torch.ones(s, dtype=torch.float64, device=DEVICE) for s in ((3, 4), (4, 5), (3, 5)))
    room = torch.zeros(40, dtype=torch.float64, device=DEVICE)
    with pytest.raises(RuntimeError, match="c: device cpu differs from cuda:0"):
        ozfp4.gemm(1, a, b, 1, c.cpu())
    with pytest.raises(TypeError, match=r"c: dtype torch\.float16"):
        ozfp4.gemm(1, a, b, 1, c.half())
    with pytest.raises(ValueError, match=r"c: shape \(5, 3\)"):
        ozfp4.gemm(1, a, b, 1, c.T)
    with pytest.raises(ValueError, match="shares memory with c"):
        ozfp4.gemm(1, a, b, 1, room[:15].view(3, 5), out=room[1:16].view(3, 5))
    assert (room == 0).all()


def test_report_and_residual():
    """What the pairs do not settle after cancellation goes to the exact sums, and is counted there."""
    rng = np.random.default_rng(6)
    a, x = rng.standard_normal((200, 300)), rng.standard_normal((300, 90))
    a[:, 0] *= 2.0**-40  # no line is exact
    x[0] *= 2.0**-40
    b = a @ x
    expected = ozfp4.gemm(-1, a, x, 1, b, accuracy="correct")
    found, report = ozfp4.gemm(
        -1, on_device(a), on_device(x), 1, on_device(b), accuracy="correct", report=True
    )
    assert_same_bits(found.cpu(), expected)
    assert report.certified.repaired_exactly > 0


def test_graph():
    """A capture repeats the product with whatever C holds by then: it is updated in place."""
    rng = np.random.default_rng(7)
    a, b, c = (rng.standard_normal(s) for s in ((60, 200), (200, 80), (60, 80)))
    x, y, z = on_device(a), on_device(b), on_device(c)
    ozfp4.gemm(-1, x, y, 1, z.clone())
    graph = torch.cuda.CUDAGraph()
    place = z.clone()
    with torch.cuda.graph(graph):
        ozfp4.gemm(-1, x, y, 1, place, out=place)
    place.copy_(z)
    expected = c
    for _ in range(3):
        graph.replay()
        expected = ozfp4.gemm(-1, a, b, 1, expected)
    assert_same_bits(place.cpu(), expected)
