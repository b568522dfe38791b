"""Measure, in seconds, what backend="auto" and the choice among kernels rest on, for this and later processes.

Rates of plane products and the bandwidth of a copy, on a GPU also what launches and each way to make a product take; and from
which extent on products gain over the device's own library, by which `ozfp4 exec` and ozfp4.emulate choose. The figures are kept
in OZFP4_CACHE_DIR and shown beside those that are taken where nobody has measured.

  ozfp4 calibrate                        this CPU, and the first GPU that products run on
  ozfp4 calibrate --device cpu
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack

from ..calibration import DEVICES, calibrate, show_found
from ..errors import InputError
from ..tables import show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``ozfp4 calibrate``."""
    parser.add_argument("--device", choices=DEVICES, help="default: all that there are")


def run(options: argparse.Namespace) -> int:
    """Measure, keep, show."""
    found = calibrate((options.device,) if options.device else DEVICES)
    if not found:
        raise InputError(f"--device: {options.device}: no GPU here has kernels in this build")
    show_found(found)
    for index in found:
        _thresholds(index)
    return 0


def _thresholds(index: int | None) -> None:
    from ..._measure import thresholds  # which needs NumPy, as no other command does at its start

    device = "the CPU" if index is None else f"cuda:{index}"
    with ExitStack() as stack:
        if index is not None:
            import torch

            stack.enter_context(torch.cuda.device(index))
        name, found = thresholds.measure(index)
    if not thresholds.keep(name, found):
        print("the cache folder cannot be written: the thresholds are not kept")
    show(
        f"{device}: products gain where every extent is at least", ["dtype", "extent"], thresholds.rows(found)
    )
