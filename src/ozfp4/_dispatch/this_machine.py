"""The devices of this process as the model of cost sees them, and what it chooses on each: measured figures, where there are
some, come before nominal ones."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import lru_cache

from .. import _core
from .._backends import cpu
from .._backends.cuda import extension
from .._backends.kernels import FLOAT_SETTING
from .._cost.choice import Choice, choose
from .._cost.peaks import ATTAINED, CPU_BACKENDS, DevicePeaks, cpu_peaks, gpu_peaks, with_measured
from .._cost.rates import TERA, Rates, device_rates
from .._request import library
from .._support import disk_cache
from .._trust.identity import cpu_identity, gpu_identity

generation = (
    0  # counts the figures that were kept: what was chosen under another number may rest on older ones
)


def _unknown_rates(codes: bool, tcgen05_bytes: bool, tcgen05: bool) -> Rates:
    """Ratios for a GPU that is not in the table, by the kernels that run on it: INT8 is 1, and FP4 beside it what
    csrc/plan/choice.hpp says, to Python and to C."""
    fp4 = _core.fp4_rate(codes, tcgen05, tcgen05_bytes) if codes else 0.0
    return Rates("a GPU without known rates", fp4, 0, 1, 0.1, 8, 0, (), 1 if tcgen05 else 0)


# Under which measured figures are kept.
def _gpu_key(index: int) -> dict[str, str]:
    return {**gpu_identity(index), "finding": "rates"}


def _cpu_key(unit: str, threads: int) -> dict[str, str]:
    """By the number of threads, as neither rates nor bandwidth grow with it alike."""
    return {**cpu_identity(), "finding": "rates", "unit": unit, "threads": str(threads)}


# What is remembered is of one generation: another thread may begin the next while something is looked up for the one before.
@lru_cache(maxsize=64)
def _gpu_of(index: int, _generation: int) -> DevicePeaks:
    return with_measured(nominal_gpu(index), disk_cache.load(_gpu_key(index)))


def this_gpu(index: int) -> DevicePeaks:
    """A CUDA device of this process, with the kernels that this build has for it."""
    return _gpu_of(index, generation)


def nominal_gpu(index: int) -> DevicePeaks:
    """The same where nobody has measured it."""
    torch, cuda = library.require_torch(), extension.require_cuda()

    def kernel(element: str, residues: bool) -> str:
        number = cuda.find_kernel(element, index, residues)
        return "" if number is None else str(cuda.kernels[number])

    name = torch.cuda.get_device_name(index)
    codes, digit_codes = kernel("e2m1", True), kernel("e2m1", False)
    names = (codes, kernel("u8", True), kernel("s8", True))
    tcgen05 = any(held.startswith("tcgen05") for held in names)
    known = device_rates(name) or _unknown_rates(bool(codes), names[1].startswith("tcgen05"), tcgen05)
    peaks = gpu_peaks(known)
    rates = dict(peaks.rates)
    scale = ATTAINED * TERA
    bytes_by_warps = scale * (known.int8_warp or known.int8)
    if not names[1].startswith("tcgen05"):
        rates["II", "int8"] = bytes_by_warps
    if not codes:
        rates["II", "fp4"] = rates["II", "int8"]
    elif known.fp4_step_64 and "K=96" not in codes:
        rates["II", "fp4"] = scale * known.fp4_step_64
    if not digit_codes:
        rates["I", "fp4"] = rates["I", "int8"] = bytes_by_warps
    packed = frozenset(scheme for scheme, held in (("II", codes), ("I", digit_codes)) if held)
    return DevicePeaks(
        name, rates, peaks.bandwidth, packed, peaks.launch, codes.startswith("tcgen05"), peaks.basis
    )


def _byte_unit() -> str:
    """What multiplies planes of bytes on the CPU now, as OZFP4_CPU_KERNEL names it."""
    unit = _core.serving_byte_kernel()
    return FLOAT_SETTING if unit is None else unit[1]


@lru_cache(maxsize=64)
def _cpu_with(unit: str, threads: int, _generation: int) -> DevicePeaks:
    basis = f"measured on this machine with {threads} thread{'' if threads == 1 else 's'}"
    return with_measured(
        cpu_peaks(cpu.name(), threads, unit), disk_cache.load(_cpu_key(unit, threads)), basis
    )


def this_cpu() -> DevicePeaks:
    """The CPU of this process, with the threads that it has now."""
    return _cpu_with(_byte_unit(), _core.thread_count(), generation)


def nominal_cpu() -> DevicePeaks:
    """The same where nobody has measured it."""
    return cpu_peaks(cpu.name(), _core.thread_count(), _byte_unit())


def keep_measured(index: int | None, figures: Mapping[str, float]) -> bool:
    """Keep measured figures of a CUDA device, or of the CPU (None) with as many threads as it has now, for this and later
    processes.

    Parameters
    ----------
    index : int or None
    figures : dict
        Operations a second by backend, "bandwidth" in bytes a second, of a GPU "launch" in seconds and by
        ``ozfp4._cost.peaks.WAYS`` what each takes over its model.

    Returns
    -------
    bool
        Whether they could be kept.
    """
    key = _cpu_key(_byte_unit(), _core.thread_count()) if index is None else _gpu_key(index)
    kept = disk_cache.store(key, dict(figures))
    _forget()
    return kept


_told = -1  # the generation whose figures the core has


def tell_core() -> None:
    """Give the core the measured figures of the CPU, if there are such and it has others."""
    global _told
    if _told != generation:
        _told = generation
        peaks = this_cpu()
        if peaks.basis == nominal_cpu().basis:
            _core.set_rates()
        else:
            fp64, int8, fp4 = (peaks.rates["II", backend] for backend in CPU_BACKENDS)
            _core.set_rates(fp64, int8, fp4, peaks.basis)


def set_threads(count: int) -> None:
    """How many threads the CPU's products have from now on, which changes what "auto" takes. Range: as in _core."""
    _core.set_thread_count(count)
    _forget()


def read_environment() -> None:
    """Read what the environment says about products on the CPU, which changes what "auto" takes."""
    _core.read_environment()
    _forget()


def _forget() -> None:
    """Let everything that rests on figures of devices be found anew."""
    global generation
    generation += 1
    for cached in (_gpu_of, _cpu_with, _cpu_choice, _gpu_choice):
        cached.cache_clear()
    _core.forget_rates()
    if (cuda := sys.modules.get("ozfp4._cuda")) is not None:
        cuda.forget_rates()


@lru_cache(maxsize=512)
def _cpu_choice(
    scheme: str, family: str, bits: int, k: int, unit: str, threads: int, _generation: int
) -> Choice:
    return choose(_cpu_with(unit, threads, _generation), scheme, family, bits, k)


def cpu_choice(scheme: str, family: str, bits: int, k: int) -> Choice:
    """What "auto" takes on the CPU with the threads that it has now."""
    return _cpu_choice(scheme, family, bits, k, _byte_unit(), _core.thread_count(), generation)


@lru_cache(maxsize=512)
def _gpu_choice(scheme: str, family: str, bits: int, k: int, index: int, _generation: int) -> Choice:
    return choose(this_gpu(index), scheme, family, bits, k)


def gpu_choice(scheme: str, family: str, bits: int, k: int, index: int) -> Choice:
    """What "auto" takes on a CUDA device."""
    return _gpu_choice(scheme, family, bits, k, index, generation)
