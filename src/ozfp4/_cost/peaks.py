"""A device as the model of cost sees it: the rates of its units and its bandwidth, nominal or measured."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from .. import _core
from .rates import GIGA, TERA, Rates, alphabet_rate

ATTAINED = 0.65  # of nominal peaks: what the paper's kernel reaches on its device
WAYS = ("direct", "thin", "tiles", "stages")  # to make a product on a GPU, as _cuda.way_of lists them
FACTORS = (0.05, 20.0)  # beyond these a measurement is none: of a model that is right on one GPU
LAUNCH_SECONDS = 4e-6  # of one kernel where the next one starts early
GPU_BACKENDS = ("int8", "fp4")  # among equals the first one is taken
CPU_BACKENDS = ("fp64", "int8", "fp4")
CPU_RATIO = dict(_core.BYTE_RATES)  # of what multiplies planes of bytes beside DGEMM (csrc/cpu/units.hpp)
CPU_THREAD_FLOPS = 40 * GIGA  # DGEMM of one thread: 16 operations a clock at 2.5 GHz
CPU_THREAD_BANDWIDTH = 10 * GIGA


@dataclass(frozen=True)
class DevicePeaks:
    """One device as the model sees it.

    Attributes
    ----------
    name : str
    rates : dict
        Operations a second by (scheme, backend), as kernels attain them; without an entry: no unit.
    bandwidth : float
        Bytes a second, as kernels attain it.
    packed : frozenset of str
        Schemes whose planes of the FP4 alphabet are E2M1 codes, two a byte.
    launch : float
        Seconds of one launch; 0 on a CPU.
    pass_per_fold : bool
        Multiply takes a launch for each fold of a chain (tcgen05).
    basis : str
        Where the figures come from.
    ways : tuple of float
        What the WAYS take over what their models say.
    """

    name: str
    rates: Mapping[tuple[str, str], float]
    bandwidth: float
    packed: frozenset[str] = frozenset()
    launch: float = 0.0
    pass_per_fold: bool = False
    basis: str = "nominal"
    ways: tuple[float, ...] = (1.0,) * len(WAYS)

    def backends(self, scheme: str) -> list[str]:
        """Those with a unit, those taken first among equals in front."""
        return [backend for of, backend in self.rates if of == scheme]

    def __hash__(self) -> int:
        return hash((self.name, self.basis, self.bandwidth))


def gpu_peaks(rates: Rates, attained: float = ATTAINED) -> DevicePeaks:
    """A GPU by its nominal figures, with a build that holds all kernels.

    Parameters
    ----------
    rates : Rates
    attained : float
        Fraction of the nominal rate and bandwidth.
    """
    tcgen05 = rates.int8_warp > 0
    # Kernels by tcgen05 store residues only: scheme I runs on bytes at the rate of warp-level instructions.
    digits = {
        backend: rates.int8_warp if tcgen05 else alphabet_rate(rates, backend) for backend in GPU_BACKENDS
    }
    figures = {("II", backend): alphabet_rate(rates, backend) for backend in GPU_BACKENDS}
    figures |= {("I", backend): digits[backend] for backend in GPU_BACKENDS}
    codes = rates.fp4 > rates.int8
    return DevicePeaks(
        rates.name,
        {key: attained * TERA * rate for key, rate in figures.items() if rate > 0},
        attained * GIGA * rates.bandwidth,
        frozenset({"II"} if tcgen05 and codes else {"I", "II"} if codes else ()),
        LAUNCH_SECONDS,
        tcgen05,
        f"nominal figures × {attained:g}",
    )


def cpu_peaks(name: str, threads: int, unit: str = "sgemm") -> DevicePeaks:
    """A CPU by what a thread of a present-day processor does; what counts is the ratio of its units.

    Parameters
    ----------
    name : str
    threads : int
    unit : str
        What multiplies planes of bytes, one of CPU_RATIO.
    """
    rates = {
        (scheme, backend): CPU_THREAD_FLOPS * threads * (1.0 if backend == "fp64" else CPU_RATIO[unit])
        for scheme in ("II", "I")
        for backend in CPU_BACKENDS
    }
    return DevicePeaks(name, rates, CPU_THREAD_BANDWIDTH * threads, basis="typical figures of a thread")


def with_measured(
    peaks: DevicePeaks, found: Mapping[str, Any] | None, basis: str = "measured on this machine"
) -> DevicePeaks:
    """The peaks with the measured figures, as ``this_machine.keep_measured`` keeps them, in place of those known before; what
    makes no sense is left out."""
    if not found:
        return peaks

    def figure(name: str, before: float, least: float = 0.0, most: float = sys.float_info.max) -> float:
        value = found.get(name)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return float(value) if is_number and least < value < most else before  # type: ignore[arg-type, operator]

    # Scheme I is measured by no one: it scales with the unit.
    nominal = {key: peaks.rates["II", key[1]] for key in peaks.rates}
    return replace(
        peaks,
        rates={
            key: rate * (figure(key[1], nominal[key]) / nominal[key]) for key, rate in peaks.rates.items()
        },
        bandwidth=figure("bandwidth", peaks.bandwidth),
        launch=figure("launch", peaks.launch),
        ways=tuple(figure(way, before, *FACTORS) for way, before in zip(WAYS, peaks.ways, strict=True)),
        basis=basis,
    )
