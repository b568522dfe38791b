"""The operators on a GPU: bits of the plain products and of the CPU's gradients. Skipped where torch, a GPU or its kernels are
missing."""

from __future__ import annotations

import pytest
from first_gpu import DEVICE, torch

import ozfp4
import ozfp4._torch_ops
from ozfp4.testing import assert_same_bits

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's own, of what it traces
REAL, COMPLEX = torch.float64, torch.complex128


def entries(*shape, dtype=REAL):
    return torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(sum(shape)))


CALLS = {
    "matmul": (ozfp4.matmul, (entries(70, 90), entries(90, 33))),
    "stacks": (ozfp4.matmul, (entries(3, 1, 20, 40), entries(2, 40, 9))),
    "vector": (ozfp4.matmul, (entries(40), entries(2, 40, 9))),
    "complex": (
        lambda a, b: ozfp4.matmul(a.mH, b),
        (entries(40, 30, dtype=COMPLEX), entries(40, 9, dtype=COMPLEX)),
    ),
    "mixed": (ozfp4.matmul, (entries(40, 30), entries(30, 9, dtype=COMPLEX))),
    "gemm": (lambda a, b, c: ozfp4.gemm(-1.5, a, b, 0.5, c), (entries(30, 40), entries(40, 20), entries(20))),
    "gram": (ozfp4.gram, (entries(40, 30),)),
    "gram complex": (lambda a: ozfp4.gram(a, left=True), (entries(2, 20, 30, dtype=COMPLEX),)),
    "correct": (lambda a, b: ozfp4.matmul(a, b, accuracy="correct"), (entries(30, 40), entries(40, 20))),
}


def with_gradients(function, operands, device):
    leaves = [x.to(device).requires_grad_() for x in operands]
    y = function(*leaves)
    g = torch.linspace(-3, 5, y.numel(), dtype=REAL).reshape(y.shape).to(y)
    return [x.resolve_conj().cpu() for x in (y.detach(), *torch.autograd.grad(y, leaves, g))]


@pytest.mark.parametrize("name", CALLS)
def test_gradients_have_the_bits_of_the_cpu(name):
    function, operands = CALLS[name]
    for ours, on_cpu in zip(
        with_gradients(function, operands, DEVICE), with_gradients(function, operands, "cpu"), strict=True
    ):
        assert_same_bits(ours, on_cpu)


def test_vmap_and_tangents():
    a, b = entries(5, 20, 30).to(DEVICE), entries(30, 9).to(DEVICE)
    assert_same_bits(torch.vmap(ozfp4.matmul, (0, None))(a, b).cpu(), ozfp4.matmul(a, b).cpu())
    _, found = torch.func.jvp(ozfp4.matmul, (a, b), (2 * a, 3 * b))
    _, on_cpu = torch.func.jvp(ozfp4.matmul, (a.cpu(), b.cpu()), (2 * a.cpu(), 3 * b.cpu()))
    assert_same_bits(found.cpu(), on_cpu)


def test_opcheck():
    a, b = entries(20, 30).to(DEVICE).requires_grad_(), entries(30, 9).to(DEVICE)
    torch.library.opcheck(torch.ops.ozfp4.matmul.default, (a, b))
    torch.library.opcheck(
        torch.ops.ozfp4.gemm.out, (a.detach(), b, 1.0, 0.0), {"out": torch.empty_like(a[:, :9]).detach()}
    )
    n = torch.arange(12, device=DEVICE).reshape(3, 4)
    torch.library.opcheck(torch.ops.ozfp4.matmul.default, (n, n.mT))


def test_compiled_once_for_all_shapes():
    torch._dynamo.reset()
    fast = torch.compile(ozfp4.matmul, fullgraph=True, dynamic=True, backend="aot_eager")
    for i, m in enumerate((20, 33, 70)):
        a, b = entries(m, 40).to(DEVICE).requires_grad_(), entries(40, m + 1).to(DEVICE)
        with torch._dynamo.config.patch(error_on_recompile=i > 0):
            assert_same_bits(fast(a, b).detach().cpu(), ozfp4.matmul(a.detach(), b).cpu())


def test_an_operator_in_a_graph():
    a, b = entries(40, 30).to(DEVICE), entries(30, 20).to(DEVICE)
    torch.ops.ozfp4.matmul(a, b)  # what it does once is done
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        c = torch.ops.ozfp4.matmul(a, b)
    a.copy_(entries(40, 31)[:, :30])
    graph.replay()
    assert_same_bits(c.cpu(), ozfp4.matmul(a.cpu(), b.cpu()))


def test_a_backward_on_another_stream():
    a, b = entries(300, 400).to(DEVICE).requires_grad_(), entries(400, 200).to(DEVICE)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        ozfp4.matmul(a, b).sum().backward()
    torch.cuda.current_stream().wait_stream(stream)
    ones = torch.ones(300, 200, dtype=REAL)
    assert_same_bits(a.grad.cpu(), ozfp4.matmul(ones, b.cpu().mT))
