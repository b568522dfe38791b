"""List the plans of a product, and the backend that "auto" chooses on this machine.

"auto" minimises products / rate: the low-precision products of the plan, divided by the rate of the unit that multiplies them.
`ozfp4 calibrate` measures these rates. Small products run without planes if that takes less time.

    ozfp4 plan 8192                         8192 × 8192 × 8192
    ozfp4 plan 1000 2000 500 --bits 24      m, n, k
"""

from __future__ import annotations

import argparse
import math
from itertools import product

from ..._api.plan import cheapest
from ..._measure.machine import gpus
from ..._options import Options
from ..._plans.plan import ALPHABETS, FAMILIES, Plan, make_plan
from .. import InputError, positive
from ..display import show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``ozfp4 plan``."""
    parser.add_argument(
        "size", type=positive, nargs="*", metavar="N", help="N for N × N × N, or M N K; default 4096"
    )
    parser.add_argument("--scheme", choices=("II", "I"), default="II")
    parser.add_argument(
        "--bits", type=positive, default=53, help="of the scaled integers; default 53, 24 for float32"
    )
    parser.add_argument("--family", choices=FAMILIES, help="default: the plans of all")
    parser.add_argument("--backend", choices=("auto", *ALPHABETS), default="auto", help="default: all")


def run(options: argparse.Namespace) -> int:
    """Print the plans, and what is taken where."""
    given = options.size or [4096]
    if len(given) not in (1, 3):
        raise InputError(f"{len(given)} extents: give one for N × N × N, or three for M N K")
    m, n, k = given if len(given) == 3 else 3 * given
    plans = _plans(options, k)
    rows = [
        [
            plan.backend, plan.family, str(plan.products), str(len(plan.moduli) or "-"), str(plan.planes_a),
            f"{math.log2(plan.modulus_product):.1f}" if plan.moduli else "-", str(plan.k_max),
        ]
        for plan in plans
    ]  # fmt: skip
    columns = ["backend", "family", "products", "moduli", "planes", "log2 P", "K limit"]
    show(f"Plans of scheme {options.scheme} for {m} × {n} × {k}, {options.bits} bits", columns, rows, left=2)
    asked = Options(scheme=options.scheme, bits=options.bits, accuracy="scaled", family=plans[0].family)
    for index in (None, *gpus()):
        backend, reason = cheapest(asked, k, index)
        print(f"{'the CPU' if index is None else f'cuda:{index}'}: {backend} ({reason})")
    return 0


def _plans(options: argparse.Namespace, k: int) -> list[Plan]:
    """Every plan of the request that exists; InputError with the first refusal where there is none."""
    backends = ("fp64", "int8", "fp4") if options.backend == "auto" else (options.backend,)
    families = (options.family,) if options.family else ("least", "paper-karatsuba", "paper")
    found, refusals = [], []
    for backend, family in product(backends, families):
        try:
            found.append(make_plan(options.scheme, backend, family, options.bits, k))
        except ValueError as error:
            refusals.append(str(error))
    if not found:
        raise InputError(refusals[0])
    return found
