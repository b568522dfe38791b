"""Draw the figures of docs/figures/h200 from the measurements in docs/data/h200.json: speed of whole calls, share of the stages.

    python tools/device_figures.py

Needs matplotlib and ozfp4 (installed, or PYTHONPATH=src). tools/device_tables.py writes the tables of the same data.
"""

from __future__ import annotations

import sys
from typing import Any

import device_tables

from ozfp4.bench.figures import speed, style

FOLDER = device_tables.ROOT / "docs" / "figures" / "h200"


def figure_data(measured: dict[str, Any]) -> dict[str, Any]:
    """The measurements of benchmarks/gpu.py as the figures of ozfp4.bench take them."""
    totals = [row for row in measured["totals"] if "TFLOPS" in row]
    methods = dict.fromkeys(row["method"] for row in totals)
    labels = {name: device_tables.LABELS.get(name, name).replace("`", "") for name in methods}
    stages = {(row["method"], row["N"]): row for row in measured["stages"]}
    rows = [stages.get((row["method"], row["N"]), {}) | row for row in totals]
    return {"machine": measured, "labels": labels, "rows": rows}


def main() -> int:
    try:
        results = figure_data(device_tables.load(device_tables.DATA))
    except (OSError, ValueError) as error:
        print(f"device_figures: {error}", file=sys.stderr)
        return 2
    FOLDER.mkdir(parents=True, exist_ok=True)
    figures = [("speed", speed.speeds(results))]
    if any("multiply ms" in row for row in results["rows"]):
        figures.append(("stages", speed.stages(results)))
    for name, figure in figures:
        paths = style.save(figure, FOLDER, name)
        print("wrote " + ", ".join(str(path.relative_to(device_tables.ROOT)) for path in paths))
    return 0


if __name__ == "__main__":
    sys.exit(main())
