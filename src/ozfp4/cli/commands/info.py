"""Show devices, backends, build and versions."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """This command takes none."""


def run(options: argparse.Namespace) -> int:
    """Print ``ozfp4.info()``."""
    import ozfp4

    from ...bench.provenance import have_cuda

    have_cuda()  # imports torch where it is installed: info() itself sees no GPU without it
    print(ozfp4.info())
    return 0
