"""List the plans for a product, and what backend="auto" takes on this machine.

"auto" takes least products / rate: as many plane products as the plan has, at the rate of the unit that multiplies them.
`ozfp4 calibrate` measures these rates. Small products are made without planes where that takes less time.

  ozfp4 plan 8192                         8192 × 8192 × 8192
  ozfp4 plan 1000 2000 500 --bits 24      m, n, k
"""

from __future__ import annotations

import argparse
import math

from ..._api.plan import cheapest
from ..._measure.machine import gpus
from ..._options import Options, check_bits, check_names
from ..._plans.plan import Plan, make_plan
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
    parser.add_argument("--family", help="least, paper or paper-karatsuba; default: the plans of all")
    parser.add_argument("--backend", help="fp4, int8 or fp64; default: all that there are")


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
    """Every plan of the request that exists: families other than the first have plans in FP4 alone."""
    try:
        check_names(options.scheme, options.backend or "auto", options.family or "least")
        check_bits(options.bits)
    except ValueError as error:
        raise InputError(f"--{error}") from None
    found, refusals = [], []
    backends = ("fp64", "int8", "fp4") if options.backend in (None, "auto") else (options.backend,)
    families = (options.family,) if options.family else ("least", "paper-karatsuba", "paper")
    for backend in backends:
        for family in families:
            if family != "least" and (backend != "fp4" or (options.scheme == "I" and not options.family)):
                continue
            try:
                found.append(make_plan(options.scheme, backend, family, options.bits, k))
            except ValueError as error:
                refusals.append(str(error))
    if not found:
        raise InputError(refusals[0] if refusals else f"family {options.family!r} is of backend 'fp4' alone")
    return found
