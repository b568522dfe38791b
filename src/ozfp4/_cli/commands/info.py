"""Show devices, backends, build and versions."""

from __future__ import annotations

import argparse

import ozfp4

from ..._measure.machine import have_cuda
from .. import check_environment

CHECKS_KERNELS = True  # after it has shown the rest


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """This command takes none."""


def run(options: argparse.Namespace) -> int:
    """Print ``ozfp4.info()``; InputError if a variable of the environment has a bad value."""
    have_cuda()  # imports torch where it is installed: info() itself sees no GPU without it
    print(ozfp4.info())
    check_environment()
    return 0
