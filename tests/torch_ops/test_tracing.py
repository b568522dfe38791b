"""Traces of torch hold the operators: compiled without breaks, once for all shapes; exported, faked, functionalised."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ozfp4
from ozfp4.testing import assert_same_bits

torch = pytest.importorskip("torch")
import ozfp4._torch_ops  # noqa: E402 - it imports torch

# torch's own, of what it compiles with
pytestmark = pytest.mark.filterwarnings("ignore")
REAL, COMPLEX = torch.float64, torch.complex128


def entries(*shape: int, dtype: Any = REAL) -> Any:
    g = torch.Generator().manual_seed(31 * len(shape) + sum(shape))
    return torch.randn(shape, dtype=dtype, generator=g)


def integers(*shape: int) -> Any:
    return torch.arange(torch.Size(shape).numel()).reshape(shape) * 2**40 + 1


# ---- The operators, by torch's own checks of a custom one

OPERATORS = torch.ops.ozfp4
SAMPLES: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "matmul": (OPERATORS.matmul.default, (entries(3, 4), entries(4, 5).requires_grad_()), {}),
    "matmul of stacks": (
        OPERATORS.matmul.default,
        (entries(2, 3, 4, dtype=COMPLEX).requires_grad_(), entries(4, 5).requires_grad_()),
        {"accuracy": "correct"},
    ),
    "matmul of vectors": (OPERATORS.matmul.default, (entries(4), entries(4).requires_grad_()), {}),
    "matmul of nothing": (OPERATORS.matmul.default, (entries(3, 0), entries(0, 5).requires_grad_()), {}),
    "matmul of integers": (OPERATORS.matmul.default, (integers(2, 3), integers(3)), {}),
    "matmul.out": (OPERATORS.matmul.out, (entries(3, 4), entries(4, 5)), {"out": entries(3, 5)}),
    "gemm": (OPERATORS.gemm.default, (entries(3, 4).requires_grad_(), entries(4, 5), 1.5, 2.0, entries(5).requires_grad_()), {}),
    "gemm.out": (OPERATORS.gemm.out, (entries(3, 4), entries(4, 5), 1.5, 2.0, entries(5)), {"out": entries(3, 5)}),
    "gram": (OPERATORS.gram.default, (entries(2, 3, 4, dtype=COMPLEX).requires_grad_(),), {"left": True}),
    "gram.out": (OPERATORS.gram.out, (entries(3, 4),), {"out": entries(4, 4)}),
}  # fmt: skip


@pytest.mark.parametrize("name", SAMPLES)
def test_opcheck(name: str) -> None:
    operator, arguments, settings = SAMPLES[name]
    torch.library.opcheck(operator, arguments, settings)


# ---- torch.compile

Operands = tuple[Any, ...]


def written(a: Any, b: Any, out: Any) -> Any:
    ozfp4.matmul(a, b, out=out)
    return 2 * out


def updated(a: Any, b: Any, c: Any) -> Any:
    return ozfp4.gemm(1, a, b, 1, c, out=c) + 1


TRAINED: dict[str, tuple[Callable[..., Any], list[Operands]]] = {
    "matmul": (ozfp4.matmul, [(entries(m, 4), entries(4, n)) for m, n in ((3, 5), (6, 7), (9, 2))]),
    "settings": (
        lambda a, b: ozfp4.matmul(a, b, accuracy="correct", rounding="up").sin(),
        [(entries(m, 4), entries(4, n)) for m, n in ((3, 5), (6, 7))],
    ),
    "stacks": (ozfp4.matmul, [(entries(s, 3, 4), entries(t, 1, 4, n)) for s, t, n in ((2, 5, 6), (3, 2, 7), (7, 4, 3))]),
    "complex": (lambda a, b: ozfp4.matmul(a.mH, b), [(entries(4, m, dtype=COMPLEX), entries(4, 5)) for m in (3, 6)]),
    "gemm": (
        lambda a, b, c: ozfp4.gemm(-1, a, b, 2.5, c, trans_b=True),
        [(entries(m, 4), entries(n, 4), entries(n)) for m, n in ((3, 5), (6, 7))],
    ),
    "gram": (lambda a: ozfp4.gram(a, left=True), [(entries(m, 4),) for m in (3, 6, 8)]),
}  # fmt: skip
ONLY_RUN: dict[str, tuple[Callable[..., Any], list[Operands]]] = {
    "integers": (ozfp4.matmul, [(integers(m, 4), integers(4, 5)) for m in (3, 6)]),
    "update of integers": (
        lambda a, b: ozfp4.gemm(3, a, b, -2, a[:, :1]),
        [(integers(m, 4), integers(4, 5)) for m in (3, 6)],
    ),
    "out": (written, [(entries(m, 4), entries(4, 5), entries(m, 5)) for m in (3, 6)]),
    "in place": (updated, [(entries(m, 4), entries(4, 5), entries(m, 5)) for m in (3, 6)]),
}


def compiled(function: Callable[..., Any], backend: str = "aot_eager") -> Callable[..., Any]:
    torch._dynamo.reset()
    return torch.compile(function, fullgraph=True, dynamic=True, backend=backend)


@pytest.mark.parametrize("name", ONLY_RUN | TRAINED)
def test_compiled_once_for_all_shapes(name: str) -> None:
    function, samples = (ONLY_RUN | TRAINED)[name]
    fast = compiled(function)
    for i, operands in enumerate(samples):
        ours, plain = ([x.clone() for x in operands] for _ in range(2))
        with torch._dynamo.config.patch(error_on_recompile=i > 0):
            assert_same_bits(fast(*ours), function(*plain))
        for x, y in zip(ours, plain, strict=True):
            assert_same_bits(x, y)


@pytest.mark.parametrize("name", TRAINED)
def test_compiled_gradients(name: str) -> None:
    function, samples = TRAINED[name]
    fast = compiled(function)
    for i, operands in enumerate(samples):
        leaves = [x.clone().requires_grad_() for x in operands]
        with torch._dynamo.config.patch(error_on_recompile=i > 0):
            y = fast(*leaves)
            found = torch.autograd.grad(y, leaves, torch.ones_like(y))
        z = function(*leaves)
        expected = torch.autograd.grad(z, leaves, torch.ones_like(z))
        for x, by_eager in zip(found, expected, strict=True):
            assert_same_bits(x.resolve_conj(), by_eager.resolve_conj())


@pytest.mark.slow
def test_inductor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Other processes may be filling the usual one.
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    a, b = entries(3, 4).requires_grad_(), entries(4, 5)
    fast = compiled(lambda a, b: ozfp4.matmul(a.sin(), b).exp(), backend="inductor")
    y, z = fast(a, b), ozfp4.matmul(a.sin(), b).exp()
    torch.testing.assert_close(y, z, rtol=1e-14, atol=0)  # sin and exp are torch's
    torch.testing.assert_close(*(torch.autograd.grad(x.sum(), a)[0] for x in (y, z)), rtol=1e-13, atol=1e-13)


# ---- torch.export, make_fx, fake tensors


class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(entries(4, 5))

    def forward(self, x: Any) -> Any:
        return ozfp4.gemm(1, x, self.w, 1, ozfp4.gram(self.w).sum(0)) + ozfp4.matmul(x, self.w)


@pytest.mark.parametrize("strict", [False, True])
def test_exported_with_a_dynamic_extent(strict: bool) -> None:
    layer, rows = Layer(), torch.export.Dim("rows", min=2, max=100)
    program = torch.export.export(layer, (entries(3, 4),), dynamic_shapes=({0: rows},), strict=strict)
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    x = entries(9, 4)
    for each in (program, torch.export.load(file), program.run_decompositions()):
        assert_same_bits(each.module()(x).detach(), layer(x).detach())


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_traced_by_make_fx(mode: str) -> None:
    from torch.fx.experimental.proxy_tensor import make_fx

    a, b = entries(3, 4), entries(4, 5)
    graph = make_fx(lambda a, b: ozfp4.matmul(a, b), tracing_mode=mode)(a, b)
    assert "ozfp4.matmul" in graph.code
    assert_same_bits(graph(2 * a, b), ozfp4.matmul(2 * a, b))


def test_fake_tensors_have_the_result_s_form() -> None:
    from torch._subclasses import FakeTensorMode

    fake = FakeTensorMode().from_tensor
    a, b = entries(2, 1, 3, 4).float(), entries(5, 4, 6, dtype=COMPLEX)
    for function, operands in (
        (ozfp4.matmul, (a, b)),
        (ozfp4.matmul, (a, b[0, :, 0])),
        (ozfp4.matmul, (integers(3, 4), integers(4).to(torch.int16))),
        (lambda a, b: ozfp4.gemm(1, a, b, 1, a[0, 0, :, :1]), (a, b)),
        (lambda a, c: ozfp4.gemm(1, a, a.mT, 1, c), (a, entries(3))),
        (ozfp4.gram, (b,)),
    ):
        like, real = function(*(fake(x) for x in operands)), function(*operands)
        assert (like.shape, like.dtype, like.stride()) == (real.shape, real.dtype, real.stride())


def test_functionalize() -> None:
    def product(a: Any, b: Any) -> Any:
        return ozfp4.matmul(a, b).mul_(2)

    a, b = entries(3, 4), entries(4, 5)
    assert_same_bits(torch.func.functionalize(product)(a, b), product(a, b))


def test_a_dispatch_mode_sees_every_product() -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    seen: list[str] = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    a = entries(3, 3)
    with Watch():
        y = ozfp4.matmul(a, a)
        ozfp4.gram(a, out=y)
    assert seen == ["ozfp4.matmul.default", "ozfp4.gram.out"]
    assert_same_bits(y, ozfp4.gram(a))
