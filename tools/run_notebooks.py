"""Execute the notebooks; any exception in a cell is a failure.

    python tools/run_notebooks.py notebooks            execute copies
    python tools/run_notebooks.py --check notebooks    and compare the text of cells tagged `deterministic`
    python tools/run_notebooks.py --write notebooks    execute and store the outputs in the files; refused where they show
                                                       figures of a tree with changes that no commit has

Arguments are notebooks or folders of notebooks. Each notebook runs in a fresh kernel of the interpreter that
runs this program, in the notebook's folder; ozfp4 must be importable (installed, or PYTHONPATH=src). Figures
are not compared: their bytes depend on fonts and on the version of Matplotlib. A notebook that names packages under `needs` in
its metadata is left out, with a line about it, where one of them is not installed.

Exit status: 0 all well, 1 a cell raised or a text changed, 2 nothing to run.
Needs nbclient, nbformat, ipykernel (pip install ozfp4[notebook]).
"""

from __future__ import annotations

import argparse
import copy
import re
import sys
import time
from collections.abc import Iterator, Sequence
from difflib import unified_diff
from importlib.util import find_spec
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

TAG = "deterministic"
NEEDS = "needs"  # in a notebook's metadata: names of packages besides those of ozfp4[notebook]
TEXT_TYPES = ("text/markdown", "text/plain")  # the first one that an output carries is compared
PNG_TYPE = "image/png"
DIRTY = re.compile(r"\b[0-9a-f]{7,40}-dirty\b")  # as ozfp4._measure.machine.commit names a tree with changes
ANSI_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class SameInterpreter(AsyncKernelManager):
    """The kernel is always the running interpreter, whatever kernels are registered on the machine."""

    @property
    def kernel_spec(self) -> KernelSpec:
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=ERROR"]
        return KernelSpec(argv=argv, language="python", display_name="Python 3")


def find_notebooks(paths: Sequence[Path]) -> list[Path]:
    found: set[Path] = set()
    for path in paths:
        if path.is_dir():
            found.update(p for p in path.rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts)
        elif path.suffix == ".ipynb" and path.is_file():
            found.add(path)
        else:
            raise FileNotFoundError(f"{path} is neither a notebook nor a folder")
    return sorted(found)


def execute(notebook: NotebookNode, folder: Path, timeout: float) -> NotebookNode:
    """A copy with fresh outputs; raises what nbclient raises for a failing cell."""
    fresh = copy.deepcopy(notebook)
    client = NotebookClient(
        fresh,
        kernel_manager_class=SameInterpreter,
        timeout=timeout,
        record_timing=False,
        force_raise_errors=True,  # a cell tagged raises-exception is a failure too: nothing may be hidden
        coalesce_streams=True,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()
    # The kernel also names its version, which would change with every machine.
    fresh.metadata["language_info"] = {"name": "python"}
    return fresh


def text_of(cell: NotebookNode) -> str:
    """Everything that a cell prints or shows as text, stderr included; an image counts as one line."""
    pieces: list[str] = []
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            pieces.append(output.text)
        elif output.output_type in ("display_data", "execute_result"):
            if PNG_TYPE in output.data:
                pieces.append("<figure>\n")
            else:
                kinds = [kind for kind in TEXT_TYPES if kind in output.data]
                pieces += [output.data[kinds[0]], "\n"] if kinds else []
    return "".join(pieces)


def changes(stored: NotebookNode, fresh: NotebookNode) -> Iterator[str]:
    """A diff for each cell tagged `deterministic` with another text than the notebook stores."""
    for index, (old, new) in enumerate(zip(stored.cells, fresh.cells, strict=True)):
        if TAG not in old.metadata.get("tags", []):
            continue
        before, after = text_of(old), text_of(new)
        if before != after:
            texts = before.splitlines(), after.splitlines()
            lines = unified_diff(*texts, fromfile="stored", tofile="executed", lineterm="", n=1)
            yield f"cell {index}:\n" + "\n".join(f"    {line}" for line in lines)


def unrepeatable(notebook: NotebookNode) -> str | None:
    """The commit with changes that an output names, or None: what it shows could not be repeated."""
    found = (DIRTY.search(text_of(cell)) for cell in notebook.cells)
    return next((match[0] for match in found if match), None)


def run(path: Path, *, check: bool, timeout: float) -> tuple[bool, NotebookNode | None]:
    """Whether all is well, and the executed notebook, None too where it was left out."""
    stored = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    missing = [name for name in stored.metadata.get(NEEDS, []) if find_spec(name) is None]
    if missing:
        print(f"{path}: left out, as {', '.join(missing)} is not installed")
        return True, None
    start = time.perf_counter()
    try:
        fresh = execute(stored, path.parent, timeout)
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        print(f"{path}: FAILED\n{ANSI_COLOUR.sub('', str(error))}", file=sys.stderr)
        return False, None
    seconds = time.perf_counter() - start
    found = list(changes(stored, fresh)) if check else []
    for change in found:
        print(f"{path}: {change}", file=sys.stderr)
    checked = sum(TAG in cell.metadata.get("tags", []) for cell in stored.cells)
    outcome = f", {checked} cells compared, {len(found)} changed" if check else ""
    print(f"{path}: executed in {seconds:.1f} s{outcome}")
    return not found, fresh


def write(executed: dict[Path, NotebookNode]) -> bool:
    """Store the outputs in the files, all or none: a file that is written first would make the tree of the next one dirty."""
    dirty = {path: commit for path, notebook in executed.items() if (commit := unrepeatable(notebook))}
    for path, commit in dirty.items():
        print(f"{path}: not written, it shows figures of {commit}: commit the changes first", file=sys.stderr)
    if dirty:
        return False
    for path, notebook in executed.items():
        nbformat.write(notebook, path)  # type: ignore[no-untyped-call]
        print(f"{path}: written")
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="+", type=Path, help="notebooks or folders")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true", help=f"compare the text of the cells tagged {TAG!r}")
    mode.add_argument("--write", action="store_true", help="store the outputs in the notebooks")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds per cell (default 300)")
    options = parser.parse_args(arguments)
    try:
        notebooks = find_notebooks(options.paths)
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    if not notebooks:
        print("no notebooks found", file=sys.stderr)
        return 2
    outcomes = {path: run(path, check=options.check, timeout=options.timeout) for path in notebooks}
    good = all(well for well, _ in outcomes.values())
    if options.write:
        good &= write({path: fresh for path, (_, fresh) in outcomes.items() if fresh is not None})
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
