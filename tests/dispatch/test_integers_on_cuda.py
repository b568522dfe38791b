"""Python's part of integer products on a device, without a GPU: tensors lie on torch's CPU, and a core of the test multiplies
them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ozfp4._api.integers import integer_request
from ozfp4._dispatch import product
from ozfp4._options import Options
from ozfp4._request.integers import entry_bits, unify_to
from ozfp4._request.library import Operands
from support import STACKS
from support.integer_core import IntegerCore
from support.integers import DTYPES, exact, noise, overflows, wrapped

torch = pytest.importorskip("torch")


def multiply(a: Any, b: Any, out: Any = None, raises: bool = False, modulus: int = 0) -> Any:
    given = Operands(torch.from_numpy(a), torch.from_numpy(b), out, torch, on_device=True)
    operands, dtype, _ = unify_to(given, None)
    asked = Options(overflow="raise" if raises else "wrap")
    bits = max(entry_bits(operands.a.dtype), entry_bits(operands.b.dtype))
    found, about = product.multiply_integers(integer_request(operands, asked, dtype, bits), bits, modulus)
    assert about is None
    return found


@pytest.mark.parametrize("has_out", [False, True])
@pytest.mark.parametrize("dtype", [*DTYPES, "bool"])
@pytest.mark.parametrize("shapes", STACKS, ids=str)
def test_results_of_every_dtype_and_shape(shapes: Any, dtype: str, has_out: bool, core: IntegerCore) -> None:
    rng = np.random.default_rng(3)
    a, b = (rng.random(s) < 0.4 if dtype == "bool" else noise(s, dtype) for s in shapes)
    expected = np.matmul(a, b) if dtype == "bool" else wrapped(np.asarray(exact(a, b), object), dtype)
    out = torch.ones(np.shape(expected), dtype=getattr(torch, dtype)) if has_out else None
    found = multiply(a, b, out)
    assert (found is out) == has_out
    assert str(found.dtype) == f"torch.{dtype}"
    np.testing.assert_array_equal(found.numpy(), expected)
    (call,) = core.calls
    assert (call["bits"], call["modulus"], call["counts"]) == (entry_bits(getattr(torch, dtype)), 0, False)


@pytest.mark.parametrize("dtype", DTYPES)
def test_overflow_leaves_out_as_it_was(dtype: str, core: IntegerCore) -> None:
    info = np.iinfo(dtype)
    for last in (0, 1):
        a, b = np.array([[info.max, 1], [0, 1]], dtype), np.array([[1], [last]], dtype)
        out = torch.full((2, 1), 77, dtype=getattr(torch, dtype))
        if overflows(np.asarray(exact(a, b), object), dtype):
            with pytest.raises(
                OverflowError, match=rf"^overflow: 1 entry of the product does not fit .*{dtype}"
            ):
                multiply(a, b, out, raises=True)
            assert (out.numpy() == 77).all()
        else:
            assert multiply(a, b, out, raises=True) is out
            np.testing.assert_array_equal(out.numpy(), [[info.max], [0]])
    assert [call["counts"] for call in core.calls] == [True, True]


def test_a_modulus_counts_no_overflows(core: IntegerCore) -> None:
    a, b = noise((3, 5), "int32"), noise((5, 4), "int32")
    found = multiply(a, b, modulus=7)
    np.testing.assert_array_equal(found.numpy(), np.asarray(exact(a, b) % 7, np.int32))
    assert (core.calls[0]["modulus"], core.calls[0]["counts"]) == (7, False)


def test_a_report_counts_overflows(core: IntegerCore, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    monkeypatch.setattr(product, "plan_of", lambda asked, made: None)
    monkeypatch.setattr(product.reports, "make_integer_report", lambda *about: counted.append(about[-1]))
    a, b = np.full((2, 1), 2**31 - 1, np.int32), np.array([[1, 2, 3]], np.int32)
    given = Operands(torch.from_numpy(a), torch.from_numpy(b), None, torch, on_device=True)
    operands, dtype, _ = unify_to(given, None)
    product.multiply_integers(integer_request(operands, Options(report=True), dtype, 32), 32)
    assert counted == [4]
