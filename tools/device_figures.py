"""Draw the figures of README.md and docs from docs/data, and from the data in their own folders.

    python tools/device_figures.py

- devices: speed relative to native FP64 by hardware
- h200/speed, h200/stages: whole products and their stages
- h200/breakdown: gains of the optimisations, from h200/breakdown.json of benchmarks/breakdown.py --no-figures
- cpu/accuracy, cpu/grades: from cpu/accuracy.json and h200/accuracy.json of benchmarks/accuracy.py

Needs matplotlib and ozfp4 (installed, or PYTHONPATH=src). tools/device_tables.py writes the tables of the same data.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import device_tables

sys.path.insert(0, str(device_tables.ROOT / "benchmarks"))

from figures import accuracy, breakdown, speed, style

FOLDER = device_tables.FIGURES
H200, CPU = FOLDER / "h200", FOLDER / "cpu"
DRAWN = ("native", 'ozfp4 `"standard"`', 'ozfp4 `"correct"`', "cuBLAS of torch", "cuBLAS 13.10, 55 bits")
BITS = {"standard": 'ozfp4, "standard"', "II-int8-least": 'ozfp4, "scaled"', "numpy": "NumPy (OpenBLAS)"}
BITS_H200 = {
    "torch-cuda": "cuBLAS 13.1, FP64",
    "cublas-55": "cuBLAS 13.1, 55 bits",
    "cublas-dynamic": "cuBLAS 13.1, dynamic",
}


def devices() -> Any:
    """Every hardware at N = 16384, or 4096 where that is the largest of the table."""
    rows = []
    for found in device_tables.speeds():
        n = max(n for n in found.relative if n in (4096, 16384))
        name = re.sub(r" threads of an (AMD EPYC|Intel)", " threads,", found.hardware)
        rows.append((name, n, found.relative[n], found.is_modelled))
    text = "float64, normal(0, 1); CPUs against np.matmul, AMX and AVX2 with accuracy scaled, GPUs against cuBLAS DGEMM; "
    return speed.relative(rows, text + "modelled: without chains, against nominal native FP64")


def whole_products() -> Any:
    """TFLOPS against N on an H200."""
    found = [row for row in device_tables.methods() if row[0].startswith(DRAWN)]
    labels = {label: label.replace("`", "").removesuffix("(cuBLAS DGEMM)").strip() for label, _ in found}
    rows = [{"N": n, "method": label, "TFLOPS": x} for label, values in found for n, x in values.items()]
    about = device_tables.load(device_tables.MODES)
    note = (
        f"{about['device']}, 700 W, ozfp4 at {about['commit']}, {about['date']}; cuBLAS 13.10 on another H200"
    )
    limit = (device_tables.INT8_LIMIT, "nominal INT8 rate / 16 products")
    return speed.speeds({"labels": labels, "rows": rows, "note": note}, limit)


def effective_bits(cpu: dict[str, Any], h200: dict[str, Any]) -> Any:
    """Bits of ozfp4 and NumPy on a CPU, of cuBLAS on a GPU, for the same operands."""
    assert cpu["settings"] == h200["settings"]
    rows = [row for row in cpu["rows"] if row["method"] in BITS]
    rows += [row for row in h200["rows"] if row["method"] in BITS_H200]
    note = f"ozfp4 (same bits on every device) and NumPy at {cpu['machine']['commit']}, cuBLAS on an {h200['machine']['device']}"
    return accuracy.effective_bits(cpu | {"labels": BITS | BITS_H200, "rows": rows, "note": note})


def figures() -> Iterator[tuple[Path, Any]]:
    """Places, without a suffix, and figures."""
    measured = device_tables.load(device_tables.DATA)
    device_tables.check_commit(device_tables.DATA, measured, known=True)
    cpu, h200, steps = (
        json.loads(path.read_text(encoding="utf-8"))
        for path in (CPU / "accuracy.json", H200 / "accuracy.json", H200 / "breakdown.json")
    )
    for machine in (
        cpu["machine"],
        h200["machine"],
        steps["machine"],
        device_tables.load(device_tables.MODES),
    ):
        device_tables.check_commit(device_tables.FIGURES, machine, known=False)
    yield FOLDER / "devices", devices()
    yield H200 / "speed", whole_products()
    rows = device_tables.stage_rows(measured)
    yield (
        H200 / "stages",
        speed.stages({"labels": {row["method"]: "" for row in rows}, "rows": rows, "machine": measured}),
    )
    second = [row for row in steps["rows"] if row["scheme"] == "II"]
    yield H200 / "breakdown", breakdown.breakdown(steps | {"rows": second})
    yield CPU / "accuracy", effective_bits(cpu, h200)
    graded = [row for row in cpu["graded"] if row["method"] in BITS]
    yield CPU / "grades", accuracy.graded_errors(cpu | {"labels": BITS, "graded": graded})


def main(arguments: list[str] | None = None) -> int:
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args(arguments)
    try:
        drawn = list(figures())
    except (OSError, ValueError) as error:
        print(f"device_figures: {error}", file=sys.stderr)
        return 2
    for place, figure in drawn:
        print(f"wrote {style.save(figure, place.parent, place.name).relative_to(device_tables.ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
