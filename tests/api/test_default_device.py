"""Results lie where the operands do, whatever torch's default device is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4 import linalg
from ozfp4.testing import assert_same_bits

torch = pytest.importorskip("torch")

A, B = (torch.from_numpy(np.random.default_rng(seed).standard_normal((6, 6))) for seed in (1, 2))
Z = torch.complex(A, B)
WHOLE = (9 * A).to(torch.int32)
PAIR = A[:2, :2]  # bits of larger panels of LAPACK's may depend on where they lie

CALLS: dict[str, Callable[[], Any]] = {
    "matmul": lambda: ozfp4.matmul(A, B),
    "matmul, bound": lambda: ozfp4.matmul(A, B, return_bound=True),
    "matmul, complex": lambda: ozfp4.matmul(Z, B),
    "matmul, integers": lambda: ozfp4.matmul(WHOLE, WHOLE),
    "matmul, mixed": lambda: ozfp4.matmul(WHOLE, A),
    "matmul_mod": lambda: ozfp4.matmul_mod(WHOLE, WHOLE, 97),
    "gemm": lambda: ozfp4.gemm(2.0, A, B, 1.0, A),
    "gemm, imaginary": lambda: ozfp4.gemm(2j, Z, B, 1 + 1j, A),
    "gemm, no product": lambda: ozfp4.gemm(0.0, A, B, 0.5, A),
    "gram": lambda: ozfp4.gram(A),
    "enclose": lambda: ozfp4.enclose(A, B),
    "prepare": lambda: ozfp4.matmul(A, ozfp4.prepare(B, "right")),
    "einsum, outer": lambda: ozfp4.einsum("ij,k->ijk", A, B[0]),
    "einsum, entries": lambda: ozfp4.einsum("ij,ij->ij", A, B),
    "einsum, 0-d": lambda: ozfp4.einsum(",", A[0, 0], B[0, 0]),
    "einsum, sum": lambda: ozfp4.einsum("ij->i", A),
    "einsum, integers": lambda: ozfp4.einsum("ij,ij->ij", WHOLE, WHOLE),
    "einsum, mixed": lambda: ozfp4.einsum("ij,ij->ij", WHOLE, A.float()),
    "einsum, complex": lambda: ozfp4.einsum("ij,ij->ij", Z, B),
    "einsum, three": lambda: ozfp4.einsum("ij,jk,k->ijk", A, B, A[0]),
    "tensordot, outer": lambda: ozfp4.tensordot(A, B, 0),
    "tensordot": lambda: ozfp4.tensordot(A, B, 1),
    "solve": lambda: linalg.solve(A, B, refine=True),
    "inv": lambda: linalg.inv(A, refine=True),
    "lstsq": lambda: linalg.lstsq(PAIR, PAIR, refine=True),
    "cholesky": lambda: linalg.cholesky(PAIR @ PAIR.T),
    "qr": lambda: linalg.qr(PAIR, mode="complete"),
    "lu": lambda: linalg.lu_solve(linalg.lu_factor(PAIR), PAIR),
    "det": lambda: linalg.det(PAIR),
    "slogdet": lambda: linalg.slogdet(PAIR),
}


@pytest.mark.parametrize("name", CALLS)
def test_no_result_goes_to_the_default_device(name: str) -> None:
    expected = CALLS[name]()
    with torch.device("meta"):
        found = CALLS[name]()
    pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
    for one, other in pairs:
        assert one.device == other.device == torch.device("cpu")
        assert_same_bits(one.resolve_conj().numpy(), other.resolve_conj().numpy(), name)


def test_neither_does_an_emulated_one() -> None:
    with ozfp4.emulate(mode="always"):
        expected = [torch.einsum("ij,ij->ij", A, B), A @ B, torch.addmm(A, A, B, beta=0.5)]
        with torch.device("meta"):
            found = [torch.einsum("ij,ij->ij", A, B), A @ B, torch.addmm(A, A, B, beta=0.5)]
    for one, other in zip(found, expected, strict=True):
        assert one.device == torch.device("cpu")
        assert_same_bits(one.numpy(), other.numpy())
