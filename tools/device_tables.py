"""Write the tables of README.md and docs/performance from the data in docs/data.

    python tools/device_tables.py                  write the tables
    python tools/device_tables.py --take FILE      first take FILE, which benchmarks/speed.py wrote, as docs/data/h200.json;
                                                   or benchmarks/modes.py, as docs/data/h200_modes.json, or
                                                   benchmarks/scaling.py, as docs/data/scaling.json
    python tools/device_tables.py --model          first write docs/data/modelled.json: what the model gives for GPUs that
                                                   nothing was measured on (benchmarks/common/paper_model.py and
                                                   benchmarks/cluster/projections.py; needs ozfp4)
    python tools/device_tables.py --check          write nothing; exit status 1 if a page disagrees with the data

A table stands between <!-- NAME --> and <!-- /NAME -->, NAME one of BLOCKS below; all text outside the markers is written by
hand. So are these files, from measurements that other programs print: cublas.json and peers.json (other libraries), cpu.json
(benchmarks/cpu.py), kinds.json (benchmarks/modes.py --kinds ''), h200_products.json (benchmarks/gpu_products.py and replayed
graphs). Each file names machine, commit and date. tools/device_figures.py draws the same data.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "data"
DATA, MODES, SCALING, MODELLED = (
    FOLDER / f"{name}.json" for name in ("h200", "h200_modes", "scaling", "modelled")
)
FIGURES = ROOT / "docs" / "figures"
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs" / "performance").glob("*.md")))

Results = dict[str, Any]
Row = dict[str, Any]

# Methods of benchmarks/speed.py.
NATIVE, INT8, FP4, CUBLAS_55 = "torch-cuda", "cuda-II-int8-least", "cuda-II-fp4-least", "cublas-55"
STAGES = ("scale ms", "encode ms", "multiply ms", "reconstruct ms")
# Nominal rate of the INT8 units of an H200 over the INT8 products that "standard" makes of normal operands.
INT8_LIMIT = 1979 / 16


def load(path: Path) -> Results:
    """The file of benchmarks/speed.py, modes.py or scaling.py; ValueError with the reason if it is something else."""
    try:
        results = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: not JSON: {error}") from None
    if isinstance(results, dict) and "machine" in results:  # what programs with -o write
        results = results.pop("machine") | results
    rows = results.get("rows") if isinstance(results, dict) else None
    if rows is None or "device" not in results:
        raise ValueError(
            f"{path}: not a file of benchmarks/speed.py, modes.py or scaling.py: device or rows is missing"
        )
    if not any("TFLOPS" in row for row in rows):
        raise ValueError(f"{path}: no measured row")
    return results


def read(name: str) -> Results:
    """A file of docs/data by its name without suffix."""
    found: Results = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


def check_commit(source: Path, about: dict[str, Any], *, known: bool) -> None:
    """ValueError for measurements that cannot be repeated: of a tree with changes; with `known` also of no known commit."""
    commit = about.get("commit")
    if commit is None and known:
        raise ValueError(f"{source}: it names no commit: measure from a checkout, PYTHONPATH=src")
    if commit is not None and commit.endswith("-dirty"):
        raise ValueError(
            f"{source}: measured with changes that no commit has ({commit}): commit them and measure again"
        )


def _place(results: Results) -> Path:
    if "ranks" in results:
        return SCALING
    return MODES if any("operands" in row for row in results["rows"]) else DATA


def save(results: Results, path: Path) -> None:
    """The same values, a row a line."""
    parts = []
    for name, value in results.items():
        if isinstance(value, list):
            rows = ",\n  ".join(json.dumps(row) for row in value)
            parts.append(f'"{name}": [\n  {rows}\n ]' if value else f'"{name}": []')
        else:
            parts.append(f'"{name}": {json.dumps(value)}')
    path.write_text("{" + ",\n ".join(parts) + "}\n", encoding="utf-8")


def model() -> Results:
    """Modelled speeds: products by the backend that is fastest on a GPU, and groups of GPUs."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from cluster import projections
    from common import device_rates, paper_model

    rows = []
    for name in ("H200", "A100 SXM", "RTX 4090", "RTX 5090", "RTX PRO 6000", "B200", "B300"):
        rates = device_rates.device_rates(name)
        assert rates is not None
        for n in (1024, 2048, 4096, 8192, 16384):
            field = {c.alphabet: c for c in paper_model.contenders(n) if c.name in ("INT8", "FP4 least")}
            speeds = {
                unit: paper_model.projection(c, rates, n, device_rates.ATTAINED) for unit, c in field.items()
            }
            unit = max(speeds, key=lambda unit: speeds[unit])
            ratio = speeds[unit] / rates.fp64
            rows.append(
                {"device": name, "unit": unit.upper(), "products": field[unit].products, "N": n,
                 "TFLOPS": round(speeds[unit], 2), "native": rates.fp64, "relative": round(ratio, 3)}
            )  # fmt: skip
    return {
        "command": "python tools/device_tables.py --model",
        "attained": device_rates.ATTAINED,
        "rows": rows,
        "clusters": projections.rows(),
    }


# ---- Tables ------------------------------------------------------------------------------------------------


def _table(head: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    """A table of Markdown, with columns of numbers at the right."""
    columns = list(zip(head, *lines, strict=True))
    numbers = [all(re.fullmatch(r"-|[-+]?\d[\d. ]*%?", cell) for cell in column[1:]) for column in columns]
    rule = ["---:" if is_number else "---" for is_number in numbers]
    first, *rest = zip(*columns, strict=True)
    return "\n".join("| " + " | ".join(line) + " |" for line in (first, rule, *rest))


def _number(x: float | None, digits: int = 1) -> str:
    return "-" if x is None else f"{x:.{digits}f}"


def _three(x: float | None) -> str:
    """Three digits.

    >>> [_three(x) for x in (0.0648, 1.1, 166.4, 12345.0)]
    ['0.0648', '1.10', '166', '12345']
    """
    if x is None:
        return "-"
    whole = len(str(int(x))) if x >= 1 else 0
    return f"{x:.{max(3 - whole, 0)}f}" if whole else f"{x:.3g}"


def _measured(results: Results) -> str:
    """Commit and date."""
    return f"{results.get('commit') or 'unknown'}, {results['date']}"


def _modes() -> dict[str, dict[int, Row]]:
    """Rows of normal operands of benchmarks/modes.py by accuracy and N."""
    found: dict[str, dict[int, Row]] = {}
    for row in load(MODES)["rows"]:
        if row["operands"] == "normal" and "ms" in row:
            found.setdefault(row["method"], {})[row["N"]] = row
    return found


class Speed(NamedTuple):
    """How fast products are on a machine, in times of its native FP64."""

    hardware: str
    relative: dict[int, float]
    status: str
    is_modelled: bool = False


def speeds() -> list[Speed]:
    """All hardware, measured first."""
    modes = _modes()
    native, standard = modes["native"], modes["standard"]
    h200 = load(MODES)
    kinds = read("kinds")
    normal = [row for row in kinds["gpu"] if row["operands"] == "normal"]
    found = [
        Speed(
            "H200, INT8 units",
            {n: native[n]["ms"] / standard[n]["ms"] for n in standard},
            f"measured, {_measured(h200)}",
        ),
        Speed(
            "H100, INT8 units",
            {row["N"]: row["native ms"] / row["standard ms"] for row in normal},
            f"measured, {kinds['gpu machine']['short']}",
        ),
    ]
    cpu = read("cpu")
    for machine in cpu["machines"]:
        rows = [row for row in cpu["squares"] if row["unit"] == machine["unit"]]
        is_standard = any("standard ms" in row for row in rows)
        accuracy, then = ("", " (default then)") if is_standard else (', `"scaled"`', "")
        relative = {
            row["N"]: row["native ms"] / row["standard ms"] if is_standard else 1 / row["x native"]
            for row in rows
        }
        cores = f"{machine['threads']} threads of an {machine['short']}"
        when = _measured(machine) if machine["commit"] else machine["date"]
        found.append(Speed(cores, relative, f"measured{accuracy}, {when}{then}"))
    of_model = [row for row in read("modelled")["rows"] if row["device"] != "H200"]  # which is measured
    for device in dict.fromkeys(row["device"] for row in of_model):
        rows = [row for row in of_model if row["device"] == device]
        found.append(
            Speed(
                f"{device}, {rows[0]['unit']} units",
                {row["N"]: row["relative"] for row in rows},
                "modelled without chains, *not run on hardware*",
                True,
            )
        )
    return found


def hardware() -> str:
    """Relative speed of the default accuracy by hardware."""
    sizes = (1024, 2048, 4096, 16384)
    lines = []
    for speed in speeds():
        cells = [_times(speed.relative[n]) if n in speed.relative else "-" for n in sizes]
        lines.append([speed.hardware, *cells, speed.status])
    return _table(["speed relative to native FP64, N =", *map(str, sizes), "status"], lines)


def _times(x: float) -> str:
    """Two digits.

    >>> [_times(x) for x in (0.593, 1.41, 18.7, 108.1)]
    ['0.59', '1.4', '19', '108']
    """
    return f"{x:.2f}" if x < 1 else f"{x:.1f}" if x < 10 else f"{x:.0f}"


def methods() -> list[tuple[str, dict[int, float]]]:
    """Label and TFLOPS by N of whole products on an H200."""
    modes, speed, cublas = _modes(), load(DATA), read("cublas")
    by_method: dict[str, dict[int, float]] = {}
    for row in speed["rows"]:
        if "TFLOPS" in row:
            by_method.setdefault(row["method"], {})[row["N"]] = row["TFLOPS"]
    newest = {
        kind: {row["N"]: row[kind] for row in cublas["rows"]} for kind in ("native", "55 bits", "dynamic")
    }
    name = f"cuBLAS {cublas['cuBLAS']}"
    return [
        ("native FP64 (cuBLAS DGEMM)", {n: row["TFLOPS"] for n, row in modes["native"].items()}),
        *(
            (f'ozfp4 `"{mode}"`', {n: row["TFLOPS"] for n, row in modes[mode].items()})
            for mode in ("standard", "correct", "scaled")
        ),
        ('ozfp4 `"scaled"`, FP4 planes on INT8 units', by_method[FP4]),
        (f"cuBLAS of torch {speed['torch']}, 55 bits", by_method[CUBLAS_55]),
        (f"{name}, 55 bits", newest["55 bits"]),
        (f"{name}, dynamic", newest["dynamic"]),
        (f"{name}, native FP64", newest["native"]),
    ]


def _products(shown: Callable[[str], bool]) -> str:
    sizes = sorted(_modes()["native"])
    lines = [[label, *(_number(values.get(n)) for n in sizes)] for label, values in methods() if shown(label)]
    return _table(["TFLOPS, N =", *map(str, sizes)], lines)


def whole_products() -> str:
    """TFLOPS of whole products by method and size."""
    return _products(lambda _: True)


def overview() -> str:
    """The same of native FP64, the accuracies that promise its bound, and cuBLAS's emulation."""
    newest = f"cuBLAS {read('cublas')['cuBLAS']}, 55 bits"
    return _products(
        lambda label: label.startswith(("native", 'ozfp4 `"standard"', 'ozfp4 `"correct"', newest))
    )


def stage_rows(results: Results, method: str = INT8) -> list[Row]:
    """The rows of a method that hold the times of stages."""
    return [row for row in results["rows"] if "multiply ms" in row and row["method"] == method]


def stages() -> str:
    """Time of each stage of a product by INT8 units."""
    lines = [
        [str(row["N"]), *(_three(row[name]) for name in STAGES), _three(row["ms"]), str(row["multiply TOPS"])]
        for row in stage_rows(load(DATA))
    ]
    head = ["N", *(name.removesuffix(" ms") for name in STAGES), "whole call", "multiply, TOPS"]
    return _table([f"ms, {head[0]} =", *head[1:]], lines)


# The kinds of operands that a page shows.
SHOWN = (
    "normal", "covariance x covariance", "eigenvectors: (Q W) Q^T", "X^T X, features in unlike units", "sparse x sparse",
    "banded x banded", "lognormal(8), signed", "integers up to 100",
)  # fmt: skip


def gpu_kinds() -> str:
    """Milliseconds of each accuracy by operands, on a GPU."""
    rows = {row["operands"]: row for row in read("kinds")["gpu"] if row["N"] == 4096}
    lines = [
        [kind, *(f"{rows[kind][f'{name} ms']:.2f}" for name in ("native", "scaled", "standard")),
         _three(rows[kind]['correct / native'] * rows[kind]['native ms']), f"{rows[kind]['chains %']:.1f}"]
        for kind in SHOWN
    ]  # fmt: skip
    head = ["native", '`"scaled"`, 57 bits', '`"standard"`', '`"correct"`', "chains, %"]
    return _table(["operands, ms at N = 4096", *head], lines)


def cpu_kinds() -> str:
    """The same on a CPU."""
    rows = {row["operands"]: row for row in read("kinds")["cpu"] if row["N"] == 1024}
    lines = [
        [kind, *(f"{rows[kind][f'{name} ms']:.0f}" for name in ("native", "scaled", "standard", "correct"))]
        for kind in SHOWN
        if kind not in ("banded x banded", "eigenvectors: (Q W) Q^T")
    ]
    return _table(
        ["operands, ms at N = 1024", "np.matmul", '`"scaled"`, 57 bits', '`"standard"`', '`"correct"`'], lines
    )


def shapes() -> str:
    """Small, thin and stacked products."""
    lines = [
        [row["m × k × n"], _three(row["native us"]), _three(row["scaled us"]),
         f"{row['native us'] / row['scaled us']:.2f}"]
        for row in read("h200_products")["shapes"]
    ]  # fmt: skip
    return _table(["m × k × n, µs", "native", "ozfp4", "relative speed"], lines)


def other_products() -> str:
    """Complex, integer, Gram and prepared products."""
    lines = [
        [row["product"], str(row["N"]), _three(row["ms"]), row["compared with"]]
        for row in read("h200_products")["products"]
    ]
    return _table(["product", "N", "ms", "compared with"], lines)


def memory() -> str:
    """Products within the default workspace limit, against a limit of 60 GiB."""
    lines = [
        [row["product"], str(row["N"]), _number(row.get("GiB")), _number(row.get("GiB at 60")),
         f"{row['time']:.2f}"]
        for row in read("h200_products")["memory"]
    ]  # fmt: skip
    return _table(["product", "N", "GiB within 8", "GiB within 60", "relative time"], lines)


def warp_level() -> str:
    """Multiply kernels of GPUs without wgmma, on an H200."""
    lines = [
        [f"`{row['kernel']}`", row["tile"], str(row["us"]), str(row["TOPS"]),
         f"{100 * row['shared clocks'] / row['loop clocks']:.0f} %"]
        for row in read("h200_products")["warp"]
    ]  # fmt: skip
    return _table(["kernel", "tile", "µs", "TOPS", "shared memory busy, at the limit"], lines)


def modelled() -> str:
    """TFLOPS on GPUs that nothing was measured on."""
    rows = read("modelled")["rows"]
    sizes = sorted({row["N"] for row in rows})
    lines = []
    for device in dict.fromkeys(row["device"] for row in rows):
        own = {row["N"]: row for row in rows if row["device"] == device}
        last = own[max(own)]
        lines.append(
            [
                device,
                last["unit"],
                str(last["products"]),
                *(_three(own[n]["TFLOPS"]) for n in sizes),
                f"{last['native']:g}",
            ]
        )
    products = f"products, {sizes[-1]}"
    return _table(
        ["modelled TFLOPS, N =", "units", products, *map(str, sizes), "native FP64, nominal"], lines
    )


# ---- CPUs --------------------------------------------------------------------------------------------------


def cpu_machines() -> str:
    """A list of the machines."""
    lines = []
    for machine in read("cpu")["machines"]:
        parts = [f"{machine['threads']} threads"]
        parts += [f"NumPy {machine['numpy']}"] if machine["numpy"] else []
        parts += [f"commit {machine['commit']}"] if machine["commit"] else []
        lines.append(f"- **{machine['unit']}**: {machine['cpu']}; {', '.join([*parts, machine['date']])}.")
    return "\n".join(lines)


def cpu_squares() -> str:
    """Milliseconds of np.matmul and ozfp4 by CPU and size."""
    lines = []
    for row in read("cpu")["squares"]:
        times = [row.get(f"{name} ms") for name in ("native", "scaled", "standard", "correct")]
        scaled = times[1] if times[1] is not None else float(f"{row['x native'] * row['native ms']:.3g}")
        lines.append(
            [row["unit"], str(row["N"]), _three(times[0]), _three(scaled), _three(times[2]), _three(times[3]),
             _times(1 / row["x native"])]
        )  # fmt: skip
    head = ["ms", "N", "np.matmul", '`"scaled"`', '`"standard"`', '`"correct"`', 'relative speed, `"scaled"`']
    return _table(head, lines)


def cpu_small() -> str:
    """Microseconds of small products."""
    lines = [
        [
            row["unit"],
            str(row["N"]),
            *(_three(row[f"{name} us"]) for name in ("native", "scaled", "standard", "correct")),
        ]
        for row in read("cpu")["small"]
        if row["N"] in (16, 64, 256)
    ]
    return _table(["µs", "N", "np.matmul", '`"scaled"`', '`"standard"`', '`"correct"`'], lines)


def cpu_integers() -> str:
    """Milliseconds of integer products."""
    lines = [
        [row["operands"], f"{row['ozfp4 ms']:g}", f"{row['NumPy ms']:g}", str(row["NumPy / ozfp4"])]
        for row in read("cpu")["integers"]
    ]
    return _table(["operands, N = 1024", "ozfp4, ms", "np.matmul, ms", "relative speed"], lines)


# ---- Several GPUs ------------------------------------------------------------------------------------------


def case(row: Row) -> str:
    """How the operands of a product over ranks lie, and the way that cuts of K go."""
    words = f"A {row['a']}, B {row['b']}"
    return words if row["method"] == "auto" else f"{words}, {row['method']}"


def scaling_sentence() -> str:
    """The largest strong scaling of all ranks, in words."""
    found = load(SCALING)
    rows = [
        r for r in found["rows"] if r["kind"] == "strong" and "speed-up" in r and r["ranks"] == found["ranks"]
    ]
    n = max(row["N"] for row in rows)
    here = [row for row in rows if row["N"] == n]
    best = max(here, key=lambda row: row["speed-up"])
    is_equal = all(row.get("bits equal", True) for row in found["rows"])
    return (
        f"{found['ranks']} × {found['device']}, N = {n}: **{best['TFLOPS']:.0f} TFLOPS**, "
        f"{best['speed-up']:.2f} times one ({case(best)}); the slowest layout {min(row['speed-up'] for row in here):.2f} times. "
        f"All bits are those of one GPU: {'yes' if is_equal else '**no**'}. {_measured(found)}."
    )


def scaling_products() -> str:
    """Measured products over ranks, and the model's time."""
    rows, lines = load(SCALING)["rows"], []
    n = max(row["N"] for row in rows)
    for row in rows:
        if "model ms" in row and row["kind"] == "strong" and row["N"] == n:
            lines.append(
                [case(row), f"{row['ms']:.1f}", f"{row['speed-up']:.2f}", f"{row['received GB']:.2f}",
                 f"{row['percent']:+.1f} %"]
            )  # fmt: skip
    return _table([f"layout, N = {n}", "ms", "times one GPU", "received, GB", "over the model"], lines)


def scaling_paper() -> str:
    """Modelled speed of 8, 64 and 512 GPUs."""
    lines = [
        [str(row["ranks"]), row["mesh"], row["waits for"],
         f"{100 * row['efficiency']:.0f} to {100 * row['hidden efficiency']:.0f} %", _rounded(row["links bound up to"])]
        for row in read("modelled")["clusters"]
        if row["GPU"] == "H200"
    ]  # fmt: skip
    head = ["H200, modelled: GPUs", "mesh", "bound by", "speed of a GPU alone", "links bound up to N"]
    return _table(head, lines)


def _rounded(n: int) -> str:
    return f"{float(f'{n:.2g}'):,.0f}".replace(",", " ") if n else "-"


# ---- Other libraries ---------------------------------------------------------------------------------------


def peers_speed() -> str:
    """TFLOPS of other libraries on one card, cuBLAS's on another."""
    sizes, peers, cublas = (1024, 2048, 4096, 8192, 16384), read("peers"), read("cublas")
    lines = []
    for row in peers["TFLOPS"]:
        label = f"{row['method']} ({row['commit']})" if "commit" in row else row["method"]
        lines.append(["1", label, *(_number(row[str(n)]) for n in sizes)])
    values = {
        kind: {row["N"]: row[kind] for row in cublas["rows"]} for kind in ("native", "55 bits", "dynamic")
    }
    labels = {"native": "native FP64 (cuBLAS DGEMM)"} | {
        kind: f"cuBLAS {cublas['cuBLAS']}, {kind}" for kind in ("55 bits", "dynamic")
    }
    lines += [["2", labels[kind], *(_number(values[kind][n]) for n in sizes)] for kind in values]
    return _table(["card", "TFLOPS, N =", *map(str, sizes)], lines)


def _bits(path: str, methods: dict[str, str], spreads: Iterable[int]) -> list[list[str]]:
    found = json.loads((FIGURES / path / "accuracy.json").read_text(encoding="utf-8"))["rows"]
    cells = {(row["method"], row["phi"]): row["bits"] for row in found}
    return [[label, *(f"{cells[name, phi]:.1f}" for phi in spreads)] for name, label in methods.items()]


def peers_bits() -> str:
    """Effective bits by the spread of exponents: ozfp4's on a CPU, as on every device, others' on an H200."""
    spreads = (0, 4, 8, 16, 32)
    ours = {
        "correct": 'ozfp4 `"correct"`',
        "standard": 'ozfp4 `"standard"`',
        "II-int8-least": 'ozfp4 `"scaled"`',
    }
    others = {
        "torch-cuda": "native FP64 (cuBLAS 13.1)",
        "cublas-55": "cuBLAS 13.1 emulation, 55 bits",
        "cublas-dynamic": "cuBLAS 13.1 emulation, dynamic",
    }
    lines = [*_bits("cpu", ours, spreads), *_bits("h200", others, spreads)]
    lines += [[row["method"], *(_number(row[str(phi)]) for phi in spreads)] for row in read("peers")["bits"]]
    return _table(["effective bits, φ =", *map(str, spreads)], lines)


BLOCKS: dict[str, Callable[[], str]] = {
    "hardware-table": hardware,
    "gpu-overview": overview,
    "gpu-table": whole_products,
    "gpu-stages": stages,
    "gpu-kinds": gpu_kinds,
    "gpu-shapes": shapes,
    "gpu-products": other_products,
    "gpu-memory": memory,
    "gpu-warp": warp_level,
    "gpu-modelled": modelled,
    "cpu-machines": cpu_machines,
    "cpu-table": cpu_squares,
    "cpu-small": cpu_small,
    "cpu-kinds": cpu_kinds,
    "cpu-integers": cpu_integers,
    "scaling-sentence": scaling_sentence,
    "scaling-products": scaling_products,
    "scaling-paper": scaling_paper,
    "peers-speed": peers_speed,
    "peers-bits": peers_bits,
}


# ---- Pages -------------------------------------------------------------------------------------------------


def rewrite(text: str) -> str:
    """The page with every table that it has markers for; ValueError for a marker that is unknown or not closed."""
    for name in re.findall(r"<!-- (?:gpu|cpu|hardware|scaling|peers)-[\w-]+ -->", text):
        if name[5:-4] not in BLOCKS:
            raise ValueError(f"{name} is no table; there are {', '.join(BLOCKS)}")
    for name, block in BLOCKS.items():
        start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        if text.count(start) != text.count(end):
            raise ValueError(f"{start} and {end} do not pair")
        if start in text:
            body = block()
            text = re.sub(
                f"{re.escape(start)}.*?{re.escape(end)}",
                lambda _, s=start, b=body, e=end: f"{s}\n\n{b}\n\n{e}",  # type: ignore[misc]
                text,
                flags=re.DOTALL,
            )
    return text


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--take", type=Path, metavar="FILE", help="measurements to take over")
    parser.add_argument("--model", action="store_true", help="write docs/data/modelled.json first")
    parser.add_argument("--check", action="store_true", help="compare only")
    options = parser.parse_args(arguments)
    try:
        if options.take:
            taken = load(options.take)
            check_commit(options.take, taken, known=True)
            save(taken, _place(taken))
        if options.model:
            save(model(), MODELLED)
        fresh = {path: rewrite(path.read_text(encoding="utf-8")) for path in PAGES if path.exists()}
    except (OSError, ValueError) as error:
        print(f"device_tables: {error}", file=sys.stderr)
        return 2
    stale = [path for path, text in fresh.items() if path.read_text(encoding="utf-8") != text]
    for path in stale:
        if options.check:
            print(f"{path.relative_to(ROOT)} disagrees with {FOLDER.relative_to(ROOT)}", file=sys.stderr)
        else:
            path.write_text(fresh[path], encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")
    return 1 if stale and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
