"""The way of complex tensors on a device, here with tensors on the CPU and the CPU's products in place of the device's."""

from __future__ import annotations

import importlib
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4._options import Options
from ozfp4.backends.cuda.launch import Launch
from ozfp4.dispatch import complex_product, on_cpu, on_cuda
from ozfp4.report import Report
from ozfp4.request import complex as forms
from ozfp4.request.library import Operands
from ozfp4.request.operands import MatmulRequest, matmul_request
from ozfp4.testing import assert_same_bits
from support import real_form

torch = pytest.importorskip("torch")

ROUNDINGS = ("nearest", "down", "up", "zero")


@pytest.fixture(autouse=True)
def any_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """The CPU passes for a device that the build has kernels for; torch makes the columns that a kernel would."""
    monkeypatch.setattr(on_cuda, "check_device", lambda device: None)
    monkeypatch.setattr(complex_product.pairs, "expand", forms._blocks)


def tensor(shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    rng = np.random.default_rng([seed, *shape])
    x = np.ldexp(rng.standard_normal((2, *shape)), rng.integers(-30, 30, (2, *shape)))
    whole = x[0] + 1j * x[1] if dtype.startswith("complex") else x[0]
    return torch.tensor(whole.astype(dtype))


# Tensors of the shape (..., p, q) from such of (..., p, q) or (..., q, p).
LAZY: dict[str, Callable[[Any], Any]] = {
    "as it is": lambda x: x,
    "transposed": lambda x: x.mT.clone(memory_format=torch.contiguous_format).mT,
    "conjugated": lambda x: x.conj(),
    "conjugated and transposed": lambda x: x.mT.clone(memory_format=torch.contiguous_format).mH,
    "negated": lambda x: torch._neg_view(x),
    "conjugated and negated": lambda x: torch._neg_view(x).conj(),
    "every second": lambda x: torch.stack([x, x], -1).flatten(-2)[..., ::2],
    "reversed": lambda x: torch.flip(x, (-1,)),
}


def resolved(x: Any) -> np.ndarray:
    """A NumPy array of what a tensor says, in memory of its own."""
    array: np.ndarray = x.resolve_conj().resolve_neg().contiguous().numpy()
    return array


def as_on_a_device(a: Any, b: Any, out: Any = None, upper: Any = None, **names: Any) -> tuple[Any, Any]:
    """``multiply`` of tensors as they would be passed on from a device; the real products are the CPU's."""
    asked = Options.of(names)
    operands = Operands(a.resolve_neg(), b.resolve_neg(), out, torch, True)
    encloses = upper is not None

    def run(real: MatmulRequest) -> tuple[Any, Any, Report | None]:
        assert all(isinstance(x, torch.Tensor) for x in (real.a, real.b, real.out))
        assert (real.a.shape[-2:], real.b.shape[-2:]) == (
            (real.shape.m, real.shape.k),
            (real.shape.k, real.shape.n),
        )
        assert (
            torch.broadcast_shapes(real.a.shape[:-2], real.b.shape[:-2], real.shape.stack) == real.shape.stack
        )
        if encloses:
            low, high = ozfp4.enclose(real.a, real.b)
            real.out.copy_(low)
            real.upper.copy_(high)
            return real.out, real.upper, None
        options = {"accuracy": real.asked.accuracy, "rounding": real.asked.rounding}
        c, bound = ozfp4.matmul(real.a, real.b, **options, return_bound=True)
        real.out.copy_(c)
        return real.out, bound.expand(real.shape.result) if real.asked.return_bound else None, None

    return complex_product.multiply(
        matmul_request(operands, asked, upper=upper), on_cpu.decide, run, encloses
    )[:2]


PAIRS = [
    ("complex128", "complex128"),
    ("complex64", "complex64"),
    ("complex128", "float64"),
    ("float32", "complex64"),
]


@pytest.mark.parametrize(("dtype_a", "dtype_b"), PAIRS)
@pytest.mark.parametrize("lazy_b", LAZY)
@pytest.mark.parametrize("lazy_a", LAZY)
def test_lazy_tensors(lazy_a: str, lazy_b: str, dtype_a: str, dtype_b: str) -> None:
    a, b = LAZY[lazy_a](tensor((5, 6), dtype_a, 1)), LAZY[lazy_b](tensor((6, 7), dtype_b, 2))
    for names in ({"accuracy": "standard"}, *({"accuracy": "correct", "rounding": r} for r in ROUNDINGS)):
        expected, bounds = ozfp4.matmul(resolved(a), resolved(b), **names, return_bound=True)
        c, bound = as_on_a_device(a, b, **names, return_bound=True)
        assert_same_bits(c, expected, names)
        assert_same_bits(bound, bounds, names)
        assert_same_bits(ozfp4.matmul(a, b, **names), expected, names)
        for out in (torch.empty(7, 5, dtype=c.dtype).mT, torch.empty(5, 14, dtype=c.dtype)[:, ::2]):
            out.fill_(float("nan"))
            got, _ = as_on_a_device(a, b, out=out, **names)
            assert got is out
            assert_same_bits(out, expected, names)
    lower, upper = ozfp4.enclose(resolved(a), resolved(b))
    low, high = (torch.full((5, 7), float("nan"), dtype=c.dtype) for _ in range(2))
    as_on_a_device(a, b, out=low, upper=high, accuracy="correct", rounding="down")
    assert_same_bits(low, lower)
    assert_same_bits(high, upper)


@pytest.mark.parametrize(("dtype_a", "dtype_b"), PAIRS)
@pytest.mark.parametrize(
    ("shape_a", "shape_b"),
    [((4,), (4,)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (2, 4, 5)), ((2, 3, 4), (4,)), ((2, 1, 3, 4), (5, 4, 2)),
     ((3, 4), (5, 4, 2)), ((2, 0, 4), (4, 5)), ((2, 3, 0), (2, 0, 5)), ((0, 3, 4), (4, 5)), ((1, 3, 4), (6, 4, 1))],
)  # fmt: skip
def test_stacks(shape_a: tuple[int, ...], shape_b: tuple[int, ...], dtype_a: str, dtype_b: str) -> None:
    a, b = tensor(shape_a, dtype_a, 3), tensor(shape_b, dtype_b, 4)
    expected = ozfp4.matmul(a.numpy(), b.numpy())
    for x in (a, a.expand(2, *shape_a) if len(shape_a) == 2 and len(shape_b) < 3 else a):
        c, _ = as_on_a_device(x, b, accuracy="standard")
        assert_same_bits(c, np.broadcast_to(expected, c.shape))


def test_a_repeated_matrix_is_expanded_once() -> None:
    a, b = tensor((3, 4), "complex128", 5), tensor((4, 5), "complex128", 6)
    x, y = forms.real_operands(a.expand(9, 3, 4), b.expand(9, 4, 5))
    assert (tuple(x.shape), tuple(y.shape)) == ((1, 3, 8), (1, 8, 10))
    for actual, expected in zip((x[0], y[0]), real_form(a.numpy(), b.numpy()), strict=True):
        assert_same_bits(actual, expected)


@pytest.mark.parametrize("lazy_b", LAZY)
@pytest.mark.parametrize("lazy_a", LAZY)
def test_the_real_form(lazy_a: str, lazy_b: str) -> None:
    """Of every view the same operands, the even columns of B followed by the same times i."""
    a, b = (LAZY[lazy](tensor((4, 4), "complex128", 10)) for lazy in (lazy_a, lazy_b))
    found = forms.real_operands(a.resolve_neg(), b.resolve_neg())
    for actual, expected in zip(found, real_form(resolved(a), resolved(b)), strict=True):
        assert_same_bits(actual, expected)


def test_what_is_not_copied() -> None:
    a, b = tensor((3, 4), "complex128", 7), tensor((4, 5), "complex128", 8)
    for x, y, shared in (
        (a, b, (a, None)),
        (a, b.mT.mT.conj(), (a, None)),
        (a.real, b, (a, b)),
        (a, b.real, (a, b)),
    ):
        for real, own in zip(forms.real_operands(x, y), shared, strict=True):
            assert own is None or real.data_ptr() == own.data_ptr()
    c = tensor((3, 5), "complex64", 9)
    for is_stacked in (False, True):
        assert forms.real_result(c, is_stacked).data_ptr() == c.data_ptr()


def test_bytes_of_copies() -> None:
    a, b = tensor((3, 4), "complex128", 7), tensor((4, 5), "complex128", 8)
    pairs = [
        (a, b),
        (a.mT.contiguous().mT, b.conj()),
        (a.real, b),
        (a.real, b.conj()),
        (a, b.real),
        (a.conj(), b.real),
    ]
    pairs += [(a[:, ::2], b[:2]), (a[..., :1], b[:1]), (a.expand(7, 3, 4), b.expand(7, 4, 5))]
    for x, y in pairs:
        row, column = forms.copied_bytes(x, y)
        made = zip(forms.real_operands(x, y), (x, y), strict=True)
        new = [0 if forms.lie_together(real, own) else real.nbytes for real, own in made]
        assert new[0] == row * x.shape[-2]
        assert new[1] <= column * y.shape[-1] <= 2 * new[1]


@pytest.mark.parametrize("limit", [1500, 2**20])
def test_a_block_has_its_workspace_alone(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    matmul = importlib.import_module("ozfp4.api.matmul")
    workspaces: list[Any] = []  # weak references to those of all blocks

    def on_cuda(request: MatmulRequest) -> tuple[Any, Any, Launch, None]:
        assert not any(there() is not None for there in workspaces)  # that of a block before
        workspace = np.empty(100)
        workspaces.append(weakref.ref(workspace))
        request.out.copy_(request.a @ request.b)
        return request.out, None, Launch(None, workspace, None, (0, 0, 0), 0), None  # type: ignore[arg-type]

    monkeypatch.setattr(matmul, "_on_cuda", on_cuda)
    monkeypatch.setattr(matmul.on_cuda, "decide", on_cpu.decide)
    a, b = (torch.view_as_complex((tensor((8, 8, 2), "float64", seed) / 2**20).round()) for seed in (1, 2))
    asked = Options.of({"workspace_limit": limit})
    request = matmul_request(Operands(a, b, None, torch, True), asked)
    c, _, launch, _ = matmul.run(request)
    assert (launch is None) == (len(workspaces) > 1) == (limit < 2**20)
    np.testing.assert_array_equal(
        c.numpy(), (a @ b).numpy()
    )  # of small integers, which torch's own products are exact for
