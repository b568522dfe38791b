"""A scope needs no compiler, and emulates compiled functions."""

import sys

import torch

import ozfp4

a = torch.randn(6, 6, dtype=torch.float64)
with ozfp4.emulate(mode="always") as scope:
    b = a @ a + a
    assert "torch._dynamo" not in sys.modules
    compiled = torch.compile(lambda x: (x @ x).cos(), backend="aot_eager")
    assert (compiled(a) == ozfp4.matmul(a, a).cos()).all()
    assert (compiled(a) == ozfp4.matmul(a, a).cos()).all()
with ozfp4.emulate(mode="always"):
    assert (compiled(a) == ozfp4.matmul(a, a).cos()).all()
compiled(a)
assert scope.summary.caught == 3, scope.summary
