"""einsum and tensordot of tensors on a GPU: the bits of the CPU. Skipped where torch, a GPU or its kernels are missing."""

from __future__ import annotations

import numpy as np
import pytest
from first_gpu import DEVICE, noisy, torch

import ozfp4
from ozfp4.testing import assert_same_bits

CASES = [
    ("ij,jk->ki", (30, 50), (50, 40)),
    ("bij,bjk->bik", (5, 20, 30), (5, 30, 7)),
    ("ijb,kbj->ikb", (9, 17, 5), (4, 5, 17)),
    ("...ij,...jk", (5, 1, 2, 30), (4, 30, 4)),
    ("iij,jk->ik", (7, 7, 20), (20, 4)),
    ("ij->", (30, 40)),
    ("ij,kl->", (3, 4), (2, 5)),
    ("ij,ij->ij", (30, 40), (30, 40)),
    ("ij,ij->i", (30, 40), (30, 40)),
    ("i,j", (30,), (40,)),
    ("i,->i", (3,), ()),
    ("i,i", (300,), (300,)),
    ("ab,bc,cd,de->ae", (20, 30), (30, 40), (40, 50), (50, 2)),
    ("ij,jk", (0, 3), (3, 4)),
    ("ij,jk", (2, 0), (0, 4)),
]


def graded(*shapes):
    rng = np.random.default_rng(3)
    return [np.array(rng.standard_normal(s) * 2.0 ** rng.integers(-40, 40, s)) for s in shapes]


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64"])
@pytest.mark.parametrize(("text", "shapes"), [pytest.param(c[0], c[1:], id=f"{c}") for c in CASES])
def test_einsum_equals_the_cpu(text, shapes, dtype):
    arrays = [x.astype(dtype) for x in graded(*shapes)]
    if dtype.startswith("complex"):
        arrays = [np.asarray(x * (1 + 2j) - 3j, dtype) for x in arrays]
    tensors = [torch.from_numpy(x).to(DEVICE) for x in arrays]
    for options in (
        {},
        {"accuracy": "correct"},
        {"accuracy": "correct", "rounding": "up"},
        {"accuracy": "scaled"},
    ):
        expected = np.asarray(ozfp4.einsum(text, *arrays, **options))
        found = ozfp4.einsum(text, *tensors, **options)
        assert found.device == DEVICE
        assert_same_bits(found.cpu(), expected, options)
        out = noisy(expected.shape, found.dtype)
        assert ozfp4.einsum(text, *tensors, **options, out=out) is out
        assert_same_bits(out.cpu(), expected, options)


def test_tensordot_equals_the_cpu():
    a, b = graded((6, 7, 8), (8, 7, 5))
    x, y = (torch.from_numpy(z).to(DEVICE) for z in (a, b))
    for axes in (0, 1, ([1, 2], [1, 0]), ([2], [0])):
        expected = ozfp4.tensordot(a, b, axes)
        assert_same_bits(ozfp4.tensordot(x, y, axes).cpu(), expected)
        out = noisy(expected.shape)
        assert ozfp4.tensordot(x, y, axes, out=out) is out
        assert_same_bits(out.cpu(), expected)


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint8", "bool"])
@pytest.mark.parametrize(("text", "shapes"), [pytest.param(c[0], c[1:], id=f"{c}") for c in CASES])
def test_einsum_of_integers_equals_numpy(text, shapes, dtype):
    rng = np.random.default_rng(4)
    arrays = [
        np.asarray(rng.integers(-(2**63), 2**63 - 1, shape, endpoint=True)).astype(dtype) for shape in shapes
    ]
    found = ozfp4.einsum(text, *(torch.from_numpy(x).to(DEVICE) for x in arrays))
    expected = np.asarray(np.einsum(text, *arrays))
    assert found.cpu().numpy().dtype == expected.dtype
    assert (found.cpu().numpy() == expected).all()


def test_refused():
    x = torch.ones(3, 3, dtype=torch.float64, device=DEVICE)
    with pytest.raises(RuntimeError, match=r"^operands\[1\]: device cpu differs from cuda:0"):
        ozfp4.einsum("ij,jk", x, x.cpu())
    with pytest.raises(RuntimeError, match=r"^out: device cpu differs"):
        ozfp4.einsum("ij,jk", x, x, out=x.cpu())
    with pytest.raises(ValueError, match=r"^out: the array shares memory with operands\[0\]$"):
        ozfp4.einsum("ij,jk", x, x.clone(), out=x.mT)
    with pytest.raises(TypeError, match=r"^operands\[1\]: dtype torch\.float16"):
        ozfp4.einsum("ij,jk", x, x.half())
    assert (x == 1).all()


@pytest.mark.filterwarnings("ignore")  # torch warns of these kinds as they are made
def test_kinds_that_no_product_takes():
    x = torch.ones(3, 4, dtype=torch.float64, device=DEVICE)
    y = torch.ones(4, 5, dtype=torch.float64, device=DEVICE)
    kinds = [
        torch.nested.nested_tensor([x, x]),
        torch.nested.nested_tensor([x, x], layout=torch.jagged),
        torch.masked.masked_tensor(x, x > 0),
        x.to_sparse(),
        x.half(),
        x.bfloat16(),
    ]
    ozfp4.matmul(x, y)  # one like it has been made: what follows must not take its way
    for a in kinds:
        with pytest.raises(TypeError, match=r"^a: "):
            ozfp4.matmul(a, y)
        with pytest.raises(TypeError, match=r"^b: "):
            ozfp4.matmul(y.mT, a)
