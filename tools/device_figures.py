"""Draw the figures of docs/figures/h200: speed and stages from docs/data/h200.json, others from the data that lie there; and
docs/figures/scaling from docs/data/scaling.json.

accuracy.json, model.json and breakdown.json are what accuracy.py, model.py and breakdown.py of benchmarks wrote on the
device (with --no-figures where it has no matplotlib); those that are missing are left out.

    python tools/device_figures.py

Needs matplotlib and ozfp4 (installed, or PYTHONPATH=src). tools/device_tables.py writes the tables of the same data.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import device_tables

sys.path.insert(0, str(device_tables.ROOT / "benchmarks"))

from figures import accuracy, breakdown, model, scaling, speed, style

FOLDER = device_tables.FIGURES


def figure_data(measured: dict[str, Any]) -> dict[str, Any]:
    """The measurements of benchmarks/speed.py as benchmarks/figures takes them, with the newest cuBLAS."""
    rows = [row for row in measured["rows"] if "TFLOPS" in row]
    methods = dict.fromkeys(row["method"] for row in rows)
    labels = {name: device_tables.LABELS.get(name, name).replace("`", "") for name in methods}
    if measured.get("torch"):
        labels = {name: label.replace("cuBLAS emulation", "torch's cuBLAS") for name, label in labels.items()}
    sizes = {row["N"] for row in rows}
    for label, values in device_tables.newest_cublas(measured).items():
        labels[label] = label.replace(" emulation", "").replace("another", "other")
        rows += [{"N": n, "method": label, "TFLOPS": x} for n, x in values.items() if n in sizes]
    return {"machine": measured, "labels": labels, "rows": rows}


def figures(results: dict[str, Any]) -> Iterator[tuple[Path, Any]]:
    """Places, without a suffix, and figures of everything that there are data for."""
    yield FOLDER / "speed", speed.speeds(results)
    if any("multiply ms" in row for row in results["rows"]):
        yield FOLDER / "stages", speed.stages(results)
    if device_tables.SCALING.exists():
        found = device_tables.load(device_tables.SCALING)
        device_tables.check_commit(device_tables.SCALING, found, known=True)
        yield FOLDER.parent / "scaling", scaling.measured({"machine": found, "rows": found["rows"]})
    makers = {
        "accuracy": accuracy.effective_bits,
        "model": model.predicted_and_measured,
        "breakdown": breakdown.breakdown,
    }
    for name, make in makers.items():
        path = FOLDER / f"{name}.json"
        if path.exists():
            found = json.loads(path.read_text(encoding="utf-8"))
            device_tables.check_commit(
                path, found["machine"], known=False
            )  # where there is none the figure says so
            yield FOLDER / name, make(found)


def main(arguments: list[str] | None = None) -> int:
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args(arguments)
    try:
        results = figure_data(device_tables.load(device_tables.DATA))
        device_tables.check_commit(device_tables.DATA, results["machine"], known=True)
        drawn = list(figures(results))
    except (OSError, ValueError) as error:
        print(f"device_figures: {error}", file=sys.stderr)
        return 2
    FOLDER.mkdir(parents=True, exist_ok=True)
    for place, figure in drawn:
        paths = style.save(figure, place.parent, place.name)
        print("wrote " + ", ".join(str(path.relative_to(device_tables.ROOT)) for path in paths))
    return 0


if __name__ == "__main__":
    sys.exit(main())
