"""Updates of integer tensors on a device, without a GPU: tensors lie on torch's CPU; a core of the tests makes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ozfp4._api.integers import integer_update
from ozfp4._options import Options
from ozfp4._request.integers import unify_update
from ozfp4._request.library import Operands
from ozfp4._request.operands import take_addend
from support.integer_core import IntegerCore
from support.integers import DTYPES, exact, overflows, wrapped
from support.integers import noise as integers

torch = pytest.importorskip("torch")

FACTORS = [(1, 1), (-3, 2), (2**62, -1), (1, 0), (0, -5), (-(2**63), 2**64 - 1)]


def tensor(x: np.ndarray) -> Any:
    return torch.from_numpy(x.copy())


def update(alpha: int, a: Any, b: Any, beta: int, c: Any, out: Any, raises: bool) -> Any:
    given = Operands(a, b, out, torch, on_device=True)
    operands, c, dtype = unify_update(given, take_addend(c, given))
    asked = Options(overflow="raise" if raises else "wrap")
    return integer_update(alpha, operands, beta, c, dtype, asked)[0]


@pytest.mark.parametrize("dtype", DTYPES)
def test_integers_of_every_dtype(dtype: str, core: IntegerCore) -> None:
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
    assert core.calls


def assert_equal(found: Any, expected: np.ndarray) -> None:
    assert str(found.dtype) == f"torch.{expected.dtype}"
    np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_overflow_is_of_the_exact_sum(dtype: str, core: IntegerCore) -> None:
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


def test_factors_that_64_bits_do_not_hold(core: IntegerCore) -> None:
    large = torch.tensor([[2**64 - 1, 2**63]], dtype=torch.uint64)
    one, none = torch.ones((2, 1), dtype=torch.uint64), torch.zeros((1, 1), dtype=torch.uint64)
    with pytest.raises(ValueError, match=rf"^overflow: 'raise' .* they reach from {-(2**65) + 2} to 1;"):
        update(-2, one.T, large.T.contiguous(), 1, none, None, True)
    assert update(1, large[:, :1], one[:1], 0, None, None, True).item() == 2**64 - 1
    update(2**63, one.T, one, 0, None, None, False)
    assert core.calls[-1]["b"].shape == one.shape
    with pytest.raises(OverflowError):
        update(2**63, one.T, one, 0, None, None, True)
    assert core.calls[-1]["b"].dtype == torch.uint64


def test_updates_of_truth_values(core: IntegerCore) -> None:
    rng = np.random.default_rng(1)
    a, b, c = rng.random((4, 3)) < 0.4, rng.random((3, 5)) < 0.4, rng.random((4, 5)) < 0.3
    for alpha, beta in ((1, 1), (0, 1), (1, 0), (0, 0)):
        for raises in (False, True):
            place = tensor(c)
            assert update(alpha, tensor(a), tensor(b), beta, place, place, raises) is place
            np.testing.assert_array_equal(place.numpy(), (np.matmul(a, b) & bool(alpha)) | (c & bool(beta)))
