"""einsum and tensordot of tensors on a GPU: the bits of the CPU. Skipped where torch, a GPU or its kernels are missing."""

from __future__ import annotations

import pytest
from first_gpu import DEVICE, torch

import ozfp4


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
