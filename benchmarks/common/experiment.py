"""Common parts of programs that measure: their arguments, their output folder, how they end, and the files that they write."""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from figures import style
from ozfp4.cli import Parser, status_of, tolerate_any_encoding
from ozfp4.cli.errors import InputError

Row = dict[str, Any]


def run_program(
    name: str,
    text: str | None,
    add_arguments: Callable[[argparse.ArgumentParser], None],
    run: Callable[[argparse.Namespace], int],
    arguments: Sequence[str] | None = None,
) -> int:
    """Parse, run; the exit status is as that of ``ozfp4``: bad input is one line on stderr and 2."""
    tolerate_any_encoding()
    parser = Parser(prog=name, description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    options = parser.parse_args(arguments)
    return status_of(name, lambda: run(options))


def add_output_arguments(parser: argparse.ArgumentParser) -> None:
    """``-o`` and ``--no-figures``."""
    parser.add_argument(
        "-o", "--output", metavar="FOLDER", type=Path, help="write JSON, CSV and figures here"
    )
    parser.add_argument("--no-figures", action="store_true", help="no figures, so no matplotlib needed")


def prepare_output(options: argparse.Namespace) -> Path | None:
    """The output folder, made and writable, and matplotlib at hand if figures are wanted; else InputError.

    Called before anything is measured, and after all other checks: what is refused makes no folder.
    """
    folder: Path | None = options.output
    if folder is None:
        return None
    if not options.no_figures and find_spec("matplotlib") is None:
        raise InputError("figures need matplotlib, which is not installed: give --no-figures")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--output: {folder}: cannot be made: {error.strerror}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"--output: no permission to write in {folder}")
    return folder


@contextmanager
def report_at_the_end(report: Callable[[], object]) -> Iterator[None]:
    """Run a block, then `report()`, also when Ctrl-C or bad input stops the block: finished rows are shown and written."""
    try:
        yield
    except (KeyboardInterrupt, InputError):
        report()
        print("stopped: what is above was finished", file=sys.stderr)
        raise
    report()


def draw(folder: Path, figures: Iterable[tuple[str, Any]]) -> None:
    """Save figures, SVG and PNG, and name the files."""
    for name, figure in figures:
        print(f"wrote {', '.join(str(path) for path in style.save(figure, folder, name))}")


def write_json(path: Path, machine: dict[str, Any], **tables: Iterable[Row] | dict[str, Any]) -> None:
    """Results for reading and plotting: the machine and named tables, a row a line."""
    parts = [f'"machine": {json.dumps(machine)}']
    for name, table in tables.items():
        if isinstance(table, dict):
            parts.append(f'"{name}": {json.dumps(table)}')
        else:
            rows = ",\n  ".join(json.dumps(row) for row in table)
            parts.append(f'"{name}": [\n  {rows}\n ]')
    path.write_text("{" + ",\n ".join(parts) + "}\n", encoding="utf-8")


def read_json(path: Path) -> dict[str, Any]:
    """The results in a file of :func:`write_json`."""
    results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return results


def write_csv(path: Path, rows: Iterable[Row]) -> None:
    """The rows with one column for every name that occurs; missing values are empty."""
    rows = list(rows)
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
