"""Products of integers of torch tensors on the CPU: torch's rules of dtypes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import ozfp4
from support.integers import DTYPES, noise

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(("first", "second"), list(product([*DTYPES, "bool"], repeat=2)))
def test_dtypes_are_those_of_torch(first: str, second: str) -> None:
    a, b = (torch.from_numpy(noise(shape, name)) for shape, name in (((5, 30), first), ((30, 4), second)))
    try:
        common = torch.promote_types(a.dtype, b.dtype)
    except RuntimeError:
        with pytest.raises(TypeError, match=r"^b: torch has no common dtype of torch\.\w+ and torch\.\w+"):
            ozfp4.matmul(a, b)
        return
    c = ozfp4.matmul(a, b)
    assert c.dtype == common
    np.testing.assert_array_equal(c.numpy(), np.matmul(a.numpy(), b.numpy()).astype(c.numpy().dtype))


def test_with_floats() -> None:
    a, x = torch.arange(12).reshape(3, 4), torch.randn(4, 2)
    assert ozfp4.matmul(a, x).dtype == torch.float32  # NumPy returns float64
    assert torch.equal(ozfp4.matmul(a, x), ozfp4.matmul(a.float(), x))
    assert torch.equal(ozfp4.matmul(a, x.double()), ozfp4.matmul(a.double(), x.double()))


def test_out_and_overflow() -> None:
    a = torch.tensor([[2**62, 2**62]])
    out = torch.full((1, 1), 7)
    with pytest.raises(OverflowError, match=r"does not fit int64"):
        ozfp4.matmul(a, a.T, out=out, overflow="raise")
    assert out.item() == 7
    assert ozfp4.matmul(a, torch.tensor([[1], [0]]), out=out, overflow="raise") is out
    assert out.item() == 2**62
    c, report = ozfp4.matmul(a, a.T, report=True)
    assert (c.item(), report.overflows, report.kind) == (0, 1, "integer")


def test_modulo() -> None:
    a = torch.from_numpy(noise((6, 40), "uint64"))
    b = torch.from_numpy(noise((40, 3), "int64"))
    found = ozfp4.matmul_mod(a, b, 2**61 - 1)
    assert found.dtype == torch.int64
    np.testing.assert_array_equal(found.numpy(), ozfp4.matmul_mod(a.numpy(), b.numpy(), 2**61 - 1))
