"""Times of products other than the plain real one on a GPU: complex, integers, stacks, Gram matrices, prepared operands.

    python benchmarks/gpu_products.py [--only complex integers stacks gram prepared gemm] [--largest 8192] [-o FOLDER]

Each row is one product: milliseconds of ozfp4 and of the methods that it is compared with, medians of whole calls on CUDA events.
The methods of a row alternate, so that changes of the clock hit all of them alike. Operands are normal(0, 1), integers uniform
over their range. Every result is compared with the product in another form, bit for bit, before it is timed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from functools import partial

import torch

import ozfp4
from common import experiment
from common.experiment import Row
from common.gpu import batch_for
from common.turns import Calls, medians

Tensor = torch.Tensor


def row(name: str, shape: str, ours: Callable[[], object], n: int, others: Calls) -> Row:
    """The time of `ours` and its ratio to that of each of the others."""
    seconds = medians({"ours": ours, **others}, 9, "cuda", batch_for(n))
    found: Row = {"product": name, "shape": shape, "ms": round(1e3 * seconds["ours"], 4)}
    for other in others:
        found[f"{other} ms"] = round(1e3 * seconds[other], 4)
        found[f"x {other}"] = round(seconds["ours"] / seconds[other], 3)
    return found


def check(name: str, found: Tensor, expected: Tensor) -> None:
    if not torch.equal(found, expected):
        raise SystemExit(f"{name}: {int((found != expected).sum())} entries differ")


def normal(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, dtype=dtype, device="cuda")


def complex_rows(largest: int) -> Iterator[Row]:
    """Complex products compared with the real product of one size and torch's complex one; complex64 and complex128."""
    for n in (size for size in (1024, 2048, 4096, 8192) if size <= largest):
        a, b = (normal(n, n, dtype=torch.complex128) for _ in range(2))
        x, y = a.real.contiguous(), b.real.contiguous()
        small = a[:64]
        left, right = torch.cat((small.real, -small.imag), 1), torch.cat((b.real, b.imag))
        check("complex128", ozfp4.matmul(small, b).real, ozfp4.matmul(left.contiguous(), right.contiguous()))
        wide = partial(ozfp4.matmul, a, b)
        others = {"real": partial(ozfp4.matmul, x, y), "native": partial(torch.matmul, a, b)}
        yield row("complex128", f"{n}^3", wide, n, others)
        f, g = a.to(torch.complex64), b.to(torch.complex64)
        others = {"complex128": wide, "native": partial(torch.matmul, f, g)}
        yield row("complex64", f"{n}^3", partial(ozfp4.matmul, f, g), n, others)


def integer_rows(largest: int) -> Iterator[Row]:
    """TOPS = 2 N^3 / t; entries of all of int64, and below 1000."""
    for n in (size for size in (1024, 4096, 8192) if size <= largest):
        for name, bound in (("int64, full range", 2**63), ("int64, below 1000", 1000)):
            a, b = (torch.randint(-bound, bound - 1, (n, n), device="cuda") for _ in range(2))
            expected = torch.from_numpy(a[:8].cpu().numpy() @ b.cpu().numpy()).cuda()
            check(name, ozfp4.matmul(a, b)[:8], expected)
            found = row(name, f"{n}^3", partial(ozfp4.matmul, a, b), n, {})
            yield found | {"TOPS": round(2 * n**3 / found["ms"] / 1e9, 1)}


def stack_rows(largest: int) -> Iterator[Row]:
    """Stacks of small matrices compared with torch.bmm, in "scaled" and in "standard"."""
    for count, n in ((4096, 64), (1024, 128), (256, 256), (64, 512), (16, 1024)):
        a, b = (normal(count, n, n) for _ in range(2))
        check(f"stack of {n}", ozfp4.matmul(a, b)[3], ozfp4.matmul(a[3], b[3]))
        for accuracy in ("scaled", "standard"):
            ours = partial(ozfp4.matmul, a, b, accuracy=accuracy)
            native = {"native": partial(torch.bmm, a, b)}
            yield row(f"stack, {accuracy}", f"{count} of {n}^3", ours, min(n, largest), native)


def gram_rows(largest: int) -> Iterator[Row]:
    for n in (size for size in (2048, 4096, 8192) if size <= largest):
        a = normal(n, n)
        check("gram", ozfp4.gram(a), ozfp4.matmul(a.mT, a))
        plain = {"plain": partial(ozfp4.matmul, a.mT, a)}
        yield row("gram", f"{n}^3", partial(ozfp4.gram, a), n, plain)


def prepared_rows(largest: int) -> Iterator[Row]:
    """A prepared right operand compared with the plain product, and the time to prepare it for all moduli of the plan."""
    for m, n in ((1024, 4096), (4096, 4096), (1024, 8192), (8192, 8192)):
        if n > largest:
            continue
        a, b = normal(m, n), normal(n, n)
        right = ozfp4.prepare(b, side="right")
        check("prepared", ozfp4.matmul(a, right), ozfp4.matmul(a, b))
        others = {"plain": partial(ozfp4.matmul, a, b), "prepare": partial(ozfp4.prepare, b, side="right")}
        found = row("prepared", f"{m} x {n} x {n}", partial(ozfp4.matmul, a, right), m, others)
        yield found | {"saved ms": round(found["plain ms"] - found["ms"], 4)}


def gemm_rows(largest: int) -> Iterator[Row]:
    """C - A B, rounded once, compared with the plain product."""
    for n in (size for size in (1024, 4096, 8192) if size <= largest):
        a, b, c = (normal(n, n) for _ in range(3))
        some, ones = slice(0, 16), torch.ones(1, 1, dtype=torch.float64, device="cuda")
        left, right = torch.cat((-a[some], c[some, :1]), 1), torch.cat((b[:, :1], ones))
        longer = ozfp4.matmul(left, right, accuracy="correct")
        check("gemm", ozfp4.gemm(-1.0, a[some], b[:, :1], 1.0, c[some, :1], accuracy="correct"), longer)
        plain = {"plain": partial(ozfp4.matmul, a, b)}
        yield row("gemm", f"{n}^3", partial(ozfp4.gemm, -1.0, a, b, 1.0, c), n, plain)


PRODUCTS: dict[str, Callable[[int], Iterator[Row]]] = {
    "complex": complex_rows,
    "integers": integer_rows,
    "stacks": stack_rows,
    "gram": gram_rows,
    "prepared": prepared_rows,
    "gemm": gemm_rows,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", nargs="+", choices=list(PRODUCTS), default=list(PRODUCTS))
    parser.add_argument("--largest", type=int, default=8192, help="no square beyond this one")
    experiment.add_output_arguments(parser, figures=False)


def run(options: argparse.Namespace) -> int:
    torch.manual_seed(0)
    every = (row for name in options.only for row in PRODUCTS[name](options.largest))
    experiment.collect(options, "gpu_products", "Products", "cuda", every, left=2)
    return 0


main = experiment.program(__file__, __doc__, add_arguments, run)

if __name__ == "__main__":
    sys.exit(main())
