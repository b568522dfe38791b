"""Measure, in seconds, what backend="auto" and the choice among kernels rest on, for this and later processes.

Rates of plane products and the bandwidth of a copy, on a GPU also what launches and each way to make a product take. The figures
are kept in OZFP4_CACHE_DIR and shown beside those that are taken where nobody has measured.

  ozfp4 calibrate                        this CPU, and the first GPU that products run on
  ozfp4 calibrate --device cpu
"""

from __future__ import annotations

import argparse

from ..calibration import DEVICES, calibrate, show_found
from ..errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``ozfp4 calibrate``."""
    parser.add_argument("--device", choices=DEVICES, help="default: all that there are")


def run(options: argparse.Namespace) -> int:
    """Measure, keep, show."""
    found = calibrate((options.device,) if options.device else DEVICES)
    if not found:
        raise InputError(f"--device: {options.device}: no GPU here has kernels in this build")
    show_found(found)
    return 0
