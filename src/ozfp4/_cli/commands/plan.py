"""List the plans for a product and what it costs by the model: on this machine, and on GPUs that are not at hand.

t = 2 Q m n k / R + bytes / bandwidth + launches, the model behind backend="auto" (see ozfp4._cost): Q plane products at the
rate R of the unit that multiplies them, the bytes that scale, encode and reconstruct move. Rates of devices in the table
are their vendors' nominal figures times the fraction that kernels attain. --measure replaces those of this machine, for
backend="auto" too, in this and later processes, as ozfp4 calibrate does.

  ozfp4 plan 8192                         8192 × 8192 × 8192
  ozfp4 plan 1000 2000 500 --bits 24      m, n, k
  ozfp4 plan 4096 --device B300 H200      this machine and these devices only; --device all: every one of the table
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..._cost.peaks import ATTAINED, LAUNCH_SECONDS
from ..calibration import calibrate
from ..devices import gpus
from ..errors import InputError
from ..numbers import fraction, positive
from ..tables import show

if TYPE_CHECKING:
    from ..._cost.peaks import DevicePeaks
    from ..._cost.rates import Rates
    from ..._plans.plan import Plan

SHOWN = ("RTX 4090", "A100 SXM", "RTX 5090", "RTX PRO 6000", "B200", "B300")
RAN = ("H200",)  # where the kernels have run
THIS_CPU = "this CPU"
NOT_RUN = "not run on hardware"
WITHOUT_PLANES = {
    "words": "in machine words, without planes",
    "limbs": "by limbs of eight bits, without planes",
}
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
    parser.add_argument(
        "--family", help="least, paper or paper-karatsuba; default: the plans of all, and the time of least"
    )
    parser.add_argument("--backend", help="fp4, int8 or fp64; default: all that there are")
    parser.add_argument(
        "--device",
        nargs="+",
        metavar="NAME",
        help=f"of the table of rates, or all of it; default {', '.join(SHOWN)}",
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
        calibrate()
    here = _at_hand()
    size = " × ".join(map(str, extents))
    _show_plans(f"Plans of scheme {options.scheme} for {size}, {options.bits} bits", plans)
    machines = _machines(here, devices, options.attained, _way_here(options, extents))
    _show_costs(f"Modelled time of {size} (m × n × k)", plans, extents, machines, options.scheme)
    _show_rates(machines, options.attained)
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
    from ..._cost.rates import DEVICES, device_rates

    if names == ["all"]:
        return list(DEVICES)
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
    from ..._options import check_bits, check_names
    from ..._plans.plan import make_plan

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


def _at_hand() -> dict[str, DevicePeaks]:
    """This machine's devices by short names; a GPU has torch's number unless it is the first and the only one."""
    from ..._dispatch.this_machine import this_cpu, this_gpu

    found = gpus()
    names = {index: "this GPU" if found == [0] else f"this GPU {index}" for index in found}
    return {THIS_CPU: this_cpu()} | {name: this_gpu(index) for index, name in names.items()}


def _way_here(options: argparse.Namespace, extents: Extents) -> str:
    """How "auto" makes a product of float64 matrices of these extents on this CPU: by "planes", or in "words" or by "limbs" where
    their entries let it."""
    from ... import _core
    from ..._backends.cpu import DEFAULT_WORKSPACE
    from ..._backends.kernels import NUMBERS
    from ..._trust import guard

    asks_for_plan = (
        options.scheme != "II"
        or options.backend not in (None, "auto")
        or options.family not in (None, "least")
    )
    if asks_for_plan or ((verdict := guard.known_verdict(NUMBERS)) is not None and not verdict.passed):
        return "planes"
    return _core.small_way(*extents, options.bits, DEFAULT_WORKSPACE)


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


@dataclass(frozen=True)
class Machine:
    """A device of the tables: how they call it, what it can do, its native FP64 rate in TFLOPS (None: not known), what is said of
    it below them ("": nothing), and how "auto" makes the product there."""

    label: str
    peaks: DevicePeaks
    native: float | None
    note: str
    way: str = "planes"


def _machines(
    here: dict[str, DevicePeaks], devices: list[Rates], attained: float, way_here: str
) -> list[Machine]:
    """This machine's devices and those that were asked for."""
    from ..._cost.peaks import gpu_peaks

    found = [
        Machine(
            name,
            peaks,
            None,
            f"{name}: {peaks.name}, {peaks.basis}",
            way_here if name == THIS_CPU else "planes",
        )
        for name, peaks in here.items()
    ]
    for rates in devices:
        mark = "" if rates.name in RAN else "*"
        found.append(Machine(rates.name + mark, gpu_peaks(rates, attained), attained * rates.fp64, ""))
    return found


def _milliseconds(seconds: float) -> str:
    """In ten characters at most.

    >>> _milliseconds(0.0012345), _milliseconds(123456.7)
    ('1.234', '1.235e+08')
    """
    return f"{1e3 * seconds:.3f}" if seconds < 1e3 else f"{1e3 * seconds:.3e}"


def _cost_rows(machine: Machine, plans: list[Plan], extents: Extents, scheme: str) -> list[list[str]]:
    from ..._cost.choice import choose
    from ..._cost.model import estimate

    auto = choose(machine.peaks, scheme, plans[0].family, plans[0].bits, extents[2]).backend
    rows = []
    if machine.way != "planes":
        rows.append([machine.label, f"{machine.way} (auto)", *["-"] * 5])
    for plan in plans:
        times = estimate(plan, extents, machine.peaks)
        if times is None:
            continue
        flops = 2 * extents[0] * extents[1] * extents[2]
        name = plan.backend if plan.family == "least" else f"{plan.backend} {plan.family}"
        is_taken = plan.backend == auto and len(plans) > 1 and machine.way == "planes"
        rows.append([
            machine.label, f"{name} (auto)" if is_taken else name, str(plan.products),
            *map(_milliseconds, (times.total - times.products, times.products, times.total)),
            f"{flops / times.total / 1e12:.3g}",
        ])  # fmt: skip
    return rows


def _show_costs(
    title: str, plans: list[Plan], extents: Extents, machines: list[Machine], scheme: str
) -> None:
    """One line a backend: of the families that were found, the first."""
    first = [plan for plan in plans if plan.family == plans[0].family]
    rows = [row for machine in machines for row in _cost_rows(machine, first, extents, scheme)]
    columns = ["device", "backend", "products", "other ms", "multiply ms", "total ms", "TFLOPS"]
    show(title, columns, rows, left=2)
    for machine in machines:
        if machine.note:
            print(machine.note)
        if machine.way != "planes":
            print(f"{machine.label}: so small a product takes less time {WITHOUT_PLANES[machine.way]},")
            print("if its entries are not too far apart; its time is not modelled")
    if any(machine.label.endswith("*") for machine in machines):
        print(f"*: {NOT_RUN}")


def _show_rates(machines: list[Machine], attained: float) -> None:
    from ..._cost.rates import GIGA, TERA

    rows = []
    for machine in machines:
        peaks = machine.peaks
        figures = [peaks.rates.get(key, 0.0) / TERA for key in (("II", "fp4"), ("II", "int8"), ("I", "fp4"))]
        packed = ", ".join(sorted(peaks.packed, reverse=True))
        rows.append([
            machine.label, *(f"{figure:.4g}" if figure else "-" for figure in figures),
            "-" if machine.native is None else f"{machine.native:.3g}", f"{peaks.bandwidth / GIGA:.4g}",
            f"E2M1 in {packed}" if packed else "bytes", "per fold" if peaks.pass_per_fold else "one",
        ])  # fmt: skip
    columns = [
        "device",
        "fp4 TOPS",
        "int8 TOPS",
        "fp4 I TOPS",
        "FP64",
        "GB/s",
        "limbs of fp4",
        "launches",
    ]
    show("Assumptions", columns, rows)
    print(f"GPUs of the table of rates: nominal figures × {attained:g}; FP64: TFLOPS of a native product.")
    print(
        f"{1e6 * LAUNCH_SECONDS:.0f} µs a launch on a GPU. All moduli of a plan run; fewer where data allow it. Not modelled:\n"
        "partly filled tiles and waves, clocks under load, cuts of K. TFLOPS are 2 m n k / t.\n"
        "Other: scale, encode, reconstruct, launches."
    )
