"""Operands of a kind that no product takes: the error names the argument, its kind and what is taken; nothing is converted."""

from __future__ import annotations

import re
from decimal import Decimal

import numpy as np
import pytest
from scipy import sparse

import ozfp4
from ozfp4.testing import assert_same_bits
from support import noise

A = np.arange(12.0).reshape(3, 4)
B = np.arange(20.0).reshape(4, 5)
NUMBERS = "allowed are float64, float32, complex128, complex64, integers and bool"
DENSE = "is sparse, and only dense arrays are supported; pass a.toarray()"

ARRAYS = [
    ("float16", A.astype(np.float16), f"a: dtype float16 is not supported; {NUMBERS}"),
    ("longdouble", A.astype(np.longdouble), f"a: dtype {np.dtype(np.longdouble)} is not supported"),
    ("clongdouble", A.astype(np.clongdouble), f"a: dtype {np.dtype(np.clongdouble)} is not supported"),
    ("object", A.astype(object), "a: dtype object is not supported"),
    ("decimals", [[Decimal(1)] * 4], "a: dtype object is not supported"),
    ("text", A.astype(str), "a: dtype <U32 is not supported"),
    ("bytes", A.astype("S4"), "a: dtype |S4 is not supported"),
    ("durations", A.astype("m8[ms]"), "a: dtype timedelta64[ms] is not supported"),
    ("dates", A.astype("M8[D]"), "a: dtype datetime64[D] is not supported"),
    ("records", np.zeros((3, 4), "f8,f8"), "a: dtype [('f0', '<f8'), ('f1', '<f8')] is not supported"),
    ("raw bytes", A.view("V8"), "a: dtype |V8 is not supported; allowed are"),
    (
        "masked",
        np.ma.masked_array(A),
        "a: masked arrays are not supported, their mask would be lost; pass a.filled(0)",
    ),
    ("sparse matrix", sparse.csr_matrix(A), f"a: csr_matrix {DENSE}"),
    ("sparse array", sparse.coo_array(A), f"a: coo_array {DENSE}"),
    ("None", None, "a: dtype object is not supported"),
    ("a number's text", "3", "a: dtype <U1 is not supported"),
]
if hasattr(np.dtypes, "StringDType"):  # NumPy 2
    text = A.astype(np.dtypes.StringDType())
    ARRAYS.append(("text of any length", text, "a: dtype StringDType() is not supported"))


@pytest.mark.parametrize(("a", "words"), [pytest.param(*case[1:], id=case[0]) for case in ARRAYS])
def test_arrays(check_refused, a, words: str) -> None:
    check_refused(TypeError, f"^a: .*{re.escape(words.removeprefix('a: '))}", ozfp4.matmul, a, B)
    check_refused(TypeError, "^b: ", ozfp4.matmul, A.T, a, out=noise((4, 4)))
    check_refused(TypeError, "^x: ", ozfp4.stages.scale, a, "a")


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_np_matrix_counts_as_its_array() -> None:
    """np.matmul returns a matrix; ozfp4.matmul an array, as for every subclass."""
    c = ozfp4.matmul(np.matrix(A), np.matrix(B))
    assert type(c) is np.ndarray
    assert_same_bits(c, ozfp4.matmul(A, B))


def test_rows_of_several_lengths() -> None:
    with pytest.raises(ValueError, match="inhomogeneous"):
        ozfp4.matmul([[1.0], [1.0, 2.0]], B)


# ---- Tensors


def tensors():
    """The name of each, the tensor, and words of the error."""
    torch = pytest.importorskip("torch")
    a = torch.from_numpy(A)
    single = a.float()
    yield "nested", torch.nested.nested_tensor([a, a]), "layout nested is not supported"
    ragged = torch.nested.nested_tensor([a, a], layout=torch.jagged)
    yield "ragged", ragged, "layout nested is not supported"
    for layout in (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc):
        yield (
            str(layout),
            a.to_sparse(layout=layout),
            f"layout {layout} is not supported; pass a dense (strided) tensor, such as a.to_dense()",
        )
    yield (
        "quantised",
        torch.quantize_per_tensor(single, 0.1, 0, torch.qint8),
        "dtype torch.qint8 is not supported",
    )
    for name in ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"):
        yield (name, a.to(getattr(torch, name)), f"dtype torch.{name} is not supported; allowed are float64")
    yield "complex32", torch.ones(3, 4, dtype=torch.complex32), "dtype torch.complex32 is not supported"
    masked = torch.masked.masked_tensor(a, a > 0)
    yield "masked", masked, "MaskedTensor does not hold its entries as a torch.Tensor does"


@pytest.mark.filterwarnings("ignore")  # torch warns of most of these kinds, as they are made
def test_tensors() -> None:
    torch = pytest.importorskip("torch")
    b = torch.from_numpy(B)
    for name, a, words in tensors():
        with pytest.raises(TypeError) as caught:
            ozfp4.matmul(a, b)
        assert str(caught.value).startswith("a: ")
        assert words in str(caught.value), name
        with pytest.raises(TypeError, match=r"^b: "):
            ozfp4.matmul(b.mT, a, out=torch.zeros(5, 5, dtype=torch.float64))


def test_tensors_of_a_subclass_that_is_memory_count_as_tensors() -> None:
    torch = pytest.importorskip("torch")

    class Named(torch.Tensor):
        pass

    a = torch.from_numpy(A)
    for x in (a.as_subclass(Named), torch.nn.Parameter(a, requires_grad=False), torch.nn.Buffer(a)):
        assert_same_bits(ozfp4.matmul(x, torch.from_numpy(B)), ozfp4.matmul(A, B))
