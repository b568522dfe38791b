"""Measure how many bits are right, as in the paper's accuracy experiment, and grade the products.

Entries ±(1 + u) 2^e, e uniform in 0..phi; K = 8192, 128 x 128 results, every entry against exact integers, over sum
|a| |b|. Runs the accuracy modes "standard" and "correct", every scheme, backend and family of ozfp4 with 53 bits a row, NumPy,
torch, and on a GPU native FP64 and cuBLAS's emulation; GEMMul8 if its preload library is named. Then the tests of "How to
grade the accuracy of an implementation of the BLAS" (Demmel and others). Exit status 1 if two ways of ozfp4 that
promise the same differ in a single bit.

  ozfp4 accuracy -o results             table, accuracy.json, accuracy.csv, figures
  ozfp4 accuracy --phi 0 32 --methods II-fp4-paper I-fp4-least numpy
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..experiment import (
    add_output_arguments,
    draw,
    natural,
    positive,
    prepare_output,
    report_at_the_end,
    rows_file,
    say_resumed,
)
from ..progress import Progress
from ..tables import show

if TYPE_CHECKING:
    from ...bench.methods import Method
    from ...bench.rows import Row, RowStore

LARGEST_PHI = 500  # beyond, products of two entries leave the range of FP64


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``ozfp4 accuracy``."""
    parser.add_argument(
        "--phi", type=natural, nargs="+", metavar="PHI", help="spreads of the exponents; default 0 to 64"
    )
    parser.add_argument("--wide", action="store_true", help="go on to phi = 200")
    parser.add_argument("--k", type=positive, default=8192, help="inner dimension; default 8192")
    parser.add_argument("--extent", type=positive, default=128, help="rows and columns of C; default 128")
    parser.add_argument("--seed", type=natural, default=0, help="of the operands; default 0")
    parser.add_argument(
        "--methods", nargs="+", metavar="NAME", help="which to run; default all (an unknown name lists them)"
    )
    parser.add_argument("--gemmul8", metavar="LIBRARY", help="GEMMul8's preload library, for a GPU")
    parser.add_argument("--no-grades", action="store_true", help="leave out the grading tests")
    add_output_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Measure, print, write; 1 if our own ways disagree."""
    from ...bench.accuracy import PHIS, WIDE
    from ...bench.methods import at_hand, select
    from ...bench.rows import RowStore
    from ...measure.machine import describe, sentence

    phis = tuple(dict.fromkeys((*(options.phi or PHIS), *(WIDE if options.wide else ()))))
    if max(phis) > LARGEST_PHI:
        raise InputError(
            f"--phi: {max(phis)} is beyond {LARGEST_PHI}, where products leave the range of FP64"
        )
    if options.gemmul8 is not None and not Path(options.gemmul8).is_file():
        raise InputError(f"--gemmul8: no such file: {options.gemmul8}")
    try:
        methods = select(options.methods, at_hand(options.gemmul8, modes=True))
    except ValueError as error:
        raise InputError(f"--methods: {error}") from None
    folder = prepare_output(options)
    machine = describe("cuda" if any(method.device == "cuda" for method in methods) else "cpu")
    settings = {"k": options.k, "extent": options.extent, "seed": options.seed}
    store = RowStore(rows_file(options, folder, "accuracy"), settings, machine, ("kind", "phi", "method"))
    say_resumed(store.resumed)
    print(
        f"{sentence(machine)}; K = {options.k}, {options.extent} × {options.extent} entries, seed {options.seed}"
    )

    clock = {"start": time.perf_counter()}
    with report_at_the_end(lambda: _report(options, folder, store, methods, settings, clock["start"])):
        _sweep(options, phis, methods, store)
        if not options.no_grades:
            _grade(methods, store)
    return _verdict(store, methods)


def _sweep(
    options: argparse.Namespace, phis: tuple[int, ...], methods: list[Method], store: RowStore
) -> None:
    from ...bench import accuracy
    from ...bench.methods import reason

    for phi in phis:
        left = [method for method in methods if store.get(kind="bits", phi=phi, method=method.name) is None]
        if not left:
            continue
        with Progress(f"accuracy, phi {phi}") as progress:
            try:
                case = accuracy.make_case(phi, options.k, options.extent, options.seed)
            except MemoryError as error:
                for method in left:
                    store.add({"kind": "bits", "phi": phi, "method": method.name, "skipped": reason(error)})
                continue
            for done, method in enumerate(left):
                progress.report((1 + done) / (1 + len(left)))
                store.add(
                    {"kind": "bits", **_attempt(case, method), "reference_seconds": round(case.seconds, 3)}
                )


def _attempt(case: Any, method: Method) -> Row:
    """The method's row, or the reason why there is none."""
    from ...bench.accuracy import measure
    from ...bench.methods import REFUSALS, reason

    try:
        return measure(case, method)
    except REFUSALS as error:
        return {"phi": case.phi, "method": method.name, "skipped": reason(error)}


def _grade(methods: list[Method], store: RowStore) -> None:
    from ...bench.grades import grade_rows
    from ...bench.methods import REFUSALS, reason

    with Progress("grading") as progress:
        for done, method in enumerate(methods):
            if store.get(kind="grade", phi=None, method=method.name) is None:
                try:
                    summary, graded = grade_rows(method.name, method.multiply)
                except REFUSALS as error:
                    summary, graded = {"method": method.name, "skipped": reason(error)}, []
                store.add({"kind": "grade", "phi": None, **summary, "graded_rows": graded})
            progress.report((1 + done) / len(methods))


# ---- What is shown and written -----------------------------------------------------------------------------


def _report(
    options: argparse.Namespace,
    folder: Path | None,
    store: RowStore,
    methods: list[Method],
    settings: dict[str, Any],
    start: float,
) -> None:
    bits = [row for row in store if row["kind"] == "bits"]
    grades = [row for row in store if row["kind"] == "grade"]
    if bits:
        _show_bits(bits, methods)
    if grades:
        _show_grades(grades, methods)
    reference = {row["phi"]: row["reference_seconds"] for row in bits if "reference_seconds" in row}
    print(
        f"{time.perf_counter() - start:.1f} s; the exact products took {sum(reference.values()):.1f} s in all"
    )
    if folder is None or not bits:
        return
    from ...bench.rows import write_csv, write_json

    labels = {method.name: method.label for method in methods}
    rows = [{name: value for name, value in row.items() if name != "kind"} for row in bits]
    graded = [row for grade in grades for row in grade["graded_rows"]]
    hidden = ("kind", "phi", "graded_rows")
    summaries = [{name: value for name, value in row.items() if name not in hidden} for row in grades]
    tables = {"settings": settings, "labels": labels, "rows": rows, "grades": summaries, "graded": graded}
    write_json(folder / "accuracy.json", store.machine, **tables)  # type: ignore[arg-type]
    write_csv(folder / "accuracy.csv", rows)
    print(f"wrote {folder / 'accuracy.json'}, {folder / 'accuracy.csv'}")
    if not options.no_figures:
        from ...bench.figures import accuracy as figures

        results = {"machine": store.machine, **tables}
        draw(folder, [("accuracy", figures.effective_bits(results))])
        if graded:
            draw(folder, [("grades", figures.graded_errors(results))])


def _show_bits(rows: list[Row], methods: list[Method]) -> None:
    phis = list(dict.fromkeys(row["phi"] for row in rows))
    cells = {(row["method"], row["phi"]): row for row in rows}
    lines: list[list[str]] = []
    reasons: dict[str, str] = {}
    for method in methods:
        found = [cells.get((method.name, phi), {}) for phi in phis]
        for row in found:
            if "skipped" in row:
                reasons[method.label] = row["skipped"]
        texts = [f"{row['bits']:.2f}" if "bits" in row else "skipped" if row else "" for row in found]
        shas = [row["sha"][:6] for row in found if "sha" in row]
        lines.append([method.label, *texts, shas[-1] if shas else ""])
    show(
        "Effective bits, -log2 max |C - AB| / Σ|a||b|",
        ["phi", *map(str, phis), "SHA-256 at the last"],
        lines,
    )
    for label, reason in reasons.items():
        print(f"skipped {label}: {reason}")
    print("the paper's text: 58.2 bits at phi 0, 52.3 at phi 32 for its method, both schemes alike")


def _show_grades(rows: list[Row], methods: list[Method]) -> None:
    labels = {method.name: method.label for method in methods}
    lines = []
    for row in rows:
        if row["method"] not in labels:
            continue
        label = labels[row["method"]]
        if "skipped" in row:
            lines.append([label, "skipped", "", "", "", "", row["skipped"]])
            continue
        marks = ["yes" if row[name] else "no" for name in ("zeros",)]
        reach = "none" if row["exponent"] < 0 else f"2^±{row['exponent']}"
        lines.append(
            [label, row["uniform"], f"{row['slope']:.2f}", row["graded"], reach, *marks, row["verdict"]]
        )
    show(
        "Grades after Demmel and others",
        ["", "uniform", "growth n^", "graded", "A up to range", "zeros exact", "taken for"],
        lines,
    )
    print(
        "A: |E| <= n u (|A||B|)_ij, B: <= n u |A_i:||B_:j| (norms), C: <= n u |A||B| (norms of the matrices),"
    )
    print(
        "u = 2^-53; uniform: entries in [0, 1), n = 16 to 256; graded: the products' exponents cancel, the entries' do not."
    )


def _verdict(store: RowStore, methods: list[Method]) -> int:
    from ...bench.accuracy import disagreements

    bits = [row for row in store if row["kind"] == "bits"]
    groups: dict[str, set[str]] = {}
    for method in methods:
        if method.kind in ("ozfp4", "mode"):
            groups.setdefault(method.options["accuracy"], set()).add(method.name)
    bad = [line for names in groups.values() for line in disagreements(bits, names)]
    for line in bad:
        print(f"FAILED: {line}")
    for name, ways in groups.items():
        if not bad and len(ways) > 1:
            print(f"OK: {len(ways)} ways of ozfp4, {name}, all bits the same at every phi")
    return 1 if bad else 0
