"""What products other than the plain real one cost on a GPU: complex, integers, stacks, Gram matrices, prepared operands.

    python benchmarks/gpu_products.py [--only complex integers stacks gram prepared gemm] [--largest 8192] [--out FILE]

Each row is one product: milliseconds of ozfp4 and of what it is compared with, medians of whole calls on CUDA events, the methods
of a row measured in turns, so that the clock hits all of them alike. normal(0, 1) operands but for integers, which are uniform
over their range; every result is compared with the product in another form, bit for bit, before it is timed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

import ozfp4
from common.gpu import batch_for
from ozfp4.measure.clocks import event_times
from ozfp4.measure.machine import describe, sentence

Row = dict[str, Any]
Tensor = torch.Tensor
Methods = Mapping[str, Callable[[], object]]


def in_turns(methods: Methods, n: int, rounds: int = 5, budget: float = 0.05) -> dict[str, float]:
    """Median milliseconds of each method."""
    taken: dict[str, list[float]] = {name: [] for name in methods}
    for _ in range(rounds):
        for name, method in methods.items():
            taken[name] += event_times(method, budget, batch_for(n))
    return {name: statistics.median(times) for name, times in taken.items()}


def row(name: str, shape: str, ours: Callable[[], object], n: int, others: Methods) -> Row:
    """The time of `ours` and its ratio to that of each of the others."""
    ms = in_turns({"ours": ours, **others}, n)
    found: Row = {"product": name, "shape": shape, "ms": round(ms["ours"], 4)}
    for other in others:
        found[f"{other} ms"] = round(ms[other], 4)
        found[f"x {other}"] = round(ms["ours"] / ms[other], 3)
    return found


def check(name: str, found: Tensor, expected: Tensor) -> None:
    if not torch.equal(found, expected):
        raise SystemExit(f"{name}: {int((found != expected).sum())} entries differ")


def normal(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, dtype=dtype, device="cuda")


def complex_rows(largest: int) -> Iterator[Row]:
    """Beside the real product of one size and torch's complex one; complex64 beside complex128."""
    for n in (size for size in (1024, 2048, 4096, 8192) if size <= largest):
        a, b = (normal(n, n, dtype=torch.complex128) for _ in range(2))
        x, y = a.real.contiguous(), b.real.contiguous()
        small = a[:64]
        real = ozfp4.matmul(
            torch.cat((small.real, -small.imag), 1).contiguous(), torch.cat((b.real, b.imag)).contiguous()
        )
        check("complex128", ozfp4.matmul(small, b).real, real)
        others: Methods = {"real": lambda x=x, y=y: ozfp4.matmul(x, y), "native": lambda a=a, b=b: a @ b}
        yield row("complex128", f"{n}^3", lambda a=a, b=b: ozfp4.matmul(a, b), n, others)
        f, g = a.to(torch.complex64), b.to(torch.complex64)
        wide: Methods = {"complex128": lambda a=a, b=b: ozfp4.matmul(a, b), "native": lambda f=f, g=g: f @ g}
        yield row("complex64", f"{n}^3", lambda f=f, g=g: ozfp4.matmul(f, g), n, wide)


def integer_rows(largest: int) -> Iterator[Row]:
    """TOPS = 2 N^3 / t; entries of all of int64, and below 1000."""
    for n in (size for size in (1024, 4096, 8192) if size <= largest):
        for name, bound in (("int64, full range", 2**63), ("int64, below 1000", 1000)):
            a, b = (torch.randint(-bound, bound - 1, (n, n), device="cuda") for _ in range(2))
            some = slice(0, 8)
            expected = torch.from_numpy(a[some].cpu().numpy() @ b.cpu().numpy()).cuda()
            check(name, ozfp4.matmul(a, b)[some], expected)
            found = row(name, f"{n}^3", lambda a=a, b=b: ozfp4.matmul(a, b), n, {})
            yield found | {"TOPS": round(2 * n**3 / found["ms"] / 1e9, 1)}


def stack_rows(largest: int) -> Iterator[Row]:
    """Stacks of small matrices beside torch.bmm, in the scaled contract and in standard."""
    for count, n in ((4096, 64), (1024, 128), (256, 256), (64, 512), (16, 1024)):
        a, b = (normal(count, n, n) for _ in range(2))
        check(f"stack of {n}", ozfp4.matmul(a, b)[3], ozfp4.matmul(a[3], b[3]))
        bmm: Methods = {"native": lambda a=a, b=b: torch.bmm(a, b)}
        for accuracy in ("scaled", "standard"):
            ours = lambda a=a, b=b, accuracy=accuracy: ozfp4.matmul(a, b, accuracy=accuracy)  # noqa: E731
            yield row(f"stack, {accuracy}", f"{count} of {n}^3", ours, min(n, largest), bmm)


def gram_rows(largest: int) -> Iterator[Row]:
    for n in (size for size in (2048, 4096, 8192) if size <= largest):
        a = normal(n, n)
        check("gram", ozfp4.gram(a), ozfp4.matmul(a.mT, a))
        yield row(
            "gram", f"{n}^3", lambda a=a: ozfp4.gram(a), n, {"plain": lambda a=a: ozfp4.matmul(a.mT, a)}
        )


def prepared_rows(largest: int) -> Iterator[Row]:
    """A prepared right operand beside the plain product, and what preparing it takes, of all moduli of the plan."""
    for m, n in ((1024, 4096), (4096, 4096), (1024, 8192), (8192, 8192)):
        if n > largest:
            continue
        a, b = normal(m, n), normal(n, n)
        right = ozfp4.prepare(b, side="right")
        check("prepared", ozfp4.matmul(a, right), ozfp4.matmul(a, b))
        methods: Methods = {
            "plain": lambda a=a, b=b: ozfp4.matmul(a, b),
            "prepare": lambda b=b: ozfp4.prepare(b, side="right"),
        }
        found = row(
            "prepared", f"{m} x {n} x {n}", lambda a=a, right=right: ozfp4.matmul(a, right), m, methods
        )
        yield found | {"saved ms": round(found["plain ms"] - found["ms"], 4)}


def gemm_rows(largest: int) -> Iterator[Row]:
    """C - A B, rounded once, beside the plain product."""
    for n in (size for size in (1024, 4096, 8192) if size <= largest):
        a, b, c = (normal(n, n) for _ in range(3))
        ones = torch.ones(n, 1, dtype=torch.float64, device="cuda")
        some = slice(0, 16)
        longer = ozfp4.matmul(
            torch.cat((-a[some], c[some, :1]), 1), torch.cat((b[:, :1], ones[:1])), accuracy="correct"
        )
        check("gemm", ozfp4.gemm(-1.0, a[some], b[:, :1], 1.0, c[some, :1], accuracy="correct"), longer)
        plain: Methods = {"plain": lambda a=a, b=b: ozfp4.matmul(a, b)}
        yield row("gemm", f"{n}^3", lambda a=a, b=b, c=c: ozfp4.gemm(-1.0, a, b, 1.0, c), n, plain)


PRODUCTS: dict[str, Callable[[int], Iterator[Row]]] = {
    "complex": complex_rows,
    "integers": integer_rows,
    "stacks": stack_rows,
    "gram": gram_rows,
    "prepared": prepared_rows,
    "gemm": gemm_rows,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=list(PRODUCTS), default=list(PRODUCTS))
    parser.add_argument("--largest", type=int, default=8192, help="no square beyond this one")
    parser.add_argument("--out", help="write the rows as JSON to this file")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    header = describe("cuda")
    print(sentence(header), flush=True)
    rows: list[Row] = []
    for name in arguments.only:
        for found in PRODUCTS[name](arguments.largest):
            print(", ".join(f"{key} {value}" for key, value in found.items()), flush=True)
            rows.append(found)
        torch.cuda.empty_cache()
    if arguments.out:
        with open(arguments.out, "w", encoding="utf-8") as file:
            json.dump({**header, "rows": rows}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
