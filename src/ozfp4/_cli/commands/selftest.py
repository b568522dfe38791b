"""Test every kernel on this machine against exact integers.

The tests are products with known results: sums at the limits of the accumulators, alternating signs, every pair of limbs, extents
around the boundaries of tiles, whole products. A kernel that fails is disabled until it passes; `ozfp4 info` shows the verdicts.

    ozfp4 selftest                      the long form, under a minute
    ozfp4 selftest --short              the tests that run before the first product
    ozfp4 selftest --report card.json   also times, and a program for each failure, in a file for a bug report
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import ozfp4

from ..._measure import kept
from ..._measure import report as machine_report
from ..._measure.machine import have_cuda
from .. import check_writable
from ..display import Progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``ozfp4 selftest``."""
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--short", action="store_true", help="only the tests that run before the first product")
    form.add_argument(
        "--report",
        metavar="FILE",
        type=Path,
        nargs="?",
        const=Path("ozfp4-report.json"),
        help="also measure, and write device, clocks, verdicts and times as JSON; default ozfp4-report.json",
    )


def run(options: argparse.Namespace) -> int:
    """Test, print; 1 if a kernel fails."""
    report: Path | None = options.report
    if report is not None:
        check_writable(report)
    have_cuda()  # imports torch where it is installed, so that GPUs are tested
    with warnings.catch_warnings(), Progress("self-test") as progress:
        warnings.simplefilter("ignore", RuntimeWarning)  # the table tells the same
        tested = ozfp4.selftest(short=options.short, progress=progress.report)
    print(tested)
    for backend in ozfp4.info().backends:
        if not backend.available:
            print(f"no {backend.name} on {backend.device}: {backend.detail}")
    if report is not None:
        with Progress("times") as progress:
            measured = machine_report.report(tested, progress=progress.report)
        kept.write(report, json.dumps(measured, indent=1) + "\n")
        print(f"wrote {report}")
    return 0 if tested.passed else 1
