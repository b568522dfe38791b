"""Writing to a tensor `out` raises torch's count of modifications, which autograd and prepared operands read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ozfp4

torch = pytest.importorskip("torch")

A = torch.arange(9, dtype=torch.float64).reshape(3, 3)
N = torch.arange(9).reshape(3, 3)
CALLS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "matmul": (A, lambda out: ozfp4.matmul(A, A, out=out)),
    "complex": (A + 1j, lambda out: ozfp4.matmul(A + 1j, A + 1j, out=out)),
    "integers": (N, lambda out: ozfp4.matmul(N, N, out=out)),
    "matmul_mod": (N, lambda out: ozfp4.matmul_mod(N, N, 7, out=out)),
    "int8_matmul": (N.int(), lambda out: ozfp4.int8_matmul(N.to(torch.int8), N.to(torch.int8), out=out)),
    "gemm": (A, lambda out: ozfp4.gemm(1, A, A, 1, out, out=out)),
    "gram": (A, lambda out: ozfp4.gram(A, out=out)),
    "enclose": (A, lambda out: ozfp4.enclose(A, A, out=(out, torch.empty_like(out)))),
    "einsum": (A, lambda out: ozfp4.einsum("ij,jk", A, A, out=out)),
    "tensordot": (A, lambda out: ozfp4.tensordot(A, A, 1, out=out)),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_version_grows(name: str) -> None:
    like, call = CALLS[name]
    out = like.clone()
    before = out._version
    call(out)
    assert out._version > before


def test_a_prepared_operand_that_was_written_is_refused() -> None:
    x = A.clone()
    prepared = ozfp4.prepare(x, "right")
    ozfp4.matmul(A, A, out=x)
    with pytest.raises(ValueError, match="modified in place"):
        ozfp4.matmul(A, prepared)


def test_autograd_notices() -> None:
    w, s = A.clone().requires_grad_(), A.clone()
    y = (w * s).sum()
    ozfp4.matmul(A, A, out=s)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_tensors_without_a_version() -> None:
    with torch.inference_mode():
        out = torch.empty(3, 3, dtype=torch.float64)
        assert ozfp4.matmul(A, A, out=out) is out
