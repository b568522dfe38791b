"""Stacks of tensors on a GPU in any memory: the bits of contiguous ones, and nothing beside `out` is written."""

from __future__ import annotations

import random

import numpy as np
import pytest
from first_gpu import DEVICE, torch

import ozfp4
from ozfp4.testing import assert_same_bits

DTYPES = [torch.float64, torch.float32, torch.complex128, torch.complex64]
STACKS = [
    ((), ()),
    ((4,), (4,)),
    ((4,), ()),
    ((1, 3), (2, 1)),
    ((2, 1, 3), (3,)),
    ((0,), (1,)),
    ((0, 3), (3,)),
    ((2, 3), (2, 3)),
]
SIZES = [(5, 7, 3), (40, 33, 70), (3, 0, 4), (0, 3, 4), (1, 200, 1)]


def in_memory(shape, dtype, choose):
    """NaNs, and a view of this shape in them: axes in any order, with steps and gaps."""
    order = choose.sample(range(len(shape)), len(shape))
    steps = [choose.choice([1, 1, 2]) for _ in shape]
    extents = [steps[axis] * shape[axis] + choose.choice([0, 1]) for axis in order]
    memory = torch.full(extents, float("nan"), dtype=dtype, device=DEVICE)
    view = memory[tuple(slice(None, steps[axis] * shape[axis], steps[axis]) for axis in order)]
    return memory, view.permute([order.index(axis) for axis in range(len(shape))])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("accuracy", ["scaled", "standard", "correct"])
@pytest.mark.parametrize("stacks", STACKS, ids=str)
def test_any_memory(stacks, accuracy, dtype):
    choose = random.Random(str(stacks))
    generator = torch.Generator(DEVICE).manual_seed(1)
    for m, k, n in SIZES:
        a, b = (in_memory(shape, dtype, choose)[1] for shape in ((*stacks[0], m, k), (*stacks[1], k, n)))
        for x in (a, b):
            x.copy_(torch.randn(x.shape, dtype=dtype, device=DEVICE, generator=generator))
        expected = ozfp4.matmul(a.cpu().contiguous().numpy(), b.cpu().contiguous().numpy(), accuracy=accuracy)
        assert_same_bits(ozfp4.matmul(a, b, accuracy=accuracy).cpu(), expected)
        memory, out = in_memory(expected.shape, dtype, choose)
        assert ozfp4.matmul(a, b, out=out, accuracy=accuracy) is out
        assert_same_bits(out.cpu(), expected)
        out.fill_(float("nan"))
        assert torch.isnan(memory).all()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_matrices_that_share_memory_with_each_other(dtype):
    series = torch.randn(2000, dtype=dtype, device=DEVICE)
    a = series.as_strided((2, 3, 4, 50), (7, 0, 30, 1))
    b = series.as_strided((3, 50, 6), (2, 1, 40)).expand(2, 3, 50, 6)
    expected = ozfp4.matmul(np.ascontiguousarray(a.cpu().numpy()), np.ascontiguousarray(b.cpu().numpy()))
    for _ in range(2):  # the second goes the way of products that were made before
        assert_same_bits(ozfp4.matmul(a, b).cpu(), expected)
    for out, name in (
        (series.as_strided((2, 3, 4, 6), (100, 30, 7, 1)), "a"),
        (series[:144].view(2, 3, 4, 6), "a"),
    ):
        with pytest.raises(ValueError, match=rf"^out: (the array shares memory with {name}|entries of)"):
            ozfp4.matmul(a, b, out=out)
