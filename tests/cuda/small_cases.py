"""A few small products through every kernel, for compute-sanitizer: python tests/cuda/small_cases.py"""

import torch

import ozfp4
from ozfp4 import _gpu_kernels

PATHS = [
    ("II", "int8", "least"),
    ("II", "fp4", "least"),
    ("II", "fp4", "paper"),
    ("I", "fp4", "least"),
    ("I", "int8", "least"),
]

torch.manual_seed(0)
for m, k, n in ((5, 37, 9), (130, 200, 70), (33, 700, 20)):
    a = torch.randn(m, k, dtype=torch.float64, device="cuda")
    b = torch.randn(k, n, dtype=torch.float64, device="cuda")
    a[0, 0] = float("inf")
    expected = ozfp4.matmul(a.cpu(), b.cpu())
    for scheme, backend, family in PATHS:
        c = ozfp4.matmul(a, b, scheme=scheme, backend=backend, family=family)
        assert torch.equal(torch.nan_to_num(c.cpu()), torch.nan_to_num(expected)), (scheme, backend, family)
        stack = ozfp4.matmul(
            a.expand(3, m, k).contiguous(), b.T.contiguous().T, scheme=scheme, backend=backend, family=family
        )
        assert torch.equal(torch.nan_to_num(stack[2]), torch.nan_to_num(c)), (scheme, backend, family)
    x = torch.randint(-128, 128, (m, k), dtype=torch.int8, device="cuda")
    y = torch.randint(-128, 128, (k, n), dtype=torch.int8, device="cuda")
    for products in (6, 9):
        assert torch.equal(ozfp4.int8_matmul(x, y, products=products).cpu(), x.cpu().int() @ y.cpu().int()), (
            products
        )

# Every multiply kernel that runs here, beyond those that serve by themselves.
cuda = _gpu_kernels.extension()
a = torch.randn(130, 333, dtype=torch.float64, device="cuda")
b = torch.randn(333, 70, dtype=torch.float64, device="cuda")
expected = ozfp4.matmul(a, b)
for number, name in enumerate(cuda.kernels):
    for scheme, backend, family in PATHS:
        elements = _gpu_kernels.elements(
            ozfp4.plan(130, 70, 333, scheme=scheme, backend=backend, family=family)
        )
        if all(cuda.kernel_error(number, element, 0) for element in elements):
            continue
        with _gpu_kernels.forced_kernel(name):
            c = ozfp4.matmul(a, b, scheme=scheme, backend=backend, family=family)
        assert torch.equal(c, expected), (name, scheme, backend, family)
print("small cases passed")
