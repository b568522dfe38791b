"""Products on a GPU against the CPU path, bit for bit. Skipped where torch, a GPU or its kernels are missing."""

from __future__ import annotations

import numpy as np
import pytest
from first_gpu import DEVICE, PATHS, noisy, on_device, torch

import ozfp4
from ozfp4.testing import assert_same_bits, exact_matmul
from support import chosen


@pytest.mark.parametrize("bits", [53, 30])
@pytest.mark.parametrize("top", [1.0, 2.0**29, 2.0**52])
def test_the_report_counts_the_exponents_that_the_cpu_counts(bits, top):
    a = np.array([[0.0, 0.0], [1e-5, 0.0], [np.inf, 0.0], [top, 3.0]])
    b = np.array([[0.0, 5.0, np.nan], [0.0, 0.0, 0.0]])
    for x, y in ((a, b), (a[:1], b), (a[:1], b[:, :1]), (a[None], np.stack([b, 8 * b])), (a[1], b[:, 1])):
        reports = [
            chosen.matmul(*operands, bits=bits, accuracy="scaled", backend="int8", report=True)[1]
            for operands in ((x, y), (on_device(x), on_device(y)))
        ]
        assert reports[0].exponents == reports[1].exponents


def gpu(a, b, **options):
    return chosen.matmul(a, b, **options, accuracy="scaled").cpu().numpy()


# Inner dimensions around those where scale and encode become one launch, or its panels another shape; both operands by rows,
# by columns and with gaps.
@pytest.mark.parametrize("k", [15, 16, 511, 513, 1023, 1025, 2047, 3100, 8192, 8193])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["f64", "f32"])
def test_panels(k, dtype):
    generator = torch.Generator(DEVICE).manual_seed(k)
    for m, n in ((1, 1), (37, 19), (18, 130)):
        a = torch.randn(m, k, dtype=dtype, device=DEVICE, generator=generator)
        b = torch.randn(k, n, dtype=dtype, device=DEVICE, generator=generator)
        a[0] *= 2.0**-100
        b[:, -1] *= 2.0**100
        a[m // 2, k - 1], b[k // 2, n // 2] = 0.0, 2.0**-140
        if n > 1:
            b[k - 1, 1] = float("inf")
        gaps = torch.zeros(2 * m, 3 * k, dtype=dtype, device=DEVICE)
        gaps[::2, ::3] = a
        for x, y in ((a, b), (a.T.contiguous().T, b.T.contiguous().T), (gaps[::2, ::3], b)):
            expected = chosen.matmul(x.cpu().numpy(), y.cpu().numpy(), accuracy="scaled")
            for path in PATHS:
                out = noisy((m, n), dtype)
                chosen.matmul(x, y, **path._asdict(), out=out, accuracy="scaled")
                assert_same_bits(out.cpu(), expected, (path, m, n, x.stride(), y.stride()))
            for mode in ({"accuracy": "standard"}, {"accuracy": "correct"}):
                certified = chosen.matmul(x.cpu().numpy(), y.cpu().numpy(), **mode)
                found = chosen.matmul(x, y, **mode, backend="int8")
                assert_same_bits(found.cpu(), certified, (mode, m, n, x.stride(), y.stride()))


def test_repeated_products_are_checked_all_the_same():
    x = torch.randn(20, 30, dtype=torch.float64, device=DEVICE)
    y = torch.randn(30, 10, dtype=torch.float64, device=DEVICE)
    for _ in range(3):
        assert_same_bits(gpu(x, y, bits=3), exact_matmul(x.cpu().numpy(), y.cpu().numpy(), bits=3))
        x, y = x * 0.3, y + 1.0
    negated = torch._neg_view(x)
    assert_same_bits(gpu(negated, y), exact_matmul(-x.cpu().numpy(), y.cpu().numpy()))
    assert_same_bits(gpu(negated, y), exact_matmul(-x.cpu().numpy(), y.cpu().numpy()))
    row = x[0]
    for _ in range(2):
        assert chosen.matmul(row, y, accuracy="scaled").shape == (10,)
        assert chosen.matmul(row, row, accuracy="scaled").shape == ()
    with pytest.raises(TypeError, match="bits"):
        chosen.matmul(x, y, bits=3.0, accuracy="scaled")
    with pytest.raises(ValueError, match="scheme"):
        chosen.matmul(x, y, scheme=["II"], accuracy="scaled")
    assert chosen.matmul(x.requires_grad_(), y, accuracy="scaled").requires_grad


def test_report():
    a = torch.randn(512, 512, dtype=torch.float64, device=DEVICE)
    a[3, 3] = float("nan")
    _, report = chosen.matmul(a, a, report=True, accuracy="scaled")
    assert report.backend == "int8"
    assert 0 < report.moduli_used <= len(report.plan.moduli)
    assert report.products == report.moduli_used
    assert (report.special_rows, report.special_columns) == (1, 1)
    assert "cuda:0" in report.device


def test_prefix_is_chosen_on_the_device():
    x = torch.zeros(300, 300, dtype=torch.float64, device=DEVICE)
    x.fill_diagonal_(1.0)
    y = torch.randn(300, 300, dtype=torch.float64, device=DEVICE)
    c, report = chosen.matmul(x, y, report=True, accuracy="scaled")
    assert report.moduli_used < len(report.plan.moduli)
    assert_same_bits(c.cpu(), chosen.matmul(x.cpu().numpy(), y.cpu().numpy(), accuracy="scaled"))


def test_large_product_against_integers():
    n = 4096
    a = torch.randn(n, n, dtype=torch.float64, device=DEVICE)
    b = torch.randn(n, n, dtype=torch.float64, device=DEVICE)
    rows, columns = [0, 1, 127, 128, 2047, n - 1], [0, 255, 256, 3000, n - 1]
    expected = exact_matmul(a[rows].cpu().numpy(), b[:, columns].cpu().numpy())
    for path in PATHS:
        c = chosen.matmul(a, b, **path._asdict(), accuracy="scaled")
        assert_same_bits(c[rows][:, columns].cpu(), expected, path)


@pytest.mark.parametrize("products", [6, 9])
def test_the_largest_sums_of_int8(products):
    lowest = torch.full((3, 131_071), -128, dtype=torch.int8, device=DEVICE)
    assert (ozfp4.int8_matmul(lowest, lowest.T, products=products) == 131_071 * 16384).all()


def test_out_of_memory_is_torchs_error_and_the_next_call_works():
    total = torch.cuda.get_device_properties(DEVICE).total_memory
    k = 400_000
    wide = torch.ones(1, dtype=torch.float64, device=DEVICE).expand(int(total / 4 / k), k)
    torch.cuda.empty_cache()
    held = torch.cuda.memory_allocated(DEVICE)
    # Too little for the smallest blocks, which would have been taken in the place of larger ones.
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved(DEVICE) + 2**22) / total, DEVICE)
    try:
        with pytest.raises(torch.cuda.OutOfMemoryError):
            chosen.matmul(wide, wide.T[:, :1], accuracy="scaled")
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0, DEVICE)
    assert torch.cuda.memory_allocated(DEVICE) == held
    a = torch.randn(64, 64, dtype=torch.float64, device=DEVICE)
    assert_same_bits(gpu(a, a), chosen.matmul(a.cpu().numpy(), a.cpu().numpy(), accuracy="scaled"))


# ---- More than 53 bits


def spread(rng: np.random.Generator, shape: tuple[int, int], top: int, bits: int) -> np.ndarray:
    """Entries of which some keep all bits, some are rounded and some are lost; the smallest subnormal numbers among them."""
    exponents = np.maximum(top - rng.integers(0, bits + 60, shape), -1074)
    return np.ldexp(rng.uniform(1, 2, shape), exponents) * rng.choice([-1.0, 1.0], shape)


@pytest.mark.parametrize(("backend", "bits", "limit"), [("int8", 160, 5 << 20), ("fp4", 104, 16 << 20)])
def test_stacks_blocks_and_bounds_of_long_integers(backend: str, bits: int, limit: int) -> None:
    """The long form of reconstruct sees stacks, blocks that a small workspace makes, and records of lines."""
    rng = np.random.default_rng(bits)
    a, b = spread(rng, (130, 300), 0, bits), spread(rng, (300, 100), 0, bits)
    x, y = (on_device(operand) for operand in (a, b))
    expected = exact_matmul(a, b, bits=bits)
    for options in ({}, {"workspace_limit": limit}):
        c, report = chosen.matmul(x, y, bits=bits, accuracy="scaled", backend=backend, report=True, **options)
        assert_same_bits(c.cpu().numpy(), expected, options)
        assert 0 <= len(report.plan.moduli) - report.moduli_used <= 2  # the norms may spare some
    c, bound = chosen.matmul(x, y, bits=bits, accuracy="scaled", backend=backend, return_bound=True)
    assert_same_bits(c.cpu().numpy(), expected, "with a bound")
    assert_same_bits(
        bound.cpu().numpy(),
        chosen.matmul(a, b, bits=bits, accuracy="scaled", backend=backend, return_bound=True)[1],
    )
    stack = torch.stack([x[:19, :40], 2.0**900 * x[20:39, 40:80], x[40:59, :40]])
    products = chosen.matmul(stack, y[:40], bits=bits, accuracy="scaled", backend=backend).cpu().numpy()
    for left, found in zip(stack.cpu().numpy(), products, strict=True):
        assert_same_bits(found, exact_matmul(left, b[:40], bits=bits))
