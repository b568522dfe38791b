"""Multiply two matrices from files.

A and B are float64 or float32: .npy, a member of an .npz archive (file.npz:NAME), or Matrix Market (.mtx,
.mtx.gz; sparse matrices are made dense). The product is written to the same kinds of files; a file that
exists is replaced in one step, and an .npz archive keeps its other members.

  ozfp4 run a.npy b.npy -o c.npy
  ozfp4 run molecule.npz:C molecule.npz:F --transpose-a --backend fp4 --workspace 512M -o result.npz:CtF
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...support.refusals import is_over_limit
from ..devices import add_device_argument, take_device, to_device, to_host
from ..errors import InputError
from ..files import Array, check_writable, locate, read, write
from ..progress import Progress
from ..sizes import bytes_of

if TYPE_CHECKING:
    from ...plans.plan import Plan
    from ...request.operands import MatmulShape


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``ozfp4 run``."""
    parser.add_argument("a", metavar="A", help="left operand")
    parser.add_argument("b", metavar="B", help="right operand")
    parser.add_argument("-o", "--output", metavar="C", required=True, help="where the product goes")
    parser.add_argument("--transpose-a", action="store_true", help="multiply by the transpose of A")
    parser.add_argument("--transpose-b", action="store_true", help="multiply by the transpose of B")
    parser.add_argument(
        "--scheme", choices=("II", "I"), default="II", help="residues and CRT (II, default) or digits (I)"
    )
    parser.add_argument(
        "--backend",
        choices=("auto", "fp4", "int8", "fp64"),
        default="auto",
        help="default: auto, the fastest",
    )
    parser.add_argument(
        "--family", choices=("least", "paper", "paper-karatsuba"), default="least", help="default: least"
    )
    parser.add_argument(
        "--bits", type=int, help="bits of the scaled integers, 2 to 200; default 53, float32 24"
    )
    parser.add_argument(
        "--accuracy",
        choices=("standard", "correct", "scaled"),
        help="what is promised: the error bound of a chain of fused multiply-adds in the result's type, the real product "
        "rounded once, the product of the scaled integers",
    )
    parser.add_argument(
        "--rounding",
        choices=("nearest", "down", "up", "zero"),
        default="nearest",
        help="direction, with --accuracy correct; default nearest",
    )
    parser.add_argument(
        "--workspace",
        type=bytes_of,
        metavar="SIZE",
        help="memory to use beside A, B and C; default 1G, on a GPU no limit",
    )
    add_device_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Read, plan, multiply, write; say what was done."""
    files = locate("A", options.a), locate("B", options.b)
    target = locate("--output", options.output)

    start = time.perf_counter()
    a = _transposed("A", read(files[0]), options.transpose_a)
    b = _transposed("B", read(files[1]), options.transpose_b)
    read_seconds = time.perf_counter() - start

    import numpy as np

    import ozfp4

    shape = _shape(a, b)
    check_writable(target, len(shape.result))
    device = take_device(options.device, options.backend)
    plan = _plan(options, shape, device, single=a.dtype.itemsize == b.dtype.itemsize == 4)
    for name, file, array, flipped in (
        ("A", files[0], a, options.transpose_a),
        ("B", files[1], b, options.transpose_b),
    ):
        extents = " × ".join(map(str, array.shape))
        print(f"{name:<9} {extents} {array.dtype.name}, {file}{', transposed' if flipped else ''}")
    print("\n".join(_summary(plan)), flush=True)

    try:
        start = time.perf_counter()
        there = to_device(a, device), to_device(b, device)
        with Progress("multiplying") as progress:
            # Not with the plan: where its kernel failed the self-test, "auto" takes another backend.
            c, report = ozfp4.matmul(
                *there,
                scheme=options.scheme,
                backend=options.backend,
                family=options.family,
                bits=options.bits,
                accuracy=options.accuracy,
                rounding=options.rounding,
                report=True,
                workspace_limit=options.workspace,
                progress=progress.report,
            )
    except RuntimeError as error:
        # Every kernel that could serve is disabled, or the memory of a GPU is too small.
        raise InputError(" ".join(str(error).split())) from None
    except MemoryError as error:
        if is_over_limit(error):
            raise InputError(f"--workspace: {error}") from None
        raise InputError(f"not enough memory: {error}; try a smaller --workspace") from None
    c = np.asarray(to_host(c))
    whole_seconds = time.perf_counter() - start
    start = time.perf_counter()
    write(target, c)
    write_seconds = time.perf_counter() - start

    print(report)
    copied = [("whole, with copies to the GPU and back", whole_seconds)] if device != "cpu" else []
    for name, seconds in (("read", read_seconds), *copied, ("write", write_seconds)):
        print(f"{name:<11} {1e3 * seconds:10.3f} ms")
    print(f"C         {' × '.join(map(str, shape.result)) or 'scalar'} {c.dtype.name}, {target}")
    return 0


def _transposed(name: str, array: Array, wanted: bool) -> Array:
    if not wanted:
        return array
    if array.ndim < 2:
        raise InputError(
            f"--transpose-{name.lower()}: {name} has {array.ndim} dimensions, nothing to transpose"
        )
    transposed: Array = array.swapaxes(-1, -2)
    return transposed


def _shape(a: Array, b: Array) -> MatmulShape:
    from ...request.operands import matmul_shape

    try:
        return matmul_shape(a.shape, b.shape)
    except ValueError as error:
        name, _, problem = str(error).partition(": ")
        operand = {"a": "A", "b": "B"}.get(name)
        raise InputError(f"{operand}: {problem}" if operand else f"A, B: {error}") from None


def _plan(options: argparse.Namespace, shape: MatmulShape, device: str, *, single: bool) -> Plan:
    import ozfp4

    from ...dispatch.decision import capacity
    from ...request.arguments import check_arguments

    names = {"scheme": options.scheme, "backend": options.backend, "family": options.family}
    try:
        asked = check_arguments(
            **names, bits=options.bits, accuracy=options.accuracy, rounding=options.rounding
        )
        bits = capacity(asked, single)
        return ozfp4.plan(shape.m, shape.n, shape.k, **names, bits=bits, accuracy="scaled", device=device)
    except RuntimeError as error:  # a backend that the GPU does not have
        raise InputError(str(error)) from None
    except ValueError as error:
        argument = str(error).partition(":")[0]
        known = argument in (*names, "bits", "accuracy", "rounding")
        raise InputError(f"--{error}" if known else f"A, B: {error}") from None


def _summary(plan: Plan) -> Iterator[str]:
    """The plan in four lines; ``print(plan)`` has all moduli and weights."""
    yield f"plan      scheme {plan.scheme}, {plan.backend}, family {plan.family}, {plan.bits} bits"
    yield f"products  up to {plan.products} of {plan.planes_a} × {plan.planes_b} planes, K <= {plan.k_max}"
    if plan.moduli:
        yield f"moduli    {' '.join(map(str, plan.moduli))}"
    else:
        yield f"digits    {plan.planes_a} of base {plan.base}"
