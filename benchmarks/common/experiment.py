"""Common parts of programs that measure: their arguments, how they end, and the files that they write."""

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
from typing import Any, TypeVar

from figures import style
from ozfp4._cli import InputError, Parser, positive, status_of, tolerate_any_encoding
from ozfp4._cli.display import Progress, show
from ozfp4._measure.machine import describe, have_cuda, sentence

Row = dict[str, Any]
Figures = Callable[[dict[str, Any]], Iterable[tuple[str, Any]]]
Item = TypeVar("Item")


# ---- Arguments ---------------------------------------------------------------------------------------------


def program(
    file: str,
    text: str | None,
    add_arguments: Callable[[argparse.ArgumentParser], None],
    run: Callable[[argparse.Namespace], int],
) -> Callable[..., int]:
    """The function of a program: it takes arguments, by default those of the process, and returns the exit status. As for
    ``ozfp4``, bad input gives one line on stderr and 2."""
    name = Path(file).name

    def main(arguments: Sequence[str] | None = None) -> int:
        tolerate_any_encoding()
        parser = Parser(prog=name, description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
        add_arguments(parser)
        options = parser.parse_args(arguments)
        return status_of(name, lambda: run(options))

    return main


def add_device_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", choices=("cpu", "cuda"), help="default: cuda if torch has it, else cpu")


def device_of(options: argparse.Namespace) -> str:
    """The device of ``--device``; InputError for a GPU that torch does not have."""
    if options.device == "cuda" and not have_cuda():
        raise InputError("--device: cuda: torch has no GPU")
    return options.device or ("cuda" if have_cuda() else "cpu")


def add_sizes_argument(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("--sizes", type=positive, nargs="+", metavar="N", help=text)


def seconds(text: str) -> float:
    """An argparse type: a positive number of seconds."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number of seconds")
    return value


def add_budget_argument(parser: argparse.ArgumentParser, default: float = 1.0) -> None:
    parser.add_argument(
        "--budget", type=seconds, default=default, help="seconds for each measurement; default %(default)g"
    )


def add_output_arguments(parser: argparse.ArgumentParser, figures: bool = True) -> None:
    """``-o``, and ``--no-figures`` where the program draws any."""
    files = "JSON, CSV and figures" if figures else "JSON and CSV"
    parser.add_argument("-o", "--output", metavar="FOLDER", type=Path, help=f"write {files} here")
    parser.set_defaults(no_figures=True)
    if figures:
        parser.add_argument(
            "--no-figures", action="store_true", default=False, help="no figures, so no matplotlib needed"
        )


# ---- While it runs -----------------------------------------------------------------------------------------


def begin(options: argparse.Namespace, device: str) -> dict[str, Any]:
    """The machine, which is printed; after all that can be refused."""
    if device == "cuda" and not have_cuda():
        raise InputError("torch sees no GPU")
    prepare_output(options)
    machine = describe(device)
    print(sentence(machine), flush=True)
    return machine


def collect(
    options: argparse.Namespace, name: str, title: str, device: str, rows: Iterable[Row], *, left: int = 1
) -> list[Row]:
    """All rows, each named on stderr as it comes; at the end, or when Ctrl-C stops them, shown under `title` and written to the
    files of `name`."""
    machine = begin(options, device)
    found: list[Row] = []

    def report() -> None:
        show_rows(title, [row for row in found if "skipped" not in row], left=left)
        show_skipped(found)
        write_results(options, name, machine, {"rows": found}, found)

    with report_at_the_end(report):
        for row in rows:
            print(
                ", ".join(f"{key} {_text(value)}" for key, value in row.items()), file=sys.stderr, flush=True
            )
            found.append(row)
    return found


def in_turn(items: Sequence[Item], text: Callable[[Item], str]) -> Iterator[Item]:
    """The items, each with a line on a terminal that names the current one."""
    for done, item in enumerate(items):
        with Progress(f"{text(item)} ({1 + done} of {len(items)})") as progress:
            progress.report(done / len(items))
            yield item


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


# ---- What is shown and written -----------------------------------------------------------------------------


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def show_rows(title: str, rows: Iterable[Row], *, left: int = 1) -> None:
    """A table with one column for every name that occurs; `left`: so many columns are aligned left."""
    rows = list(rows)
    names = list(dict.fromkeys(name for row in rows for name in row))
    if rows:
        show(title, names, [[_text(row.get(name)) for name in names] for row in rows], left=left)


def show_skipped(rows: Iterable[Row], labels: dict[str, str] | None = None) -> None:
    """A line for each row that says under "skipped" why it was not measured."""
    for row in rows:
        if "skipped" in row:
            size = f", N = {row['N']}" if "N" in row else ""
            print(f"skipped {(labels or {}).get(row['method'], row['method'])}{size}: {row['skipped']}")


def prepare_output(options: argparse.Namespace) -> None:
    """The output folder is made and writable, and matplotlib at hand if figures are wanted; else InputError.

    Called before anything is measured, and after all other checks: what is refused makes no folder.
    """
    folder: Path | None = options.output
    if folder is None:
        return
    if not options.no_figures and find_spec("matplotlib") is None:
        raise InputError("figures need matplotlib, which is not installed: give --no-figures")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--output: {folder}: cannot be made: {error.strerror}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"--output: no permission to write in {folder}")


def write_results(
    options: argparse.Namespace,
    name: str,
    machine: dict[str, Any],
    tables: dict[str, Any],
    rows: list[Row],
    figures: Figures | None = None,
) -> None:
    """Write the files of the output folder, if there is one: `name`.json with the machine and the tables, `name`.csv with the
    rows. `figures` makes an SVG of each named figure from the first file."""
    folder: Path | None = options.output
    if folder is None or not rows:
        return
    write_json(folder / f"{name}.json", machine, tables)
    write_csv(folder / f"{name}.csv", rows)
    print(f"wrote {folder / f'{name}.json'}, {folder / f'{name}.csv'}")
    if figures is not None and not options.no_figures:
        for figure_name, figure in figures({"machine": machine, **tables}):
            print(f"wrote {style.save(figure, folder, figure_name)}")


def write_json(path: Path, machine: dict[str, Any], tables: dict[str, Any]) -> None:
    """Results for reading and plotting: the machine and named tables, a row a line."""
    parts = [f'"machine": {json.dumps(machine)}']
    for name, table in tables.items():
        if isinstance(table, dict):
            parts.append(f'"{name}": {json.dumps(table)}')
        else:
            rows = ",\n  ".join(json.dumps(row) for row in table)
            parts.append(f'"{name}": [\n  {rows}\n ]')
    path.write_text("{" + ",\n ".join(parts) + "}\n", encoding="utf-8")


def write_csv(path: Path, rows: list[Row]) -> None:
    """The rows with one column for every name that occurs; missing values are empty."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
