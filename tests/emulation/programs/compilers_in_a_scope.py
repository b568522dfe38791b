"""Compilers of torch that are first imported in a scope leave its products to torch."""

import io
import sys

import torch

import ozfp4


def program(x):
    y = torch.matmul(x, x).cos() + x @ x + x.mm(x) + torch.einsum("ij,jk->ik", x, x)
    return torch.nn.functional.linear(y, x).addmm_(x, x)


a = torch.randn(6, 6, dtype=torch.float64)
expected = program(a)


def check(*programs):
    for each in programs:
        torch.testing.assert_close(each(a), expected)


with ozfp4.emulate() as scope:
    a @ a
    assert "torch._dynamo" not in sys.modules
    compiled = torch.compile(program, backend="aot_eager", fullgraph=True)
    scripted = torch.jit.script(program)
    check(compiled, scripted)
    torch.jit.save(scripted, io.BytesIO())
assert scope.summary.left == 1, scope.summary
check(compiled, scripted, torch.jit.script(program))
torch.compiler.reset()
check(torch.compile(program, backend="aot_eager", fullgraph=True))
