"""What gemm does with tensors on a device beside launching products, without a GPU: tensors lie on torch's CPU, and what would be
launched is multiplied there."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4._options import Options
from ozfp4.api.complex_factors import combine
from ozfp4.api.integer_update import integer_update
from ozfp4.request.integers import unify_update
from ozfp4.request.library import Operands
from ozfp4.request.operands import MatmulRequest
from ozfp4.request.update import take_addend, update_request
from ozfp4.testing import assert_same_bits
from support import complex_gemm_reference, noise
from support.integers import DTYPES, exact, overflows, wrapped
from support.integers import noise as integers

torch = pytest.importorskip("torch")

FACTORS = [(1, 1), (-3, 2), (2**62, -1), (1, 0), (0, -5), (-(2**63), 2**64 - 1)]


def tensor(x: np.ndarray) -> Any:
    return torch.from_numpy(x.copy())


@pytest.fixture
def multiplied(monkeypatch: pytest.MonkeyPatch) -> list[Operands]:
    """Products of integers are those of Python's; what they were of."""
    found: list[Operands] = []

    def multiply(operands: Operands, asked: Options, dtype: Any, bits: int) -> tuple[Any, None, None]:
        found.append(operands)
        name = str(dtype).removeprefix("torch.")
        real = exact(operands.a.numpy(), operands.b.numpy())
        if asked.raises and overflows(real, name):
            raise OverflowError("as a product does")
        value = real.astype(bool) if name == "bool" else wrapped(real, name)
        operands.out.copy_(torch.from_numpy(np.asarray(value)))
        return operands.out, None, None

    monkeypatch.setattr(import_module("ozfp4.api.integer_update"), "integer_product", multiply)
    return found


def update(alpha: int, a: Any, b: Any, beta: int, c: Any, out: Any, raises: bool) -> Any:
    given = Operands(a, b, out, torch, on_device=True)
    operands, c, dtype = unify_update(given, take_addend(c, given))
    asked = Options(overflow="raise" if raises else "wrap")
    return integer_update(alpha, operands, beta, c, dtype, asked)[0]


@pytest.mark.parametrize("dtype", DTYPES)
def test_integers_of_every_dtype(dtype: str, multiplied: list[Operands]) -> None:
    for alpha, beta in FACTORS:
        for extents in ((3, 4), (4,), ()):
            a, b, c = (integers(s, dtype) for s in ((3, 5), (5, 4), extents))
            expected = wrapped(np.asarray(exact(a, b) * alpha + beta * c.astype(object), object), dtype)
            assert_equal(update(alpha, tensor(a), tensor(b), beta, tensor(c), None, False), expected)
            out = tensor(integers((4, 3), dtype)).T
            assert update(alpha, tensor(a), tensor(b), beta, tensor(c), out, False) is out
            assert_equal(out, expected)
        place = tensor(integers((3, 4), dtype))
        expected = wrapped(
            np.asarray(exact(a, b) * alpha + beta * place.numpy().astype(object), object), dtype
        )
        assert update(alpha, tensor(a), tensor(b), beta, place, place, False) is place
        assert_equal(place, expected)
    assert multiplied


def assert_equal(found: Any, expected: np.ndarray) -> None:
    assert str(found.dtype) == f"torch.{expected.dtype}"
    np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_overflow_is_of_the_exact_sum(dtype: str, multiplied: list[Operands]) -> None:
    info = np.iinfo(dtype)
    a, b = np.array([[info.max, 1], [0, 1]], dtype), np.array([[1], [1]], dtype)
    for alpha, beta, c in (
        (1, -1, [[1], [0]]), (1, -1, [[0], [0]]), (1, 1, [[0], [1]]), (2, 0, [[0], [0]]), (0, 2, [[3], [4]]),
        (2, -2, [[info.max], [1]]), (1, 0, [[0], [0]]),
    ):  # fmt: skip
        addend = np.array(c, dtype)
        real = np.asarray(exact(a, b) * alpha + beta * addend.astype(object), object)
        out = tensor(integers((2, 1), dtype))
        before = out.clone()
        given = (alpha, tensor(a), tensor(b), beta, tensor(addend), out, True)
        if overflows(real, dtype):
            with pytest.raises(OverflowError):
                update(*given)
            assert torch.equal(out, before)
        else:
            assert update(*given) is out
            assert_equal(out, wrapped(real, dtype))
    vector = update(3, tensor(a[0]), tensor(b), -1, tensor(a[1, 1:]), None, False)
    assert tuple(vector.shape) == (1,)


def test_factors_that_64_bits_do_not_hold(multiplied: list[Operands]) -> None:
    large = torch.tensor([[2**64 - 1, 2**63]], dtype=torch.uint64)
    one, none = torch.ones((2, 1), dtype=torch.uint64), torch.zeros((1, 1), dtype=torch.uint64)
    with pytest.raises(ValueError, match=rf"^overflow: 'raise' .* they reach from {-(2**65) + 2} to 1;"):
        update(-2, one.T, large.T.contiguous(), 1, none, None, True)
    assert update(1, large[:, :1], one[:1], 0, None, None, True).item() == 2**64 - 1
    update(2**63, one.T, one, 0, None, None, False)
    assert multiplied[-1].b.shape == one.shape
    with pytest.raises(OverflowError):
        update(2**63, one.T, one, 0, None, None, True)
    assert multiplied[-1].b.dtype == torch.uint64


def test_truth(multiplied: list[Operands]) -> None:
    rng = np.random.default_rng(1)
    a, b, c = rng.random((4, 3)) < 0.4, rng.random((3, 5)) < 0.4, rng.random((4, 5)) < 0.3
    for alpha, beta in ((1, 1), (0, 1), (1, 0), (0, 0)):
        for raises in (False, True):
            place = tensor(c)
            assert update(alpha, tensor(a), tensor(b), beta, place, place, raises) is place
            np.testing.assert_array_equal(place.numpy(), (np.matmul(a, b) & bool(alpha)) | (c & bool(beta)))


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("accuracy", ["scaled", "standard", "correct"])
def test_factors_of_both_parts(accuracy: str, dtype: Any) -> None:
    rng = np.random.default_rng(2)
    a, b, c = (
        (rng.standard_normal(s) + 1j * rng.standard_normal(s)).astype(dtype) for s in ((6, 9), (9, 4), (6, 4))
    )
    a[3, 3] = np.inf
    asked = Options.of({"accuracy": accuracy, "return_bound": True})

    def product(request: MatmulRequest) -> tuple[Any, Any, None]:
        factors = (1, 0) if request.update is None else (request.update.alpha, request.update.beta)
        made = ozfp4.gemm(factors[0], request.a, request.b, factors[1], None if request.update is None else request.update.c,
                          accuracy=accuracy, return_bound=True)  # fmt: skip
        request.out.copy_(made[0])
        return request.out, made[1], None

    for alpha, beta in ((1 + 2j, 1.0), (2 - 1j, 0.0), (0.0, 3 + 1j), (1j, 0.5 - 1j)):
        expected, bound = ozfp4.gemm(alpha, a, b, beta, c, accuracy=accuracy, return_bound=True)
        assert_same_bits(expected, complex_gemm_reference(alpha, a, b, beta, c, accuracy))
        for out in (None, tensor(noise((6, 4), np.dtype(dtype)))):
            given = Operands(tensor(a), tensor(b), out, torch, on_device=True)
            terms = (float(alpha != 0), given, float(beta != 0), tensor(c))
            found = combine(alpha, beta, update_request(*terms, False, False, asked), product)
            assert_same_bits(found[0].numpy(), expected, (alpha, beta))
            assert_same_bits(found[1].numpy(), bound, (alpha, beta, "bound"))
            if out is not None:
                assert_same_bits(out.numpy(), expected, (alpha, beta, "out"))


def test_i_times_a_tensor() -> None:
    rng = np.random.default_rng(3)
    a, c = (rng.standard_normal(s) + 1j * rng.standard_normal(s) for s in ((4, 3), (4, 2)))
    b = rng.standard_normal((3, 2))
    for x, y, z, turned in ((a, b, c, 0), (b.T, a.T, c.T, 1)):
        given = Operands(tensor(x), tensor(y).conj(), None, torch, on_device=True)
        request = update_request(-2j, given, 3j, tensor(z), False, False, Options(accuracy="scaled"))
        assert (request.update.alpha, request.update.beta) == (-2.0, 3.0)
        own = (request.a, request.b)[turned].resolve_conj().numpy()
        whole = (x, y.conj())[turned]
        for found, of in ((own, whole), (request.update.c.numpy(), z)):
            assert_same_bits(found.real.copy(), -of.imag)
            assert_same_bits(found.imag.copy(), of.real.copy())
