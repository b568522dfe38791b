"""Products on a GPU under a workspace limit: matrices in turn, blocks of the output, pieces of K. The bits stay."""

from __future__ import annotations

import re

import numpy as np
import pytest
from first_gpu import DEVICE, PATHS, torch

import ozfp4
from ozfp4.testing import assert_same_bits
from support import chosen

MIB = 2**20
# The largest K that scheme I sums exactly on a GPU.
MOST_K_OF_DIGITS = {"int8": 262_144, "fp4": 2**31}
CASES = [
    ((24, 4, 20_699), (24, 20_699, 10), 64 * MIB),
    ((24, 4, 20_699), (24, 20_699, 10), 4 * MIB),
    ((24, 4, 20_699), (20_699, 10), 6 * MIB),
    ((4, 300_000), (300_000, 10), 4 * MIB),
    ((4, 100_001), (100_001, 10), 3 * MIB),
    ((700, 3_001), (3_001, 900), 16 * MIB),
    ((700, 3_001), (3_001, 900), 4 * MIB),
    ((3, 1, 40, 200), (5, 200, 30), 1 * MIB),
    ((2, 3, 1, 3, 1, 2, 9, 40), (1, 3, 2, 1, 2, 2, 40, 7), 1 * MIB),
    ((5, 65, 1_000), (1_000,), 1 * MIB),
    ((70_000, 1, 1), (70_000, 1, 1), 3 * MIB),
    ((70_000, 1, 1), (1, 1), None),
]


def noisy(shape, dtype):
    return torch.full(tuple(shape), 77 if dtype == torch.int32 else float("nan"), dtype=dtype, device=DEVICE)


def inputs(shapes, dtype=torch.float64, seed=1):
    generator = torch.Generator(DEVICE).manual_seed(seed)
    a, b = (torch.randn(s, dtype=dtype, device=DEVICE, generator=generator) for s in shapes)
    a *= torch.exp2(torch.randint(-20, 20, a.shape[:-1], device=DEVICE, generator=generator)).unsqueeze(-1)
    if a.numel() > 100:
        a.view(-1)[3], a.view(-1)[-1] = float("inf"), float("nan")
    return a, b


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("path", PATHS, ids=str)
def test_the_bits_do_not_depend_on_the_limit(path, case):
    *shapes, limit = case
    options = path._asdict()
    plan = ozfp4.plan(1, 1, 1, **options, accuracy="scaled")
    if shapes[0][-1] > (
        plan.k_max if path.scheme == "II" else min(plan.k_max, MOST_K_OF_DIGITS[path.backend])
    ):
        pytest.skip("too long for this plan")
    a, b = inputs(shapes)
    expected = chosen.matmul(a.cpu().numpy(), b.cpu().numpy(), accuracy="scaled")
    out = noisy(expected.shape, torch.float64)
    _, report = chosen.matmul(a, b, out=out, report=True, workspace_limit=limit, **options, accuracy="scaled")
    assert_same_bits(out.cpu(), expected, f"{path} {case}")
    assert limit is None or report.workspace <= limit
    out = noisy(expected.shape, torch.float64)
    chosen.matmul(a, b, out=out, workspace_limit=limit, **options, accuracy="scaled")  # all turns in one call
    assert_same_bits(out.cpu(), expected, f"{path} {case}")


@pytest.mark.parametrize("path", PATHS, ids=str)
def test_the_least_that_is_named_is_enough(path):
    options = path._asdict()
    a, b = inputs(((3, 150, 9_000), (9_000, 140)))
    out = noisy((3, 150, 140), torch.float64)
    with pytest.raises(MemoryError, match=r"workspace_limit = 1000 bytes .* at least (\d+) bytes") as error:
        chosen.matmul(a, b, out=out, workspace_limit=1000, **options, accuracy="scaled")
    assert torch.isnan(out).all()
    least = int(re.search(r"at least (\d+)", str(error.value)).group(1))
    assert least < 8 * MIB
    with pytest.raises(MemoryError, match=f"at least {least} bytes"):
        chosen.matmul(a, b, out=out, workspace_limit=least - 1, **options, accuracy="scaled")
    chosen.matmul(a, b, out=out, workspace_limit=least, **options, accuracy="scaled")
    assert_same_bits(out.cpu(), chosen.matmul(a.cpu().numpy(), b.cpu().numpy(), accuracy="scaled"))


def test_no_more_memory_is_taken_than_the_limit():
    a, b = inputs(((24, 4, 20_699), (24, 20_699, 10)))
    chosen.matmul(a[0, :, :8], b[0, :8], accuracy="scaled")  # what a first product brings
    limit = 4 * MIB
    out = noisy((24, 4, 10), torch.float64)
    torch.cuda.synchronize()
    held = torch.cuda.memory_allocated(DEVICE)
    torch.cuda.reset_peak_memory_stats(DEVICE)
    chosen.matmul(a, b, out=out, workspace_limit=limit, backend="int8", accuracy="scaled")
    assert torch.cuda.max_memory_allocated(DEVICE) - held <= limit


@pytest.mark.parametrize("accuracy", ["scaled", "standard", "correct"])
def test_less_is_taken_where_the_device_has_no_more(accuracy):
    """Without a limit, and by a product that is launched again."""
    a, b = inputs(((4000, 4000), (4000, 4000)))
    options = {"accuracy": accuracy, "backend": "int8"}
    expected, whole = chosen.matmul(a, b, report=True, **options)
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    room = torch.cuda.memory_allocated(DEVICE) + whole.workspace // 2 + expected.nbytes
    out = noisy(expected.shape, torch.float64)
    torch.cuda.set_per_process_memory_fraction(room / torch.cuda.get_device_properties(DEVICE).total_memory)
    try:
        _, report = chosen.matmul(a, b, out=out, report=True, **options)
        assert report.workspace <= whole.workspace // 2
        assert_same_bits(out.cpu(), expected.cpu())
        for _ in range(3):
            out.fill_(float("nan"))
            chosen.matmul(a, b, out=out, **options)
            assert_same_bits(out.cpu(), expected.cpu())
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


@pytest.mark.parametrize("accuracy", ["scaled", "standard", "correct"])
@pytest.mark.parametrize("shapes", [((3000, 1000), (1000, 256)), ((300, 1000), (1000, 3000))], ids=str)
def test_blocks_of_one_side_have_the_planes_of_the_other(shapes, accuracy):
    a, b = inputs(shapes)
    expected, whole = chosen.matmul(a, b, report=True, accuracy=accuracy, backend="int8")
    limit = whole.workspace * 3 // 5
    _, report = chosen.matmul(a, b, report=True, accuracy=accuracy, backend="int8", workspace_limit=limit)
    assert report.workspace <= limit
    out = noisy(expected.shape, torch.float64)
    chosen.matmul(a, b, out=out, accuracy=accuracy, backend="int8", workspace_limit=limit)
    assert_same_bits(out.cpu(), expected.cpu())


@pytest.mark.parametrize("call", ["matmul", "gram"])
def test_without_a_limit_little_of_the_memory_is_taken(call):
    """At most 8 GiB and a quarter of it, with the bits of one block."""
    n = 16384 if call == "matmul" else 22528
    free, total = torch.cuda.mem_get_info(DEVICE)
    if free < 72 * 2**30:
        pytest.skip("less than 72 GiB are free")
    a = torch.randn(n, n, dtype=torch.float64, device=DEVICE)
    operands, options = ((a, a.T.contiguous()), {}) if call == "matmul" else ((a,), {"left": True})
    whole = ozfp4.matmul(a, a.T, workspace_limit=2**36)
    out = noisy((n, n), torch.float64)
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    held = torch.cuda.memory_allocated(DEVICE)
    torch.cuda.reset_peak_memory_stats(DEVICE)
    getattr(ozfp4, call)(*operands, out=out, **options)
    assert torch.cuda.max_memory_allocated(DEVICE) - held <= min(2**33, total // 4)
    assert torch.equal(out, whole)


def test_blocks_of_a_complex_product_have_one_workspace_after_the_other():
    a, b = (torch.complex(*torch.randn(2, 2000, 2000, dtype=torch.float64, device=DEVICE)) for _ in "ab")
    out = noisy((2000, 2000), a.dtype)
    limit = 40 * MIB
    chosen.matmul(a[:8, :8], b[:8, :8])
    torch.cuda.synchronize()
    held = torch.cuda.memory_allocated(DEVICE)
    torch.cuda.reset_peak_memory_stats(DEVICE)
    chosen.matmul(a, b, out=out, workspace_limit=limit)
    assert torch.cuda.max_memory_allocated(DEVICE) - held <= limit
    assert_same_bits(out.cpu(), chosen.matmul(a, b).cpu())


def test_a_report_of_turns_equals_that_of_one():
    a, b = inputs(((6, 5, 4, 900), (5, 900, 7)))
    _, whole = chosen.matmul(a, b, report=True, backend="int8", accuracy="scaled")
    _, cut = chosen.matmul(a, b, report=True, backend="int8", workspace_limit=200_000, accuracy="scaled")
    assert cut.workspace <= 200_000 < whole.workspace
    for name in ("moduli_used", "special_rows", "special_columns", "exponents", "products"):
        assert getattr(cut, name) == getattr(whole, name), name


@pytest.mark.parametrize("products", [6, 9])
@pytest.mark.parametrize(
    ("shapes", "limit"),
    [
        (((24, 4, 20_699), (24, 20_699, 10)), 2 * MIB),
        (((5, 3, 1_001), (1_001, 9)), MIB // 4),
        (((131_071,), (131_071,)), MIB),
        (((300, 100_000), (100_000, 301)), 8 * MIB),
        (((70_001, 1, 1), (70_001, 1, 3)), MIB),
    ],
    ids=str,
)
def test_int8(shapes, limit, products):
    generator = torch.Generator(DEVICE).manual_seed(2)
    a, b = (torch.randint(-128, 128, s, device=DEVICE, generator=generator, dtype=torch.int8) for s in shapes)
    c = ozfp4.int8_matmul(a, b, products=products, workspace_limit=limit)
    expected = (a.cpu().numpy().astype(np.float64) @ b.cpu().numpy().astype(np.float64)).astype(np.int64)
    assert np.array_equal(c.cpu().numpy(), expected)
    with pytest.raises(MemoryError, match=r"workspace_limit = 100 bytes .* at least \d+ bytes"):
        ozfp4.int8_matmul(a, b, products=products, workspace_limit=100)


@pytest.mark.nightly
@pytest.mark.parametrize("count", [2**31 + 3, 2**32 + 5])
def test_more_matrices_than_32_bits_count(count):
    free, _ = torch.cuda.mem_get_info(DEVICE)
    if (
        free < 8 * count + 2 * 2**34 + 2**32
    ):  # a, c and a workspace of at most 2^34 bytes, with room to compare
        pytest.skip(f"{count} matrices need more memory than this GPU has free")
    a = torch.empty(count, 1, 1, dtype=torch.float32, device=DEVICE).random_(0, 8)
    out = noisy((count, 1, 1), torch.float32)
    chosen.matmul(a, a, out=out, backend="int8", accuracy="scaled")
    step = 2**28
    for first in range(0, count, step):
        part = a[first : first + step]
        assert torch.equal(out[first : first + step], part * part), first
