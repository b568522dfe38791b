"""List the plans for a product and what it costs by the model: on this machine, and on GPUs that are not at hand.

t = 2 Q m n k / R + bytes / bandwidth + launches, the model behind backend="auto" (see ozfp4.cost): Q plane products at the
rate R of the unit that multiplies them, the bytes that scale, encode and reconstruct move. Rates of devices in the table
are their vendors' nominal figures times the fraction that kernels attain. --measure replaces those of this machine, for
backend="auto" too, in this and later processes.

  ozfp4 plan 8192                         8192 × 8192 × 8192
  ozfp4 plan 1000 2000 500 --bits 24      m, n, k
  ozfp4 plan 4096 --device B300 H200      these devices only
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ...cost.peaks import ATTAINED, LAUNCH_SECONDS
from ..devices import gpus
from ..errors import InputError
from ..experiment import fraction, positive
from ..tables import show

if TYPE_CHECKING:
    from ...cost.peaks import DevicePeaks
    from ...cost.rates import Rates
    from ...plans.plan import Plan

SHOWN = ("RTX 4090", "A100 SXM", "RTX 5090", "RTX PRO 6000", "B200", "B300")
RAN = ("H200",)  # where the kernels have run
NOT_RUN = "*not run on hardware*"
Extents = tuple[int, int, int]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``ozfp4 plan``."""
    parser.add_argument(
        "size", type=positive, nargs="*", metavar="N", help="N for N × N × N, or M N K; default 4096"
    )
    parser.add_argument("--scheme", choices=("II", "I"), default="II")
    parser.add_argument(
        "--bits", type=positive, default=53, help="of the scaled integers; default 53, 24 for float32"
    )
    parser.add_argument("--family", help="least, paper or paper-karatsuba; default: all that there are")
    parser.add_argument("--backend", help="fp4, int8 or fp64; default: all that there are")
    parser.add_argument(
        "--device", nargs="+", metavar="NAME", help=f"of the table of rates; default {', '.join(SHOWN)}"
    )
    parser.add_argument(
        "--attained",
        type=fraction,
        default=ATTAINED,
        help="of nominal rates and bandwidths; default 0.65, what the paper's kernel attains",
    )
    parser.add_argument(
        "--measure", action="store_true", help="measure the rates and the bandwidth of this machine first"
    )


def run(options: argparse.Namespace) -> int:
    """Print the plans, the modelled totals and what they rest on."""
    extents = _extents(options.size)
    devices = _devices(options.device)
    plans = _plans(options, extents[2])
    if options.measure:
        _measure()
    here = _at_hand()
    size = " × ".join(map(str, extents))
    _show_plans(f"Plans of scheme {options.scheme} for {size}, {options.bits} bits", plans)
    _show_costs(f"Modelled time of {size} (m × n × k)", plans, extents, here, devices, options)
    _show_rates(here, devices, options.attained)
    return 0


# ---- What was asked for --------------------------------------------------------------------------------------------


def _extents(size: list[int]) -> Extents:
    if max(size, default=0) >= 2**63:
        raise InputError(f"N: {max(size)} does not fit 63 bits")
    if len(size) == 3:
        return size[0], size[1], size[2]
    if len(size) > 1:
        raise InputError(f"{len(size)} extents: give one for N × N × N, or three for M N K")
    n = size[0] if size else 4096
    return n, n, n


def _devices(names: list[str] | None) -> list[Rates]:
    from ...cost.rates import DEVICES, device_rates

    found = []
    for name in names or SHOWN:
        rates = device_rates(name)
        if rates is None:
            known = ", ".join(repr(device.name) for device in DEVICES)
            raise InputError(f"--device: {name!r} is not in the table of rates; there are {known}")
        found.append(rates)
    return found


def _plans(options: argparse.Namespace, k: int) -> list[Plan]:
    """Every plan of the request that exists: families other than the first have plans in FP4 alone."""
    from ...plans.plan import make_plan
    from ...request.arguments import check_bits, check_names

    try:
        check_names(options.scheme, options.backend or "auto", options.family or "least")
        check_bits(options.bits)
    except ValueError as error:
        raise InputError(f"--{error}") from None
    found, refusals = [], []
    for backend in (options.backend,) if options.backend not in (None, "auto") else ("fp64", "int8", "fp4"):
        for family in (options.family,) if options.family else ("least", "paper-karatsuba", "paper"):
            if family != "least" and (backend != "fp4" or (options.scheme == "I" and not options.family)):
                continue
            try:
                found.append(make_plan(options.scheme, backend, family, options.bits, k))
            except ValueError as error:
                refusals.append(str(error))
    if not found:
        raise InputError(refusals[0] if refusals else f"family {options.family!r} is of backend 'fp4' alone")
    return found


# ---- This machine --------------------------------------------------------------------------------------------------


def _at_hand() -> list[DevicePeaks]:
    from ...dispatch.this_machine import this_cpu, this_gpu

    return [this_cpu(), *map(this_gpu, gpus())]


def _measure() -> None:
    """Rates of one plane product in every alphabet, and the bandwidth of a copy, kept for later processes."""
    from ...bench import speed
    from ...bench.methods import own_methods
    from ...cost.peaks import CPU_BACKENDS, GPU_BACKENDS
    from ...dispatch.this_machine import keep_measured
    from ..progress import Progress

    devices = ["cuda"] if gpus() else []
    for device in ("cpu", *devices):
        backends = CPU_BACKENDS if device == "cpu" else GPU_BACKENDS
        methods = {
            method.options["backend"]: method
            for method in own_methods(device)
            if method.options["scheme"] == "II" and method.options["family"] == "least"
        }
        figures = {}
        for done, backend in enumerate(backends):
            with Progress(f"rate of {backend} on {device}") as progress:
                figures[backend] = speed.product_rate(methods[backend], 1024 if device == "cpu" else 4096)
                progress.report((1 + done) / len(backends))
        with Progress(f"bandwidth of {device}") as progress:
            figures["bandwidth"] = speed.copy_bandwidth(device)
            progress.report(1.0)
        if not keep_measured(None if device == "cpu" else 0, figures):
            print("the cache folder cannot be written: these figures are for this process alone")


# ---- Tables --------------------------------------------------------------------------------------------------------


def _show_plans(title: str, plans: list[Plan]) -> None:
    import math

    rows = [
        [
            plan.backend, plan.family, str(plan.products), str(len(plan.moduli) or "-"), str(plan.planes_a),
            f"{math.log2(plan.modulus_product):.1f}" if plan.moduli else "-", str(plan.k_max),
        ]
        for plan in plans
    ]  # fmt: skip
    show(title, ["backend", "family", "products", "moduli", "planes", "log2 P", "K limit"], rows, left=2)


def _cost_rows(
    machine: DevicePeaks, status: str, plans: list[Plan], extents: Extents, native: float, scheme: str
) -> list[list[str]]:
    from ...cost.choice import choose
    from ...cost.model import estimate

    auto = choose(machine, scheme, plans[0].family if len({p.family for p in plans}) == 1 else "least",
                  plans[0].bits, extents[2]).backend  # fmt: skip
    rows = []
    for plan in plans:
        times = estimate(plan, extents, machine)
        if times is None:
            continue
        flops = 2 * extents[0] * extents[1] * extents[2]
        chosen = plan.backend == auto and (plan.family == "least" or len(plans) == 1)
        rows.append([
            machine.name, plan.backend, plan.family, "auto" if chosen else "", str(plan.products),
            *(f"{1e3 * seconds:.3f}" for seconds in (times.preprocess, times.products, times.reconstruct,
                                                      times.launches, times.total)),
            f"{flops / times.total / 1e12:.3g}", f"{native:.3g}" if native else "-", status,
        ])  # fmt: skip
    return rows


def _show_costs(
    title: str,
    plans: list[Plan],
    extents: Extents,
    here: list[DevicePeaks],
    devices: list[Rates],
    options: argparse.Namespace,
) -> None:
    from ...cost.peaks import gpu_peaks

    rows = []
    for machine in here:
        rows += _cost_rows(machine, f"at hand, {machine.basis}", plans, extents, 0.0, options.scheme)
    for rates in devices:
        status = "ran, nominal rates" if rates.name in RAN else NOT_RUN
        machine, native = gpu_peaks(rates, options.attained), options.attained * rates.fp64
        rows += _cost_rows(machine, status, plans, extents, native, options.scheme)
    columns = [
        "device", "backend", "family", "", "Q", "scale+encode ms", "multiply ms", "reconstruct ms", "launches ms",
        "total ms", "TFLOPS", "native FP64", "MODELLED",
    ]  # fmt: skip
    show(title, columns, rows, left=4)


def _show_rates(here: list[DevicePeaks], devices: list[Rates], attained: float) -> None:
    from ...cost.peaks import gpu_peaks
    from ...cost.rates import GIGA, TERA

    rows = []
    for machine in (*here, *(gpu_peaks(rates, attained) for rates in devices)):
        figures = [
            machine.rates.get(key, 0.0) / TERA for key in (("II", "fp4"), ("II", "int8"), ("I", "fp4"))
        ]
        packed = " and ".join(sorted(machine.packed, reverse=True))
        rows.append([
            machine.name, *(f"{figure:.4g}" if figure else "-" for figure in figures),
            f"{machine.bandwidth / GIGA:.4g}", f"E2M1 codes in scheme {packed}" if packed else "as bytes",
            "a launch per fold" if machine.pass_per_fold else "one launch", machine.basis,
        ])  # fmt: skip
    columns = ["device", "fp4 TOPS", "int8 TOPS", "fp4 I TOPS", "GB/s", "limbs of fp4", "multiply", "basis"]
    show("Assumptions", columns, rows)
    print(
        f"{1e6 * LAUNCH_SECONDS:.0f} µs a launch on a GPU. All moduli of a plan run; fewer where data allow it. Not modelled: "
        "partly filled\ntiles and waves, clocks under load, cuts of K. TFLOPS are 2 m n k / t; native FP64 is "
        f"{attained:g} of the nominal peak."
    )
