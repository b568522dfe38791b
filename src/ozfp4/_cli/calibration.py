"""Measuring this machine for the model of cost: ``ozfp4 plan --measure`` and ``ozfp4 calibrate``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from .devices import gpus
from .progress import Progress
from .tables import show

if TYPE_CHECKING:
    from .._cost.peaks import DevicePeaks

DEVICES = ("cpu", "cuda")
Found = dict[int | None, dict[str, float]]  # figures by torch's number of a GPU, None: the CPU


def calibrate(devices: Collection[str] = DEVICES) -> Found:
    """Measure the CPU, and the first GPU that products run on, and keep the figures for the choice of this and later
    processes."""
    found: Found = {}
    if "cpu" in devices:
        found[None] = _measured(None)
    for index in gpus()[:1] if "cuda" in devices else ():
        import torch

        with torch.cuda.device(index):
            found[index] = _measured(index)
    return found


def _measured(index: int | None) -> dict[str, float]:
    from .._dispatch.this_machine import keep_measured
    from .._measure import calibrate as measuring

    with Progress("measuring the CPU" if index is None else f"measuring cuda:{index}") as progress:
        figures = measuring.measure(index, progress.report)
    if not keep_measured(index, figures):
        print("the cache folder cannot be written: these figures are for this process alone")
    return figures


def show_found(found: Found) -> None:
    """Tables of what was measured, beside what is taken where nobody has measured."""
    from .._dispatch.this_machine import nominal_cpu, nominal_gpu

    for index, figures in found.items():
        peaks = nominal_cpu() if index is None else nominal_gpu(index)
        title = f"{'cpu' if index is None else f'cuda:{index}'}: {peaks.name}"
        show(title, ["", "measured", "default", ""], rows(figures, peaks))


def rows(figures: Mapping[str, float], peaks: DevicePeaks) -> list[list[str]]:
    """Of each figure: what it is, measured, default, unit."""
    from .._cost.peaks import WAYS
    from .._cost.rates import GIGA, TERA

    others = {
        "bandwidth": ("bandwidth", peaks.bandwidth, GIGA, "GB/s"),
        "launch": ("a launch", peaks.launch, 1e-6, "µs"),
        **{
            way: (f"time, {way}", before, 1.0, "of its model")
            for way, before in zip(WAYS, peaks.ways, strict=True)
        },
    }
    lines = []
    for name, figure in figures.items():
        text, before, unit, of = others.get(
            name, (f"rate of {name}", peaks.rates.get(("II", name), 0.0), TERA, "TOPS")
        )
        lines.append([text, f"{figure / unit:.4g}", f"{before / unit:.4g}", of])
    return lines
