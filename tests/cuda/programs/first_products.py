"""The first products of a process, behind what the argument names."""

import sys

import torch

import ozfp4
from ozfp4.testing import forced

before = sys.argv[1]
if before == "info":
    ozfp4.info()
elif before == "plan":
    ozfp4.plan(8, 8, 8, device="cuda")
elif before == "forced":
    with forced():
        pass
elif before == "attributes":  # of a torch that offers no structures
    torch.Tensor.__dlpack_c_exchange_api__ = None
a, b = torch.randn(2, 40, 40, dtype=torch.float64, device="cuda")
a[0] *= 1e200
for x, y in ((a, b), (a.mT, b), (a.to(torch.complex128).conj(), b.to(torch.complex64))):
    for _ in range(2):
        assert torch.equal(ozfp4.matmul(x, y).cpu(), ozfp4.matmul(x.cpu().resolve_conj(), y.cpu())), "bits"
