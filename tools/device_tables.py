"""Write the GPU figures into README.md and pages of docs, from the measurements in docs/data/h200.json.

    python tools/device_tables.py                  write the tables
    python tools/device_tables.py --take FILE      first take FILE, which benchmarks/speed.py wrote, as docs/data/h200.json;
                                                   or benchmarks/modes.py, as docs/data/h200_modes.json, or
                                                   benchmarks/scaling.py, as docs/data/scaling.json
    python tools/device_tables.py --check          write nothing; exit status 1 if a page disagrees with the data

A table stands between <!-- NAME --> and <!-- /NAME -->, NAME one of gpu-table (whole calls), gpu-sentence (the largest of them in
words), gpu-stages (compute stage beside whole call), gpu-milliseconds (each stage), gpu-modes (what each accuracy costs),
gpu-model (predicted and measured, from benchmarks/model.py --device cuda, in docs/figures/h200), gpu-figures (the figures
there), scaling-sentence, scaling-links and scaling-products (several GPUs), scaling-paper (what is modelled of many, from
benchmarks/cluster/projections.py, which needs ozfp4), cpu-sentence and cpu-table (docs/data/cpu.json, written by hand from
benchmarks/cpu.py). Beside what benchmarks/speed.py measured with torch's cuBLAS stand the figures of the newest one, of
docs/data/cublas.json, which is written by hand as well. All text outside the markers is written by hand.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "docs" / "data" / "h200.json"
MODES = ROOT / "docs" / "data" / "h200_modes.json"
SCALING = ROOT / "docs" / "data" / "scaling.json"
CUBLAS = ROOT / "docs" / "data" / "cublas.json"
CPU = ROOT / "docs" / "data" / "cpu.json"
FIGURES = ROOT / "docs" / "figures" / "h200"
PAGES = (
    ROOT / "README.md",
    ROOT / "docs" / "performance" / "gpu.md",
    ROOT / "docs" / "performance" / "several-gpus.md",
)
NOT_MEASURED = "Not measured in the present data."

Results = dict[str, Any]
Row = dict[str, Any]

# How tables call the methods of benchmarks/speed.py; others keep the name that they have there.
NATIVE, INT8, CUBLAS_55 = "torch-cuda", "cuda-II-int8-least", "cublas-55"
LABELS = {
    NATIVE: "native FP64 (cuBLAS DGEMM)",
    INT8: "ozfp4 `int8`",
    "cuda-II-fp4-least": "ozfp4 `fp4`, least",
    "cuda-II-fp4-paper": "ozfp4 `fp4`, paper",
    "cuda-II-fp4-paper-karatsuba": "ozfp4 `fp4`, paper and Karatsuba",
    "cuda-I-fp4-least": "ozfp4 scheme I `fp4`",
    "cuda-I-int8-least": "ozfp4 scheme I `int8`",
    "cuda-auto": "ozfp4, the backend by default",
    CUBLAS_55: "cuBLAS emulation, 55 bits",
    "cublas-dynamic": "cuBLAS emulation, dynamic",
    "gemmul8": "GEMMul8, 15 moduli",
}
STAGES = ("scale ms", "encode ms", "multiply ms", "reconstruct ms")


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


def read(path: Path) -> Results:
    """A file that is written by hand."""
    found: Results = json.loads(path.read_text(encoding="utf-8"))
    return found


def check_commit(source: Path, about: dict[str, Any], *, known: bool) -> None:
    """ValueError for measurements that nobody can repeat: of a tree with changes; with `known` also of no known commit."""
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


# ---- Tables ------------------------------------------------------------------------------------------------


def _machine(results: Results) -> str:
    named = [
        (name, results.get(name.lower())) for name in ("driver", "CUDA", "torch") if results.get(name.lower())
    ]
    named.append(("commit", results.get("commit") or "unknown"))
    parts = [results["device"], *(f"{name} {value}" for name, value in named), results["date"]]
    return ", ".join(parts) + (f"; {results['note']}" if results.get("note") else "") + ":"


def _sizes(rows: list[Row]) -> list[int]:
    return sorted({row["N"] for row in rows if isinstance(row["N"], int)})


def newest_cublas(results: Results) -> dict[str, dict[int, float]]:
    """TFLOPS of the newest cuBLAS on such a device, by label and size; empty where nothing is known of it."""
    found = read(CUBLAS) if CUBLAS.exists() else {}
    if found.get("device") != results["device"]:
        return {}
    return {
        f"cuBLAS {found['cuBLAS']} emulation, {name} (another card)": {
            row["N"]: row[name] for row in found["rows"]
        }
        for name in ("55 bits", "dynamic")
    }


def stage_rows(results: Results) -> list[Row]:
    """The rows that hold the times of stages."""
    return [row for row in results["rows"] if "multiply ms" in row]


def _label(results: Results, method: str) -> str:
    if method.startswith("cublas") and results.get("torch"):
        return f"{LABELS[method]} (of torch {results['torch']})"
    counts = sorted({row["products"] for row in stage_rows(results) if row["method"] == method})
    if not counts:
        return LABELS.get(method, method)
    text = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
    return f"{LABELS.get(method, method)} ({text} products)"


def _table(head: list[str], lines: list[list[str]]) -> str:
    rule = ["---", *("---:" for _ in head[1:])]
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, rule, *lines))


def _number(x: float | None) -> str:
    return "-" if x is None else f"{x:.1f}"


def sentence(results: Results) -> str:
    """The largest size at which both INT8 and native FP64 were measured, in words."""
    cells = {(row["N"], row["method"]): row["TFLOPS"] for row in results["rows"] if "TFLOPS" in row}
    n = max((n for n, method in cells if method == INT8 and (n, NATIVE) in cells), default=None)
    if n is None:
        return NOT_MEASURED
    has = []
    newest = {row["N"]: row for row in read(CUBLAS)["rows"]}.get(n) if newest_cublas(results) else None
    if newest is not None:
        another = f"on another card with native FP64 of {newest['native']:.1f},"
        has.append(f"{newest['55 bits']:.1f} in cuBLAS {read(CUBLAS)['cuBLAS']}, {another}")
    emulated = cells.get((n, CUBLAS_55))
    if emulated is not None and results.get("torch"):
        has.append(f"{emulated:.1f} in the cuBLAS that torch {results['torch']} brings")
    other = f" cuBLAS's emulation (55 bits) has {' and '.join(has).rstrip(',')}." if has else ""
    return (
        f'**{cells[n, INT8]:.1f} TFLOPS** at N = {n} on an {results["device"]} (`accuracy="scaled"`{_by_default(n)}), where '
        f"native FP64 has {cells[n, NATIVE]:.1f}.{other} Commit {results.get('commit') or 'unknown'}, {results['date']}."
    )


def _by_default(n: int) -> str:
    """TFLOPS of the default accuracy, of normal operands, where they were measured."""
    rows = load(MODES)["rows"] if MODES.exists() else []
    found = [row for row in rows if (row["N"], row["operands"], row["method"]) == (n, "normal", "standard")]
    return f"; {found[0]['TFLOPS']:.1f} by default" if found and "TFLOPS" in found[0] else ""


def whole_calls(results: Results) -> str:
    """TFLOPS of whole calls by method and size, with the reasons for what is missing."""
    sizes = _sizes(results["rows"])
    cells = {(row["method"], row["N"]): row for row in results["rows"]}
    methods = list(dict.fromkeys(row["method"] for row in results["rows"]))
    measured = [m for m in methods if any("TFLOPS" in cells.get((m, n), {}) for n in sizes)]
    lines = [
        [_label(results, m), *(_number(cells.get((m, n), {}).get("TFLOPS")) for n in sizes)] for m in measured
    ]
    lines += [
        [label, *(_number(values.get(n)) for n in sizes)] for label, values in newest_cublas(results).items()
    ]
    reasons = [
        f"Not measured: {LABELS.get(row['method'], row['method'])}, N = {row['N']}: {row['skipped']}"
        for row in results["rows"]
        if "skipped" in row
    ]
    table = _table(["TFLOPS", *map(str, sizes)], lines)
    return "\n\n".join([_machine(results), table, *reasons])


def compute_tflops(row: Row) -> float | None:
    """TFLOPS of multiply and reconstruct; None for a row without times."""
    if "multiply ms" not in row:
        return None
    return 2 * row["N"] ** 3 / (row["multiply ms"] + row["reconstruct ms"]) / 1e9


def compute_stage(results: Results) -> str:
    """The paper's table: compute stage and total; methods without stages count whole in both."""
    totals = {(row["method"], row["N"]): row for row in results["rows"] if "TFLOPS" in row}
    stages = {(row["method"], row["N"]): row for row in stage_rows(results)}
    sizes = _sizes(list(totals.values()))
    lines = []
    for method in dict.fromkeys(method for method, _ in totals):
        line = [_label(results, method)]
        own = any(name == method for name, _ in stages)
        for n in sizes:
            total = totals.get((method, n), {}).get("TFLOPS")
            line += [_number(compute_tflops(stages.get((method, n), {})) if own else total), _number(total)]
        lines.append(line)
    for label, values in newest_cublas(results).items():
        lines.append([label, *(_number(values.get(n)) for n in sizes for _ in range(2))])
    head = [text for n in sizes for text in (f"{n} compute", "total")]
    return f"{_machine(results)}\n\n{_table(['TFLOPS', *head], lines)}"


def milliseconds(results: Results) -> str:
    """Time of each stage, without the host's."""
    rows = stage_rows(results)
    if not rows:
        return "No times by stage in the present data."
    lines = [
        [LABELS.get(row["method"], row["method"]), str(row["N"]), str(row["products"]),
         *(f"{row[name]:.3f}" for name in STAGES), str(row.get("multiply TOPS", "-"))]
        for row in rows
    ]  # fmt: skip
    head = ["ms", "N", "products", *(name.removesuffix(" ms") for name in STAGES), "multiply, TOPS"]
    return f"{_machine(results)}\n\n{_table(head, lines)}"


def modes(_: Results) -> str:
    """Milliseconds of each accuracy beside native FP64, by operands, and what that is times another."""
    if not MODES.exists():
        return NOT_MEASURED
    found = load(MODES)
    rows = {(row["N"], row["operands"], row["method"]): row for row in found["rows"]}
    lines = []
    for n, kind in dict.fromkeys((row["N"], row["operands"]) for row in found["rows"]):
        own = {
            m: rows[n, kind, m]
            for m in ("native", "scaled", "standard", "correct")
            if "ms" in rows.get((n, kind, m), {})
        }
        line = [
            kind,
            str(n),
            *(
                f"{own[m]['ms']:.3f}" if m in own else "-"
                for m in ("native", "scaled", "standard", "correct")
            ),
        ]
        line += [
            str(own.get("standard", {}).get("x scaled", "-")),
            str(own.get("correct", {}).get("x native", "-")),
        ]
        line += [str(own.get(m, {}).get("products", "-")) for m in ("scaled", "standard", "correct")]
        lines.append([*line, *(str(own.get(m, {}).get("repaired", "-")) for m in ("standard", "correct"))])
    head = [
        "operands",
        "N",
        "native, ms",
        "scaled",
        "standard",
        "correct",
        "standard / scaled",
        "correct / native",
    ]
    head += ["products: scaled", "standard", "correct", "chains: standard", "repaired: correct"]
    return f"{_machine(found)}\n\n{_table(head, lines)}"


def predicted(results: Results) -> str:
    """The runtime model beside measurements of the same device, as benchmarks/model.py prints them."""
    path = FIGURES / "model.json"
    if not path.exists():
        return "No comparison of this device with the model in the present data."
    found = json.loads(path.read_text(encoding="utf-8"))
    rows = [row for row in found["measured"] if "percent" in row]
    lines = [
        [found["labels"][row["method"]], str(row["N"]), str(row["products"]), f"{row['rate'] / 1e12:.0f}",
         f"{row['model compute ms']:.3f}", f"{row['compute ms']:.3f}", f"{row['percent']:+.1f} %"]
        for row in rows
    ]  # fmt: skip
    head = ["compute stage", "N", "products", "R, TOPS", "model, ms", "measured, ms", "over the model"]
    return f"{_machine(found['machine'])}\n\n{_table(head, lines)}\n\n![Predicted and measured](../figures/h200/model.svg)"


def case(row: Row) -> str:
    """How the operands of a product over ranks lie, and the way that cuts of K go."""
    words = f"A {row['a']}, B {row['b']}"
    return words if row["method"] == "auto" else f"{words}, {row['method']}"


def scaling_sentence(_: Results) -> str:
    """The largest strong scaling of all ranks, B cut, in words."""
    if not SCALING.exists():
        return f"{NOT_MEASURED} What stands below is modelled."
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
        f"All bits are those of one GPU: {'yes' if is_equal else '**no**'}. "
        f"Commit {found.get('commit') or 'unknown'}, {found['date']}."
    )


def scaling_links(_: Results) -> str:
    """What a rank receives in collectives."""
    if not SCALING.exists():
        return NOT_MEASURED
    found = load(SCALING)
    names = ("all-gather GB/s", "all-to-all GB/s", "start us", "memory GB/s")
    lines = [
        [str(row["ranks"]), *(f"{row[name]:.1f}" for name in names)]
        for row in found["rows"]
        if row["kind"] == "links"
    ]
    return f"{_machine(found)}\n\n{_table(['GPUs', *names], lines).replace('start us', 'start, µs')}"


def scaling_products(_: Results) -> str:
    """Measured products over ranks beside the model, what was skipped and why, and the figure."""
    if not SCALING.exists():
        return NOT_MEASURED
    found, lines = load(SCALING), []
    for row in found["rows"]:
        if "ms" not in row:
            continue
        line = [row["kind"], case(row) if row["kind"] != "one" else "", str(row["N"]), str(row["ranks"])]
        line += [f"{row['ms']:.3f}", f"{row['TFLOPS']:.1f}"]
        line += [f"{row['speed-up']:.2f}" if "speed-up" in row else "-"]
        line += [f"{100 * row['efficiency']:.0f} %" if "efficiency" in row else "-"]
        if "model ms" in row:
            line += [f"{row['received GB']:.2f}", f"{row['model ms']:.3f}", f"{row['percent']:+.1f} %"]
            line += [f"{100 * row['hidden']:.0f} %" if row["moving ms"] else "-"]
        lines.append([*line, *["-"] * (12 - len(line))])
    head = [
        "scaling",
        "layout",
        "N",
        "GPUs",
        "ms",
        "TFLOPS",
        "times one",
        "of a GPU alone",
        "received, GB",
        "model, ms",
    ]
    table = _table([*head, "over the model", "hidden, modelled"], lines)
    reasons = [
        f"Not measured: {row['kind']}, {case(row)}, N = {row['N']}, {row['ranks']} GPUs: {_first_sentences(row['skipped'])}"
        for row in found["rows"]
        if "skipped" in row
    ]
    drawn = ["![Measured scaling and the model](../figures/scaling.svg)"]
    return "\n\n".join(
        [_machine(found), table, *reasons, *(drawn if (FIGURES.parent / "scaling.svg").exists() else [])]
    )


def _first_sentences(text: str) -> str:
    """Two: what torch says behind them is advice.

    >>> _first_sentences("CUDA out of memory. Tried to allocate 66.43 GiB. GPU 0 has less.")
    'CUDA out of memory. Tried to allocate 66.43 GiB.'
    """
    return " ".join(re.split(r"(?<=\.) ", text)[:2])


def scaling_paper(_: Results) -> str:
    """What is modelled of 8, 64 and 512 GPUs."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from cluster import projections

    times, shares = ("moving ms", "encode ms", "products ms"), ("efficiency", "hidden efficiency")
    sizes = ("links bound up to", "nine tenths from", "hidden nine tenths from")
    lines = [
        [row["GPU"], str(row["ranks"]), row["mesh"], row["waits for"], *(f"{row[name]:.3g}" for name in times),
         *(f"{100 * row[name]:.0f} %" for name in shares), *(_rounded(row[name]) for name in sizes)]
        for row in projections.rows()
    ]  # fmt: skip
    head = [
        "modelled",
        "GPUs",
        "mesh",
        "gathers wait for",
        "moving, ms",
        "encode, ms",
        "products, ms",
        "of a GPU alone",
    ]
    more = ["if hidden", "links bound up to N", "nine tenths from N", "if hidden"]
    return _table([*head, *more], lines)


def _rounded(n: int) -> str:
    return f"{float(f'{n:.2g}'):,.0f}".replace(",", " ") if n else "-"


def _times(x: float) -> str:
    return f"{x:.2f}" if x < 1 else f"{x:.1f}"


def cpu_sentence(_: Results) -> str:
    """What products of a few thousand take on CPUs, in times of np.matmul's."""
    parts = []
    for row in read(CPU)["rows"]:
        least, most = sorted(row[n] for n in ("2048", "4096"))
        parts.append(f"{_times(least)} to {_times(most)} {row['unit']}")
    first, middle, last = parts
    return (
        f"On a CPU a float64 product of N = 2048 to 4096 takes, in times of NumPy's, {first}, {middle}, and {last}; "
        "most smaller ones take 2 to 8 times as long."
    )


def cpu_table(_: Results) -> str:
    """Times np.matmul, by CPU and size."""
    sizes = ("1024", "2048", "4096", "8192")
    lines = [
        [f"{row['unit']}: {row['cpu']}; {row['at']}", *(_times(row[n]) if n in row else "-" for n in sizes)]
        for row in read(CPU)["rows"]
    ]
    return _table(["times np.matmul, scaled", *sizes], lines)


CAPTIONS = {
    "speed": "Whole calls",
    "stages": "Share of the stages",
    "breakdown": "What each optimisation brings",
    "accuracy": "Effective bits against the spread of exponents",
}


def figures(results: Results) -> str:
    """The figures that tools/device_figures.py drew, the model's left out."""
    drawn = [name for name in CAPTIONS if (FIGURES / f"{name}.svg").exists()]
    return "\n\n".join(f"![{CAPTIONS[name]}, {results['device']}](../figures/h200/{name}.svg)" for name in drawn)


BLOCKS: dict[str, Callable[[Results], str]] = {
    "gpu-sentence": sentence,
    "gpu-table": whole_calls,
    "gpu-stages": compute_stage,
    "gpu-milliseconds": milliseconds,
    "gpu-modes": modes,
    "gpu-model": predicted,
    "gpu-figures": figures,
    "scaling-sentence": scaling_sentence,
    "scaling-links": scaling_links,
    "scaling-products": scaling_products,
    "scaling-paper": scaling_paper,
    "cpu-sentence": cpu_sentence,
    "cpu-table": cpu_table,
}


# ---- Pages -------------------------------------------------------------------------------------------------


def rewrite(text: str, results: Results) -> str:
    """The page with every table that it has markers for; ValueError for a marker that is not closed."""
    for name, block in BLOCKS.items():
        start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        if text.count(start) != text.count(end):
            raise ValueError(f"{start} and {end} do not pair")
        body = block(results)
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
    parser.add_argument("--check", action="store_true", help="compare only")
    options = parser.parse_args(arguments)
    try:
        if options.take:
            taken = load(options.take)
            check_commit(options.take, taken, known=True)
            save(taken, _place(taken))
        results = load(DATA)
        fresh = {path: rewrite(path.read_text(encoding="utf-8"), results) for path in PAGES if path.exists()}
    except (OSError, ValueError) as error:
        print(f"device_tables: {error}", file=sys.stderr)
        return 2
    stale = [path for path, text in fresh.items() if path.read_text(encoding="utf-8") != text]
    for path in stale:
        if options.check:
            print(f"{path.relative_to(ROOT)} disagrees with {DATA.relative_to(ROOT)}", file=sys.stderr)
        else:
            path.write_text(fresh[path], encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")
    return 1 if stale and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
