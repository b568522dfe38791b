"""bits beyond 53 on a GPU, against the reference bit for bit. Skipped where torch, a GPU or its kernels are missing."""

from __future__ import annotations

import numpy as np
import pytest
from first_gpu import DEVICE, torch

from ozfp4.testing import assert_same_bits, exact_matmul
from support import chosen, operands

PATHS = [("II", "int8"), ("II", "fp4"), ("I", "int8"), ("I", "fp4")]
BITS = (54, 60, 62, 63, 64, 76, 94, 95, 104, 109, 128, 150, 160, 165, 177, 193, 200)
MOST_BITS = {("II", "int8"): 165, ("II", "fp4"): 109}  # of moduli, up to K = 1024
SERVED = [(path, bits) for path in PATHS for bits in BITS if bits <= MOST_BITS.get(path, 200)]
each_served = pytest.mark.parametrize(("path", "bits"), SERVED, ids=[f"{'-'.join(p)}-{b}" for p, b in SERVED])


def product(a: np.ndarray, b: np.ndarray, bits: int, path: tuple[str, str]) -> np.ndarray:
    out = torch.full(
        (a.shape[0], b.shape[1]), float("nan"), dtype=torch.from_numpy(a[:1]).dtype, device=DEVICE
    )
    scheme, backend = path
    x, y = (torch.from_numpy(operand).to(DEVICE) for operand in (a, b))  # in the operand's layout
    chosen.matmul(x, y, bits=bits, accuracy="scaled", scheme=scheme, backend=backend, out=out)
    result: np.ndarray = out.cpu().numpy()
    return result


def spread(rng: np.random.Generator, shape: tuple[int, int], top: int, bits: int) -> np.ndarray:
    """Entries of which some keep all bits, some are rounded and some are lost; the smallest subnormal numbers among them."""
    exponents = np.maximum(top - rng.integers(0, bits + 60, shape), -1074)
    return np.ldexp(rng.uniform(1, 2, shape), exponents) * rng.choice([-1.0, 1.0], shape)


@each_served
def test_every_path(path: tuple[str, str], bits: int) -> None:
    for kind in ("normal", "scaling-ties", "whole-range", "specials"):
        for dtype in (np.float64, np.float32):
            for shape in ((33, 70, 21), (7, 1020, 5)):
                a, b = operands(kind, *shape, seed=bits, dtype=dtype)
                assert_same_bits(product(a, b, bits, path), exact_matmul(a, b, bits=bits), (kind, shape))


@each_served
def test_entries_far_apart(path: tuple[str, str], bits: int) -> None:
    rng = np.random.default_rng(bits)
    for top in (1023, 0, -1022):
        a, b = spread(rng, (19, 150), top, bits), spread(rng, (150, 18), 0, bits)
        assert_same_bits(product(a, b, bits, path), exact_matmul(a, b, bits=bits), top)
        # Columns contiguous instead of rows.
        assert_same_bits(
            product(np.asfortranarray(a), np.asfortranarray(b), bits, path), exact_matmul(a, b, bits=bits)
        )


@pytest.mark.parametrize(("backend", "bits", "limit"), [("int8", 160, 5 << 20), ("fp4", 104, 16 << 20)])
def test_stacks_blocks_and_bounds_of_long_integers(backend: str, bits: int, limit: int) -> None:
    """The long form of reconstruct sees stacks, blocks that a small workspace makes, and records of lines."""
    rng = np.random.default_rng(bits)
    a, b = spread(rng, (130, 300), 0, bits), spread(rng, (300, 100), 0, bits)
    x, y = (torch.from_numpy(operand).to(DEVICE) for operand in (a, b))
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
