"""torch in, torch out: what is of tensors alone; everything else refused by name. Bits are compared by the fixture `device`."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4.testing import assert_same_bits, exact_matmul
from support import operands
from support.dtypes import both_types

torch = pytest.importorskip("torch")


def tensors(kind: str = "phi8", m: int = 7, k: int = 20, n: int = 9, dtype: type = np.float64):
    a, b = operands(kind, m, k, n, dtype=dtype)
    return torch.from_numpy(a), torch.from_numpy(b)


def exact(a, b, **names) -> np.ndarray:
    return exact_matmul(a.detach().resolve_neg().numpy(), b.detach().resolve_neg().numpy(), **names)


@both_types
def test_results(dtype: type) -> None:
    a, b = tensors(dtype=dtype)
    c = ozfp4.matmul(a, b, accuracy="scaled")
    assert type(c) is torch.Tensor
    assert c.dtype == a.dtype
    assert c.device.type == "cpu"
    assert not c.requires_grad
    assert c.is_contiguous()
    assert_same_bits(c, exact(a, b))


def test_results_own_writable_memory() -> None:
    a, b = tensors()
    c = ozfp4.matmul(a, b, accuracy="scaled")
    expected = c.clone()
    c.zero_()
    assert_same_bits(ozfp4.matmul(a, b, accuracy="scaled"), expected)


def test_an_out_that_is_a_lazily_negated_view_is_refused() -> None:
    """Writing to a resolved copy of it would lose the result."""
    a, b = tensors()
    out = torch.zeros(7, 9, dtype=torch.complex128).conj().imag
    assert out.is_neg()
    with pytest.raises(ValueError, match=r"out: a lazily negated tensor .* out\.resolve_neg\(\)"):
        ozfp4.matmul(a, b, out=out, accuracy="scaled")
    assert not out.any()


@pytest.mark.parametrize("dtype", [torch.complex128, torch.complex64])
def test_complex_tensors(dtype: Any) -> None:
    g = torch.Generator().manual_seed(1)
    a, b = torch.randn(2, 7, 12, dtype=dtype, generator=g), torch.randn(9, 12, dtype=dtype, generator=g)
    for x, y in (
        (a, b.mT),
        (a.conj(), b.mH),
        (b, a.mH),
        (b.conj()[0], b[0]),
        (a.real, b.mH),
        (a.conj().imag, b.mT),
        (b.conj(), a.mT.real),
        (torch._neg_view(b), torch._neg_view(a).mH),
    ):
        plain = [z.resolve_conj().resolve_neg().numpy() for z in (x, y)]
        c, bound, report = ozfp4.matmul(x, y, return_bound=True, report=True)
        expected, bounds = ozfp4.matmul(*plain, return_bound=True)
        assert (c.dtype, bound.dtype) == (dtype, torch.complex128)
        assert_same_bits(c, np.asarray(expected))
        assert_same_bits(bound, np.asarray(bounds))
        assert report.kind != "real"
        out = torch.full(c.shape, float("nan"), dtype=dtype)
        assert ozfp4.matmul(x, y, out=out) is out
        assert_same_bits(out, np.asarray(expected))
        for end, by_numpy in zip(ozfp4.enclose(x, y), ozfp4.enclose(*plain), strict=True):
            assert_same_bits(end, np.asarray(by_numpy))


def test_an_expanded_out_is_refused() -> None:
    a, b = tensors()
    out = torch.zeros(7, 1, dtype=torch.float64).expand(7, 9)
    with pytest.raises(ValueError, match="out: entries of the array share memory with each other"):
        ozfp4.matmul(a, b, out=out, accuracy="scaled")
    assert not out.any()


def test_an_out_that_shares_memory_with_an_operand_is_refused() -> None:
    a, b = torch.arange(36.0).reshape(6, 6), torch.eye(6)
    for out, name in ((a, "a"), (a.t(), "a"), (a.flip(0).copy_(a), None), (b[:], "b"), (b.t(), "b")):
        before = a.clone(), b.clone()
        if name is None:
            assert_same_bits(ozfp4.matmul(a, b, out=out, accuracy="scaled"), a)
        else:
            with pytest.raises(ValueError, match=rf"^out: the array shares memory with {name}$"):
                ozfp4.matmul(a, b, out=out, accuracy="scaled")
        assert torch.equal(a, before[0])
        assert torch.equal(b, before[1])


def test_parameters_multiply_under_no_grad_and_inference_mode() -> None:
    a, b = tensors()
    expected = exact(a, b)
    parameter = torch.nn.Parameter(a.clone())
    with torch.no_grad():
        c = ozfp4.matmul(parameter, b, accuracy="scaled")
    assert not c.requires_grad
    assert_same_bits(c, expected)
    with torch.inference_mode():
        assert_same_bits(ozfp4.matmul(parameter, b, accuracy="scaled"), expected)
        assert_same_bits(ozfp4.matmul(a.clone(), b.clone(), accuracy="scaled"), expected)
    assert_same_bits(ozfp4.matmul(parameter.detach(), b, accuracy="scaled"), expected)


def mixtures():
    a, b = tensors()
    return {
        "a": (a, b.numpy(), None),
        "b": (a.numpy(), b, None),
        "out of numpy": (a, b, np.zeros((7, 9))),
        "out of torch": (a.numpy(), b.numpy(), torch.zeros(7, 9, dtype=torch.float64)),
        "list": (a, b.tolist(), None),
    }


@pytest.mark.parametrize("which", list(mixtures()))
def test_numpy_and_torch_do_not_mix(which: str) -> None:
    a, b, out = mixtures()[which]
    with pytest.raises(TypeError, match=r"NumPy arrays and torch tensors cannot be mixed: a is a .*, b is"):
        ozfp4.matmul(a, b, out=out, accuracy="scaled")
    if out is not None:
        assert not out.any()


def test_meta_and_sparse_tensors_are_refused() -> None:
    y = torch.ones(3, 3, dtype=torch.float64)
    with pytest.raises(RuntimeError, match="a: device meta has no kernel"):
        ozfp4.matmul(y.to("meta"), y.to("meta"), accuracy="scaled")
    for a, b in ((y.to("meta"), y), (y, y.to("meta"))):
        with pytest.raises(RuntimeError, match=r"[ab]: device .*meta"):
            ozfp4.matmul(a, b, accuracy="scaled")
    with pytest.raises(RuntimeError, match="out: device meta has no kernel"):
        ozfp4.matmul(y, y, out=y.to("meta"), accuracy="scaled")
    with pytest.raises(TypeError, match=r"b: layout torch\.sparse_coo is not supported"):
        ozfp4.matmul(y, y.to_sparse(), accuracy="scaled")
    with pytest.raises(TypeError, match=r"out: layout torch\.sparse_coo is not supported"):
        ozfp4.matmul(y, y, out=y.to_sparse(), accuracy="scaled")


def test_ozfp4_does_not_import_torch() -> None:
    code = """
import sys
import numpy as np, ozfp4, ozfp4.testing
ozfp4.matmul(np.ones((2, 2)), np.ones((2, 2)))
ozfp4.info()
raise SystemExit("torch" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 0
