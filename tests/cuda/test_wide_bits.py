"""bits beyond 53 on a GPU, against the reference bit for bit. Skipped where torch, a GPU or its kernels are missing."""

from __future__ import annotations

import numpy as np
import pytest
from first_gpu import DEVICE, torch

from ozfp4.testing import assert_same_bits, exact_matmul
from support import chosen


def spread(rng: np.random.Generator, shape: tuple[int, int], top: int, bits: int) -> np.ndarray:
    """Entries of which some keep all bits, some are rounded and some are lost; the smallest subnormal numbers among them."""
    exponents = np.maximum(top - rng.integers(0, bits + 60, shape), -1074)
    return np.ldexp(rng.uniform(1, 2, shape), exponents) * rng.choice([-1.0, 1.0], shape)


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
