"""Show devices, backends, build and versions."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """This command takes none."""


def run(options: argparse.Namespace) -> int:
    """Print ``ozfp4.info()``."""
    import ozfp4

    print(ozfp4.info())
    return 0
