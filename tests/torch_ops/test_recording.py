"""torch.jit.trace and torch.fx: what they can hold they do, and the rest is refused, so that no product becomes a constant."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

import ozfp4
from ozfp4.testing import assert_same_bits

torch = pytest.importorskip("torch")
import ozfp4._torch_ops  # noqa: E402 - it imports torch

# torch.jit.trace is deprecated since torch 2.9
pytestmark = pytest.mark.filterwarnings("ignore")


def entries(seed: int, dtype: Any = torch.float64) -> Any:
    return torch.randn(3, 3, dtype=dtype, generator=torch.Generator().manual_seed(seed))


B = entries(2)
RIGHT = ozfp4.prepare(B, "right")


def written(x: Any) -> Any:
    out = torch.empty_like(x)
    return ozfp4.matmul(x, x, out=out) + out


RECORDED: dict[str, Callable[[Any], Any]] = {
    "matmul": lambda x: ozfp4.matmul(x, x),
    "matmul by the right": lambda x: ozfp4.matmul(B.to(x.dtype), x),
    "matmul to out": written,
    "settings": lambda x: ozfp4.matmul(x, x, accuracy="correct", rounding="up"),
    "vectors": lambda x: ozfp4.matmul(x[0], x[1]),
    "gemm": lambda x: ozfp4.gemm(2.0, x, x, -0.5, x, trans_b=True),
    "gram": lambda x: ozfp4.gram(x, left=True),
    "einsum": lambda x: ozfp4.einsum("ij,kj->ki", x, x),
    "tensordot": lambda x: ozfp4.tensordot(x, x, ([0], [1])),
    "two products": lambda x: ozfp4.matmul(ozfp4.matmul(x, x), x.sin()),
}


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex64], ids=str)
@pytest.mark.parametrize("name", RECORDED)
def test_jit_trace_records_operators(name: str, dtype: Any) -> None:
    function, other = RECORDED[name], entries(9, dtype)
    traced = torch.jit.trace(function, (entries(1, dtype),))
    assert_same_bits(traced(other), function(other))
    assert "ozfp4::" in str(traced.graph)


def test_recorded_products_are_saved_and_have_gradients() -> None:
    traced = torch.jit.trace(lambda x: ozfp4.matmul(x, B), (entries(1),))
    file = io.BytesIO()
    torch.jit.save(traced, file)
    file.seek(0)
    loaded, x = torch.jit.load(file), entries(9).requires_grad_()
    assert_same_bits(loaded(x).detach(), ozfp4.matmul(x.detach(), B))
    (grad,) = torch.autograd.grad(loaded(x).sum(), x)
    (expected,) = torch.autograd.grad(ozfp4.matmul(x, B).sum(), x)
    assert_same_bits(grad, expected)


def test_jit_trace_records_what_is_emulated_as_torchs() -> None:
    """The scope is no part of what is recorded; where that runs within one, it is emulated."""

    def emulated(x: Any) -> Any:
        with ozfp4.emulate(mode="always"):
            return torch.mm(x, x)

    traced, x = torch.jit.trace(emulated, (entries(1),), check_trace=False), entries(9)
    assert_same_bits(traced(x), torch.mm(x, x))
    with ozfp4.emulate(mode="always"):
        assert_same_bits(traced(x), emulated(x))


def whole(x: Any) -> Any:
    return (x * 8).round().to(torch.int64)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "enclose": lambda x: ozfp4.enclose(x, x),
    "int8_matmul": lambda x: ozfp4.int8_matmul(x.to(torch.int8), x.to(torch.int8)),
    "matmul_mod": lambda x: ozfp4.matmul_mod(whole(x), whole(x), 7),
    "prepare": lambda x: ozfp4.prepare(x, "left"),
    "plan_for": lambda x: ozfp4.plan_for(x, x),
    "inv": lambda x: ozfp4.linalg.inv(x),
    "solve": lambda x: ozfp4.linalg.solve(x, x),
    "det": lambda x: ozfp4.linalg.det(x),
    "cholesky": lambda x: ozfp4.linalg.cholesky(x),
    "qr": lambda x: ozfp4.linalg.qr(x),
    "lstsq": lambda x: ozfp4.linalg.lstsq(x, x),
    "device": lambda x: ozfp4.matmul(x, x, device="cpu"),
    "report": lambda x: ozfp4.matmul(x, x, report=True)[0],
    "bound": lambda x: ozfp4.matmul(x, x, return_bound=True),
    "prepared": lambda x: ozfp4.matmul(ozfp4.prepare(B, "left"), x),
    "prepared before": lambda x: ozfp4.matmul(x, RIGHT),
}


@pytest.mark.parametrize("name", REFUSED)
def test_jit_trace_of_what_it_cannot_record_is_refused(name: str) -> None:
    with pytest.raises(
        (RuntimeError, TypeError, ValueError),
        match=r"^(a|b|x|operands\[0\]|report|return_bound|device): .*trace",
    ):
        torch.jit.trace(REFUSED[name], (entries(1),))
    assert_same_bits(ozfp4.matmul(B, B), torch.ops.ozfp4.matmul(B, B))  # nothing is left behind


def test_what_is_no_tensor_of_the_trace_is_multiplied() -> None:
    array = B.numpy()
    traced = torch.jit.trace(lambda x: x + torch.tensor(ozfp4.matmul(array, array)), (entries(1),))
    x = entries(9)
    assert_same_bits(traced(x), x + ozfp4.matmul(B, B))


PROXIES: dict[str, Callable[[Any], Any]] = {
    **{name: REFUSED[name] for name in ("enclose", "prepare", "plan_for", "solve", "det", "device")},
    "einsum": lambda x: ozfp4.einsum("ij,jk", x, x),
    "matmul": lambda x: ozfp4.matmul(x, x),
    "the second": lambda x: ozfp4.matmul(B, x),
    "beside an array": lambda x: ozfp4.matmul(B.numpy(), x),
    "out": lambda x: ozfp4.matmul(B, B, out=x),
    "an attribute": lambda x: ozfp4.matmul(x.mT, B),
    "gemm": lambda x: ozfp4.gemm(1.0, B, B, 1.0, x),
    "gram": lambda x: ozfp4.gram(x),
    "int8_matmul": lambda x: ozfp4.int8_matmul(x, x),
    "matmul_mod": lambda x: ozfp4.matmul_mod(x, x, 7),
}


@pytest.mark.parametrize("name", PROXIES)
def test_proxies_of_fx_are_refused(name: str) -> None:
    with pytest.raises(TypeError, match=r"^(a|b|c|x|out|operands\[0\]): a Proxy of torch.fx has no entries"):
        torch.fx.symbolic_trace(PROXIES[name])


def enclosed(x: Any) -> Any:
    return ozfp4.enclose(x, x)[0]


torch.fx.wrap("enclosed")


def test_what_proxies_are_told_to_do_works() -> None:
    x = entries(9)
    by_operator = torch.fx.symbolic_trace(lambda x: torch.ops.ozfp4.matmul(x, x))
    assert_same_bits(by_operator(x), ozfp4.matmul(x, x))
    assert_same_bits(torch.fx.symbolic_trace(lambda x: enclosed(x))(x), enclosed(x))
