"""Measure this machine, for the choice of backends and kernels in this and later processes.

It measures the rates of low-precision products, and on a GPU the time of each way to make a product. It also finds from which
extent on products are faster than the device's own library: `ozfp4 exec` and ozfp4.emulate choose by that. The figures stay in
OZFP4_CACHE_DIR, for products from Python, C and `ozfp4 exec`.

    ozfp4 calibrate                        this CPU, and a GPU of each name that products run on
    ozfp4 calibrate --device cpu
"""

from __future__ import annotations

import argparse

from ... import _core
from ..._dispatch import on_cuda
from ..._measure import calibrate, thresholds
from ..._measure.kept import NEVER, keep
from ..._measure.machine import gpus
from .. import InputError
from ..display import Progress, show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``ozfp4 calibrate``."""
    parser.add_argument("--device", choices=("cpu", "cuda"), help="default: all that there are")


def run(options: argparse.Namespace) -> int:
    """Measure, keep, show."""
    found = [] if options.device == "cpu" else gpus()
    if options.device == "cuda" and not found:
        raise InputError(f"--device: {options.device}: no GPU here has kernels in this build")
    if options.device != "cuda":
        _calibrate(None, _core.rates_device(), _core.cpu_name())
    done: set[str] = set()
    for index in found:
        import torch

        name = str(torch.cuda.get_device_name(index))
        if name in done:  # figures go by names
            continue
        done.add(name)
        on_cuda.CALIBRATING.add(index)
        with torch.cuda.device(index):
            _calibrate(index, name, name)
    return 0


def _calibrate(index: int | None, with_rates: str, with_thresholds: str) -> None:
    """`with_rates`, `with_thresholds`: the device in the lines of these."""
    device = "the CPU" if index is None else f"cuda:{index}"
    with Progress(f"measuring {device}") as progress:
        figures = calibrate.measure(index, progress.report)
    rows = [
        [f"time, {name}", f"{x:.4g}", "of its model"]
        if name in calibrate.WAYS
        else [f"rate of {name}", f"{x / 1e12:.4g}", "TOPS"]
        for name, x in figures.items()
    ]
    show(f"{device}: {with_rates}", ["", "measured", ""], rows)
    # Rates are kept first, as they count for the products by which the thresholds are measured.
    is_kept = keep(with_rates, calibrate.kept(figures))
    found = thresholds.measure(index)
    title = f"{device}: products gain where every extent is at least"
    extents = [[dtype, NEVER if extent is None else str(extent)] for dtype, extent in found.items()]
    show(title, ["dtype", "extent"], extents)
    if not (keep(with_thresholds, found) and is_kept):
        print("the cache folder cannot be written: these figures are not kept")
