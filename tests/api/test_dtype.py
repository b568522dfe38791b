"""dtype= of the result: wider floating-point numbers, and integers modulo 2^w of any width."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4.testing import assert_same_bits

RNG = np.random.default_rng(0)
A, B = RNG.standard_normal((30, 40)).astype(np.float32), RNG.standard_normal((40, 20)).astype(np.float32)
N = RNG.integers(-128, 128, (30, 40)).astype(np.int8)
M = RNG.integers(-128, 128, (40, 20)).astype(np.int8)
WIDE = N.astype(np.int64) @ M.astype(np.int64)
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


@pytest.mark.parametrize(
    "options", [{}, {"accuracy": "correct"}, {"accuracy": "scaled"}, {"backend": "int8"}, {"return_bound": True}], ids=str
)  # fmt: skip
def test_float32_to_float64(options: dict[str, Any]) -> None:
    found = ozfp4.matmul(A, B, dtype=np.float64, **options)
    expected = ozfp4.matmul(A.astype(float), B.astype(float), **options)
    for x, y in zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]:
        assert_same_bits(x, y)
    out = np.empty((30, 20))
    assert ozfp4.matmul(A, B, out, dtype=float) is out
    assert_same_bits(ozfp4.matmul(A, B, dtype="float32"), ozfp4.matmul(A, B))


def test_complex64_to_complex128() -> None:
    a, b = A + 1j * A[::-1], B + 1j * B
    assert_same_bits(ozfp4.matmul(a, b, dtype=complex), ozfp4.matmul(a.astype(complex), b.astype(complex)))
    assert_same_bits(ozfp4.matmul(a, B, dtype=complex), ozfp4.matmul(a.astype(complex), B.astype(float)))


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("backend", ["auto", "int8"])
def test_integers_to_any_width(name: str, backend: str) -> None:
    assert_same_bits(ozfp4.matmul(N, M, dtype=name, backend=backend), WIDE.astype(name))
    assert_same_bits(ozfp4.gram(N, dtype=name, backend=backend), (N.T.astype(int) @ N).astype(name))
    assert_same_bits(ozfp4.einsum("ij,jk->ki", N, M, dtype=name, backend=backend), WIDE.astype(name).T.copy())
    assert_same_bits(ozfp4.tensordot(N, M, 1, dtype=name, backend=backend), WIDE.astype(name))
    fits = bool((WIDE.astype(name) == WIDE).all())
    if fits:
        assert_same_bits(ozfp4.matmul(N, M, dtype=name, backend=backend, overflow="raise"), WIDE.astype(name))
    else:
        with pytest.raises(OverflowError, match=rf"not fit {name}"):
            ozfp4.matmul(N, M, dtype=name, backend=backend, overflow="raise")


def test_a_long_inner_dimension_of_int8() -> None:
    a = np.full((2, 140_000), -128, np.int8)
    with pytest.raises(OverflowError, match=r"^overflow: .* not fit int32"):
        ozfp4.matmul(a, a.T, dtype=np.int32, overflow="raise")
    assert_same_bits(ozfp4.matmul(a, a.T, dtype=np.int32), (a.astype(int) @ a.T.astype(int)).astype(np.int32))


def test_booleans_are_counted_and_integers_become_numbers() -> None:
    assert_same_bits(ozfp4.matmul(N > 0, M > 0, dtype=int), (N > 0).astype(int) @ (M > 0))
    assert_same_bits(ozfp4.matmul(N, M, dtype=float), WIDE.astype(float))
    assert_same_bits(ozfp4.matmul(N, B, dtype=float), ozfp4.matmul(N.astype(float), B.astype(float)))
    n = np.array([[2**24 + 1]])
    assert ozfp4.matmul(n, np.ones((1, 1), np.float32), dtype=float).item() == 2**24 + 1


@pytest.mark.parametrize(
    ("a", "b", "dtype", "error", "pattern"),
    [
        (A.astype(float), B, np.float32, ValueError, r"^dtype: float32 is not a result type of float64 and float32 operands"),
        (A, B, "int32", ValueError, r"^dtype: int32 is not a result type of float32 operands; allowed are float32, float64"),
        (A, B, complex, ValueError, r"^dtype: complex128 is not a result type of float32 operands"),
        (N, M, bool, ValueError, r"^dtype: bool is not a result type of int8 operands"),
        (A, B, "half a float", TypeError, r"^dtype: 'half a float' is no dtype$"),
    ],
)  # fmt: skip
def test_refusals(a: Any, b: Any, dtype: Any, error: type[Exception], pattern: str) -> None:
    with pytest.raises(error, match=pattern):
        ozfp4.matmul(a, b, dtype=dtype)
    with pytest.raises(error, match=pattern.replace("float64 and float32", "float64")):
        ozfp4.tensordot(a, b, 1, dtype=dtype)


@pytest.mark.filterwarnings("ignore")  # by torch itself
def test_tensors_where_torch_watches() -> None:
    torch = pytest.importorskip("torch")
    a, b = torch.from_numpy(A).requires_grad_(), torch.from_numpy(B)
    expected = ozfp4.matmul(A.astype(float), B.astype(float))

    def product(x: Any) -> Any:
        return ozfp4.matmul(x, b, dtype=torch.float64)

    assert_same_bits(ozfp4.matmul(a, b, dtype="float64").detach().numpy(), expected)
    c = product(a)
    assert_same_bits(c.detach().numpy(), expected)
    g = torch.from_numpy(RNG.standard_normal((30, 20)))
    (found,) = torch.autograd.grad(c, a, g)
    assert_same_bits(found, ozfp4.matmul(g, b.double().mT).float())
    assert_same_bits(torch.vmap(product)(a.detach()[None])[0].numpy(), expected)
    _, tangent = torch.func.jvp(product, (a.detach(),), (a.detach(),))
    assert_same_bits(tangent.numpy(), expected)
    compiled = torch.compile(product, backend="aot_eager", fullgraph=True)
    assert_same_bits(compiled(a.detach()).numpy(), expected)
    n = torch.from_numpy(N)
    assert ozfp4.gram(n, dtype=torch.int32).dtype == torch.int32
    assert torch.vmap(lambda x: ozfp4.gram(x, dtype=torch.int32))(n[None]).dtype == torch.int32
