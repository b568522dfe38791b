"""What the commands that measure share: the output folder, rows that survive Ctrl-C, and their one-line complaints."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .errors import InputError


def add_output_arguments(parser: argparse.ArgumentParser) -> None:
    """``-o``, ``--fresh`` and ``--no-figures``."""
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        type=Path,
        help="write JSON, CSV and figures here; a run that was stopped goes on from its finished rows",
    )
    parser.add_argument("--fresh", action="store_true", help="measure everything again")
    parser.add_argument("--no-figures", action="store_true", help="no figures, so no matplotlib needed")


def positive(text: str) -> int:
    """An argparse type: an integer from 1 on."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return int(text)


def natural(text: str) -> int:
    """An argparse type: an integer from 0 on."""
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a non-negative integer")
    return int(text)


def fraction(text: str) -> float:
    """An argparse type: a number in (0, 1]."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a fraction above 0 and up to 1")
    return value


def prepare_output(options: argparse.Namespace) -> Path | None:
    """The output folder, made and writable, and matplotlib at hand if figures are wanted; else InputError.

    Called before anything is measured, and after all other checks: what is refused makes no folder.
    """
    folder: Path | None = options.output
    if folder is None:
        return None
    if not options.no_figures and find_spec("matplotlib") is None:
        raise InputError(
            'figures need matplotlib, which is not installed: pip install "ozfp4[figures]", or give --no-figures'
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--output: {folder}: cannot be made: {error.strerror}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"--output: no permission to write in {folder}")
    return folder


def rows_file(options: argparse.Namespace, folder: Path | None, name: str) -> Path | None:
    """Where finished rows are kept; ``--fresh`` removes what is there."""
    if folder is None:
        return None
    path = folder / f"{name}.rows.jsonl"
    if options.fresh:
        path.unlink(missing_ok=True)
    return path


def say_resumed(count: int) -> None:
    """Tell that rows of an earlier run are used."""
    if count:
        print(f"{count} finished rows taken over from an earlier run (--fresh measures again)")


@contextmanager
def report_at_the_end(report: Callable[[], object]) -> Iterator[None]:
    """Run a block, then `report()`, also when Ctrl-C or bad input stops the block: finished rows are shown and kept."""
    try:
        yield
    except (KeyboardInterrupt, InputError):
        report()
        print("stopped: what is above was finished", file=sys.stderr)
        raise
    report()


def draw(folder: Path, figures: Iterable[tuple[str, Any]]) -> None:
    """Save figures, SVG and PNG, and name the files."""
    from ..bench.figures import style

    for name, figure in figures:
        print(f"wrote {', '.join(str(path) for path in style.save(figure, folder, name))}")
