"""How many bits are right, as in the paper's accuracy experiment, and the grades of products.

Entries ±(1 + u) 2^e, e uniform in 0..phi; K = 8192, 128 x 128 results, every entry against exact integers, over sum
|a| |b|. Runs the accuracy modes "standard" and "correct", every scheme, backend and family of ozfp4 with 53 bits a row, NumPy,
torch, and on a GPU native FP64 and cuBLAS's emulation; GEMMul8 if its preload library is named. Then the tests of "How to
grade the accuracy of an implementation of the BLAS" (Demmel and others). Exit status 1 if two ways of ozfp4 that
promise the same differ in a single bit.

  python benchmarks/accuracy.py -o results             table, accuracy.json, accuracy.csv, figures
  python benchmarks/accuracy.py --phi 0 32 --methods II-fp4-paper I-fp4-least numpy
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

from common import cases, experiment
from common.experiment import Row
from common.grades import grade_rows
from common.methods import (
    REFUSALS,
    Method,
    add_gemmul8_argument,
    add_methods_argument,
    at_hand,
    reason,
    select,
)
from common.numbers import natural
from figures import accuracy as figures
from ozfp4._cli import InputError, positive
from ozfp4._cli.display import show
from ozfp4._measure.machine import describe, sentence

LARGEST_PHI = 500  # beyond, products of two entries leave the range of FP64


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--phi", type=natural, nargs="+", metavar="PHI", help="spreads of the exponents; default 0 to 64"
    )
    parser.add_argument("--wide", action="store_true", help="go on to phi = 200")
    parser.add_argument("--k", type=positive, default=8192, help="inner dimension; default 8192")
    parser.add_argument("--extent", type=positive, default=128, help="rows and columns of C; default 128")
    parser.add_argument("--seed", type=natural, default=0, help="of the operands; default 0")
    add_methods_argument(parser)
    add_gemmul8_argument(parser)
    parser.add_argument("--no-grades", action="store_true", help="leave out the grading tests")
    experiment.add_output_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Measure, print, write; 1 if our own ways disagree."""
    phis = tuple(dict.fromkeys((*(options.phi or cases.PHIS), *(cases.WIDE if options.wide else ()))))
    if max(phis) > LARGEST_PHI:
        raise InputError(
            f"--phi: {max(phis)} is beyond {LARGEST_PHI}, where products leave the range of FP64"
        )
    methods = select(options.methods, at_hand(options.gemmul8, modes=True))
    experiment.prepare_output(options)
    machine = describe("cuda" if any(method.device == "cuda" for method in methods) else "cpu")
    print(
        f"{sentence(machine)}; K = {options.k}, {options.extent} × {options.extent} entries, seed {options.seed}"
    )
    bits: list[Row] = []
    grades: list[Row] = []
    graded: list[Row] = []
    with experiment.report_at_the_end(lambda: _report(options, machine, methods, bits, grades, graded)):
        for phi in phis:
            _sweep(options, phi, methods, bits)
        if not options.no_grades:
            _grade(methods, grades, graded)
    return _verdict(bits, methods)


def _sweep(options: argparse.Namespace, phi: int, methods: list[Method], rows: list[Row]) -> None:
    try:
        case = cases.make_case(phi, options.k, options.extent, options.seed)
    except MemoryError as error:
        rows += [{"phi": phi, "method": method.name, "skipped": reason(error)} for method in methods]
        return
    for method in experiment.in_turn(methods, lambda method: f"phi {phi}, {method.name}"):
        try:
            row = cases.measure(case, method)
        except REFUSALS as error:
            row = {"phi": phi, "method": method.name, "skipped": reason(error)}
        rows.append(row | {"reference_seconds": round(case.seconds, 3)})


def _grade(methods: list[Method], summaries: list[Row], rows: list[Row]) -> None:
    for method in experiment.in_turn(methods, lambda method: f"grading {method.name}"):
        try:
            summary, graded = grade_rows(method.name, method.multiply)
        except REFUSALS as error:
            summary, graded = {"method": method.name, "skipped": reason(error)}, []
        summaries.append(summary)
        rows += graded


# ---- What is shown and written -----------------------------------------------------------------------------


def _report(
    options: argparse.Namespace, machine: Row, methods: list[Method],
    bits: list[Row], grades: list[Row], graded: list[Row],
) -> None:  # fmt: skip
    labels = {method.name: method.label for method in methods}
    if bits:
        _show_bits(bits, labels)
    if grades:
        _show_grades(grades, labels)
    settings = {"k": options.k, "extent": options.extent, "seed": options.seed}
    tables = {"settings": settings, "labels": labels, "rows": bits, "grades": grades, "graded": graded}
    experiment.write_results(options, "accuracy", machine, tables, bits, _figures)


def _figures(results: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    yield "accuracy", figures.effective_bits(results)
    if results["graded"]:
        yield "grades", figures.graded_errors(results)


def _show_bits(rows: list[Row], labels: dict[str, str]) -> None:
    phis = list(dict.fromkeys(row["phi"] for row in rows))
    cells = {(row["method"], row["phi"]): row for row in rows}
    lines: list[list[str]] = []
    for name, label in labels.items():
        found = [cells.get((name, phi), {}) for phi in phis]
        texts = [f"{row['bits']:.2f}" if "bits" in row else "skipped" if row else "" for row in found]
        shas = [row["sha"][:6] for row in found if "sha" in row]
        lines.append([label, *texts, shas[-1] if shas else ""])
    title = "Effective bits, -log2 max |C - AB| / Σ|a||b|"
    show(title, ["phi", *map(str, phis), "SHA-256 at the last"], lines)
    experiment.show_skipped({row["method"]: row for row in rows if "skipped" in row}.values(), labels)
    print("the paper's text: 58.2 bits at phi 0, 52.3 at phi 32 for its method, both schemes alike")


def _show_grades(rows: list[Row], labels: dict[str, str]) -> None:
    experiment.show_rows(
        "Grades after Demmel and others",
        [
            {
                "": labels[row["method"]],
                "uniform": row["uniform"],
                "growth n^": row["slope"],
                "graded": row["graded"],
                "A up to range": "none" if row["exponent"] < 0 else f"2^±{row['exponent']}",
                "zeros exact": "yes" if row["zeros"] else "no",
                "taken for": row["verdict"],
            }
            for row in rows
            if "skipped" not in row
        ],
    )
    experiment.show_skipped(rows, labels)
    print(
        "A: |E| <= n u (|A||B|)_ij, B: <= n u |A_i:||B_:j| (norms), C: <= n u |A||B| (norms of the matrices),"
    )
    print(
        "u = 2^-53; uniform: entries in [0, 1), n = 16 to 256; graded: the products' exponents cancel, the entries' do not."
    )


def _verdict(bits: list[Row], methods: list[Method]) -> int:
    groups: dict[str, set[str]] = {}
    for method in methods:
        if method.kind in ("ozfp4", "mode"):
            groups.setdefault(method.options["accuracy"], set()).add(method.name)
    bad = [line for names in groups.values() for line in cases.disagreements(bits, names)]
    for line in bad:
        print(f"FAILED: {line}")
    for name, ways in groups.items():
        if not bad and len(ways) > 1:
            print(f"OK: {len(ways)} ways of ozfp4, {name}, all bits the same at every phi")
    return 1 if bad else 0


main = experiment.program(__file__, __doc__, add_arguments, run)

if __name__ == "__main__":
    sys.exit(main())
