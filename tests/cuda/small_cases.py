"""A few small products for compute-sanitizer.

    python tests/cuda/small_cases.py [--kernels] [--only KERNEL] [--every-modulus]

--kernels: also by every multiply kernel that runs on the GPU but is not used there by default. Not for racecheck, which takes the
arrival of one lane for a warp on a barrier for a race; tests/cuda/multiply/gemm_check.cpp built with OZFP4_RACECHECK is.
--only: all products by the kernel of this name.
--every-modulus: entries of which the products need every modulus, because reconstruct reads ahead in planes of moduli that
nothing may have written, and gives them weight 0.
initcheck needs both: it does not see stores by TMA, which the default kernel on Hopper makes.
"""

import argparse
import contextlib
import sys
from pathlib import Path

import torch

import ozfp4
from ozfp4._backends.cuda import extension
from ozfp4.testing import forced

sys.path.append(str(Path(__file__).resolve().parents[1]))  # without pytest

from support import chosen, gpu_elements, structured_operands

PATHS = [
    ("II", "int8", "least"),
    ("II", "fp4", "least"),
    ("II", "fp4", "paper"),
    ("I", "fp4", "least"),
    ("I", "int8", "least"),
]

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--kernels", action="store_true")
parser.add_argument("--only", metavar="KERNEL")
parser.add_argument("--every-modulus", action="store_true")
arguments = parser.parse_args()


def entries(*shape: int) -> torch.Tensor:
    x = torch.randn(*shape, dtype=torch.float64, device="cuda")
    return x.sign() * (2.0 - 2.0**-52) if arguments.every_modulus else x


def equal(x: torch.Tensor, y: torch.Tensor) -> bool:
    return torch.equal(torch.nan_to_num(x.cpu()), torch.nan_to_num(y.cpu()))


def takes(kernel: str, options: dict[str, str]) -> bool:
    """Whether a kernel multiplies the planes of a plan here."""
    elements = gpu_elements(options["scheme"], options["backend"])
    number = cuda.kernels.index(kernel)
    return any(cuda.kernel_error(number, element, 0) is None for element in elements)


cuda = extension.extension()
torch.manual_seed(0)
for m, k, n in ((5, 37, 9), (130, 200, 70), (33, 700, 20), (20, 9000, 30)):
    a, b = entries(m, k), entries(k, n)
    a[0, 0] = float("inf")
    expected = chosen.matmul(a.cpu(), b.cpu(), accuracy="scaled")
    for scheme, backend, family in PATHS:
        options = {"scheme": scheme, "backend": backend, "family": family}
        if arguments.only and not takes(arguments.only, options):
            continue
        with forced(arguments.only) if arguments.only else contextlib.nullcontext():
            assert equal(chosen.matmul(a, b, **options, accuracy="scaled"), expected), options
            stack = chosen.matmul(
                a.expand(3, m, k).contiguous(), b.T.contiguous().T, **options, accuracy="scaled"
            )
            assert equal(stack[2], expected), options
    if not arguments.only:
        # Entries over many binades, and sums that cancel: much is repaired, some of it exactly.
        a[0, 0] = 1.0
        graded = a * torch.exp2(-torch.randint(0, 300, a.shape, device="cuda").double())
        # Rows and columns that are nonzero at no common index, in whole tiles and here and there.
        banded, sparse = (
            tuple(torch.from_numpy(z).cuda() for z in structured_operands(kind, m, k, n))
            for kind in ("banded", "1 % dense")
        )
        for x, y in (
            (a, b),
            (graded, b),
            (torch.cat([graded, -graded], 1), torch.cat([b, b])),
            banded,
            sparse,
            (banded[0].mT.contiguous().mT, banded[1].mT.contiguous().mT),
        ):
            for options in (
                {"accuracy": "standard"},
                {"accuracy": "correct"},
                {"accuracy": "correct", "scheme": "I"},
            ):
                c, bound = chosen.matmul(x, y, return_bound=True, **options)
                assert equal(c, chosen.matmul(x.cpu(), y.cpu(), **options)), options
                assert equal(chosen.matmul(x, y, **options), c), options
        u, v = torch.complex(a, a.flip(0)), torch.complex(b, b.flip(1))
        for x, y in ((u, v), (u.conj(), v.mT.contiguous().mH), (u, b), (a, v)):
            for options in ({"accuracy": "standard"}, {"accuracy": "correct"}):
                c, bound = chosen.matmul(x, y, return_bound=True, **options)
                expected = chosen.matmul(x.cpu(), y.cpu(), **options)
                assert equal(torch.view_as_real(c), torch.view_as_real(expected)), options
                assert equal(
                    torch.view_as_real(chosen.matmul(x, y, **options)), torch.view_as_real(expected)
                ), options
        for bound in (2**63, 1000):
            x, y = (torch.randint(-bound, bound, shape, device="cuda") for shape in ((m, k), (k, n)))
            for backend in ("int8", "fp4"):
                c, _ = chosen.matmul(x, y, backend=backend, report=True)  # which counts overflows
                assert torch.equal(c.cpu(), x.cpu() @ y.cpu()), (bound, backend)
                assert torch.equal(chosen.matmul(x, y, backend=backend), c), (bound, backend)
                rest = ozfp4.matmul_mod(x, y, 2**61 - 1, backend=backend)
                assert torch.equal(rest.cpu(), ozfp4.matmul_mod(x.cpu(), y.cpu(), 2**61 - 1)), (
                    bound,
                    backend,
                )
    x = torch.randint(-128, 128, (m, k), dtype=torch.int8, device="cuda")
    y = torch.randint(-128, 128, (k, n), dtype=torch.int8, device="cuda")
    for products in (6, 9):
        c = ozfp4.int8_matmul(x, y, products=products)
        assert torch.equal(c.cpu(), x.cpu().int() @ y.cpu().int()), products

if arguments.kernels:
    a, b = entries(130, 333), entries(333, 70)
    expected = chosen.matmul(a, b, accuracy="scaled")
    for name in cuda.kernels:
        for scheme, backend, family in PATHS:
            options = {"scheme": scheme, "backend": backend, "family": family}
            if not takes(name, options):
                continue
            with forced(name):
                assert equal(chosen.matmul(a, b, **options, accuracy="scaled"), expected), (name, options)
print("small cases passed")
