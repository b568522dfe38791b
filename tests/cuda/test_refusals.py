"""Refusals on a GPU, by name, before anything is written."""

from __future__ import annotations

import pytest
from first_gpu import DEVICE, torch

import ozfp4
from support import chosen


def sevens(*shape, dtype=torch.float64):
    return torch.full(shape, 7.0, dtype=dtype, device=DEVICE)


A, B, C, OUT = (sevens(*s) for s in ((8, 9), (9, 7), (8, 7), (8, 7)))
SQUARE, ROOM, COMPLEX = sevens(9, 9), sevens(200), sevens(8, 7, dtype=torch.complex128)
TALL, WHOLE = sevens(130, 20), sevens(130, 130)
REFUSED = [
    (RuntimeError, "^b: device cpu differs from cuda:0", lambda: ozfp4.matmul(A, B.cpu(), out=OUT)),
    (RuntimeError, "^out: device cpu", lambda: ozfp4.matmul(A, B, out=OUT.cpu())),
    (TypeError, r"^a: dtype torch\.float16", lambda: ozfp4.matmul(A.half(), B)),
    (ValueError, "^inner dimensions differ", lambda: ozfp4.matmul(A, A, out=OUT)),
    (ValueError, "^out: shape", lambda: ozfp4.matmul(A, B, out=OUT.T)),
    (ValueError, "^out: the array shares memory with a", lambda: ozfp4.matmul(A, B, out=A[:, :7])),
    (RuntimeError, "'fp64' has no GPU kernel", lambda: ozfp4.matmul(A, B, backend="fp64")),
    (RuntimeError, "don't support automatic differentiation", lambda: chosen.matmul(A.clone().requires_grad_(), B, out=OUT)),
    (ValueError, "^out: a lazily conjugated tensor", lambda: ozfp4.matmul(A + 0j, B, out=COMPLEX.conj())),
    (TypeError, r"^out: dtype torch\.float64 is not", lambda: ozfp4.matmul(A + 0j, B, out=OUT)),
    (RuntimeError, "^c: device cpu differs from cuda:0", lambda: ozfp4.gemm(1, A, B, 1, C.cpu(), out=OUT)),
    (TypeError, r"^c: dtype torch\.float16", lambda: ozfp4.gemm(1, A, B, 1, C.half(), out=OUT)),
    (ValueError, r"^c: shape \(7, 8\)", lambda: ozfp4.gemm(1, A, B, 1, C.T, out=OUT)),
    (ValueError, "shares memory with c", lambda: ozfp4.gemm(1, A, B, 1, ROOM[:56].view(8, 7), out=ROOM[1:57].view(8, 7))),
    (MemoryError, "^workspace_limit", lambda: ozfp4.gram(TALL, left=True, out=WHOLE, workspace_limit=10)),
    (RuntimeError, r"^operands\[1\]: device cpu differs", lambda: ozfp4.einsum("ij,jk", A, B.cpu(), out=OUT)),
    (RuntimeError, "^out: device cpu differs", lambda: ozfp4.einsum("ij,jk", A, B, out=OUT.cpu())),
    (
        ValueError,
        r"^out: the array shares memory with operands\[0\]$",
        lambda: ozfp4.einsum("ij,jk", SQUARE, SQUARE.clone(), out=SQUARE.mT),
    ),
    (TypeError, r"^operands\[1\]: dtype torch\.float16", lambda: ozfp4.einsum("ij,jk", A, B.half())),
]  # fmt: skip


@pytest.mark.parametrize(("error", "pattern", "call"), REFUSED, ids=[row[1] for row in REFUSED])
def test_nothing_is_written(error, pattern, call):
    chosen.matmul(A, B)  # one like it has been made: what follows must not take its way
    with pytest.raises(error, match=pattern):
        call()
    for x in (A, B, C, OUT, SQUARE, ROOM, COMPLEX, WHOLE):
        assert bool((x == 7).all())


@pytest.mark.filterwarnings("ignore")  # torch warns of these kinds as they are made
def test_kinds_that_no_product_takes():
    kinds = [
        torch.nested.nested_tensor([A, A]),
        torch.nested.nested_tensor([A, A], layout=torch.jagged),
        torch.masked.masked_tensor(A, A > 0),
        A.to_sparse(),
        A.half(),
        A.bfloat16(),
    ]
    ozfp4.matmul(A, B)
    for x in kinds:
        with pytest.raises(TypeError, match=r"^a: "):
            ozfp4.matmul(x, B)
        with pytest.raises(TypeError, match=r"^b: "):
            ozfp4.matmul(B.mT, x)
