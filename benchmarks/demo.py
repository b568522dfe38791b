"""Transform the Fock matrix of caffeine by every scheme and backend, and check every entry.

    python benchmarks/demo.py [FILE] [--accuracy standard|correct|scaled] [--device auto|cpu|cuda]

Forms C^T S C and C^T F C (S: overlap, F: Fock matrix, C: orbital coefficients; RHF/6-31G*, 216 x 216), two
chained products each. All schemes and backends must return the same bits, and every entry must equal what its
accuracy defines, in exact arithmetic: for "standard", the default, the product of the scaled integers, rounded once, or a
chain of fused multiply-adds; for "correct" the real product, rounded once. Exit status 1 if one does not.

Runs on the GPU where there is one that this build has kernels for, without the backend fp64, which is the CPU's;
--device cpu runs on the CPU.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

try:
    import ozfp4
except ValueError as error:  # nonsense in a variable of the environment
    print(f"demo.py: {error}", file=sys.stderr)
    raise SystemExit(2) from None

import orbitals as job
from common.turns import rest
from devices import add_device_argument, take_device, to_device, to_host
from orbitals import FOCK, OVERLAP, PRODUCTS, Array, Multiply, Orbitals
from ozfp4.cli import Parser, status_of, tolerate_any_encoding
from ozfp4.cli.progress import Progress
from ozfp4.cli.tables import show
from ozfp4.testing import bits_of, correct_matmul, difference, exact_matmul, standard_matmul
from support import chosen

REPEATS = 5
WARM_UP = 0.3  # seconds for which each way runs at least, unless PATIENCE ends before
PATIENCE = 1.0  # seconds after which one way has been timed often enough
PATHS = (
    ("II", "fp4", "least"),
    ("II", "fp4", "paper"),
    ("II", "fp4", "paper-karatsuba"),
    ("II", "int8", "least"),
    ("II", "fp64", "least"),
    ("I", "fp4", "least"),
    ("I", "int8", "least"),
    ("I", "fp64", "least"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: 0, 1 if a check failed, else as those of ``ozfp4``."""
    tolerate_any_encoding()
    parser = Parser(prog="demo.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "file", metavar="FILE", nargs="?", type=Path, help="another .npz with members S, C and F"
    )
    parser.add_argument(
        "--accuracy",
        choices=("standard", "correct", "scaled"),
        default="standard",
        help="default: standard, the default of ozfp4.matmul; its errors stand beside those of correct",
    )
    add_device_argument(parser)
    options = parser.parse_args(arguments)
    return status_of(parser.prog, lambda: run(options))


def run(options: argparse.Namespace) -> int:
    """Compute, check, and print three tables and the verdict."""
    start = time.perf_counter()
    orbitals = job.load(options.file)
    basis, count = orbitals.C.shape
    what = str(options.file) if options.file else "caffeine, RHF/6-31G*, density fitting"
    print(f"{what}: overlap S, Fock matrix F, {count} orbitals C over {basis} basis functions, FP64")
    device = take_device(options.device)
    print(f"X = SC, then CᵀX; X = FC, then CᵀX: four products, on the {'CPU' if device == 'cpu' else 'GPU'}")

    with Progress("checking against exact integers") as progress:
        exact = job.transform(orbitals, _exact(options.accuracy))
        progress.report(0.3)
        outcomes = []
        # The paper's moduli have no room for the bits of the other accuracies.
        paths = [path for path in PATHS if options.accuracy == "scaled" or path[2] == "least"]
        if device != "cpu":
            paths = [path for path in paths if path[1] != "fp64"]
        for path in paths:
            outcomes.append(_measure(path, options.accuracy, orbitals, exact, device))
            progress.report(0.3 + 0.3 * len(outcomes) / len(paths))
        others = {"NumPy": (numpy_outcome := _measure_numpy(orbitals, exact)).products}
        if options.accuracy == "standard":
            others = {"correct": _correct(orbitals, device)} | others
        real = job.real_products(orbitals)

    _show_paths([*outcomes, numpy_outcome], sum(x.size for x in exact.values()), options.accuracy)
    _show_errors(orbitals, {f"ozfp4, {options.accuracy}": outcomes[0].products} | others, real)
    if options.accuracy == "scaled":
        _explain_scaled(orbitals)
    _show_deviations(outcomes[0].products, numpy_outcome.products, real)
    return _verdict(outcomes, sum(x.size for x in exact.values()), time.perf_counter() - start)


@dataclass(frozen=True)
class Outcome:
    """One way to multiply: its four products, their cost, and where they first differ from the exact ones."""

    labels: tuple[str, str, str]
    products: dict[str, Array]
    plane_products: list[int]
    milliseconds: float
    wrong: int
    first_wrong: str | None

    @property
    def fingerprint(self) -> str:
        """Equal exactly if all bits are equal."""
        digest = hashlib.sha256()
        for x in self.products.values():
            digest.update(x.tobytes())
        return digest.hexdigest()[:10]


def _exact(accuracy: str) -> Multiply:
    if accuracy == "standard":
        return lambda a, b: standard_matmul(a, b)[0]
    return exact_matmul if accuracy == "scaled" else correct_matmul


def _measure(
    path: tuple[str, str, str], accuracy: str, orbitals: Orbitals, exact: dict[str, Array], device: str
) -> Outcome:
    scheme, backend, family = path
    there = Orbitals(*(to_device(x, device) for x in (orbitals.S, orbitals.C, orbitals.F)))
    plane_products: list[int] = []

    def multiply(a: Array, b: Array) -> Array:
        c: Array
        c, report = chosen.matmul(
            a, b, scheme=scheme, backend=backend, family=family, accuracy=accuracy, report=True
        )
        plane_products.append(report.products)
        return c

    return _outcome(path, there, exact, multiply, plane_products)


def _correct(orbitals: Orbitals, device: str) -> dict[str, Array]:
    there = Orbitals(*(to_device(x, device) for x in (orbitals.S, orbitals.C, orbitals.F)))
    asked: dict[str, Any] = {"scheme": "II", "backend": "auto", "accuracy": "correct"}
    products = job.transform(there, lambda a, b: ozfp4.matmul(a, b, **asked, report=True)[0])
    return {name: to_host(x) for name, x in products.items()}


def _measure_numpy(orbitals: Orbitals, exact: dict[str, Array]) -> Outcome:
    def multiply(a: Array, b: Array) -> Array:
        c: Array = np.matmul(a, b)
        return c

    return _outcome(("NumPy", "DGEMM", ""), orbitals, exact, multiply, [])


def _outcome(
    labels: tuple[str, str, str],
    orbitals: Orbitals,
    exact: dict[str, Array],
    multiply: Multiply,
    plane_products: list[int],
) -> Outcome:
    products = {name: to_host(x) for name, x in job.transform(orbitals, multiply).items()}
    seconds: list[float] = []
    once = list(plane_products)
    begin = time.perf_counter()
    # A BLAS of which another one's threads have just taken the CPUs needs a while until it is warm.
    while len(seconds) < REPEATS or time.perf_counter() - begin < WARM_UP:
        rest()
        start = time.perf_counter()
        job.transform(orbitals, multiply)
        seconds.append(time.perf_counter() - start)
        if sum(seconds) > PATIENCE:
            break
    wrong = sum(int(np.count_nonzero(bits_of(products[name]) != bits_of(exact[name]))) for name in exact)
    found = (f"{name}: {difference(products[name], exact[name])}" for name in exact)
    first_wrong = next((text for text in found if not text.endswith(": None")), None)
    return Outcome(labels, products, once, 1e3 * min(seconds), wrong, first_wrong)


# ---- Tables ------------------------------------------------------------------------------------------------


_EXACT = {
    "scaled": "scaled integers, rounded once",
    "standard": "scaled integers, rounded once, where that is certified; else a chain of fused multiply-adds",
    "correct": "the real product, rounded once",
}


def _show_paths(outcomes: list[Outcome], entries: int, accuracy: str) -> None:
    rows = []
    for x in outcomes:
        scheme, backend, family = x.labels
        counts = sorted(set(x.plane_products)) or [1]
        products = str(counts[0]) if len(counts) == 1 else f"{counts[0]}..{counts[-1]}"
        ours = scheme != "NumPy"
        mark = "! " if x.wrong and ours else ""
        equal = f"{entries - x.wrong:,} of {entries:,}"
        rows.append([mark + scheme, backend, family, products, f"{x.milliseconds:.1f}", x.fingerprint, equal])
    show(
        "Cost and bits",
        ["scheme", "backend", "family", "products", "ms", "SHA-256 of all bits", "entries equal to exact"],
        rows,
        left=3,
    )
    print(f"products: of planes, per matrix product; ms: all four; exact: {_EXACT[accuracy]}")


def _bits(relative: float) -> str:
    return "all" if relative == 0 else f"{-math.log2(relative):.1f}"


def _show_errors(orbitals: Orbitals, results: dict[str, dict[str, Array]], real: dict[str, Any]) -> None:
    rows = []
    for name in PRODUCTS:
        found = [job.errors(x[name], real[name], *job.factors(orbitals, x)[name]) for x in results.values()]
        rows.append([
            name,
            *(_bits(e.relative) for e in found),
            *(_bits(e.to_norms) for e in found),
            *(f"{e.absolute:.2e}" for e in found),
        ])  # fmt: skip
    first, *rest = results
    show(
        "Largest errors against the real-number product of the stored entries",
        [
            "",
            f"bits of Σ|a||b|: {first}",
            *rest,
            f"bits of ‖a‖‖b‖: {first}",
            *rest,
            f"absolute: {first}",
            *rest,
        ],
        rows,
    )
    print(
        "bits: -log2 of the error relative to the sum of all magnitudes, or to the norms of row and column;"
    )
    print("the triple products carry the rounding of SC and FC, their first halves, too.")


def _explain_scaled(orbitals: Orbitals) -> None:
    print("ozfp4 keeps 53 bits below the largest entry of each row of A and column of B. In one such line")
    print(
        f"entries differ by up to 2^{job.spread(orbitals)} here: sums of small ones have fewer bits than NumPy's."
    )


def _show_deviations(ours: dict[str, Array], numpys: dict[str, Array], real: dict[str, Any]) -> None:
    rows = []
    if len(real[OVERLAP].product):
        x, y, z = (
            job.off_identity(ours[OVERLAP]),
            job.off_identity(numpys[OVERLAP]),
            job.real_off_identity(real[OVERLAP]),
        )
        rows.append([f"max |{OVERLAP} - I|", *(f"{v:.10e}" for v in (x, y, z))])
        x, y, z = (
            job.off_diagonal(ours[FOCK]),
            job.off_diagonal(numpys[FOCK]),
            job.real_off_diagonal(real[FOCK]),
        )
        rows.append([f"max off-diagonal |{FOCK}|", *(f"{v:.10e}" for v in (x, y, z))])
    show("Identities of the orbitals", ["", "ozfp4", "NumPy", "no rounding at all"], rows)
    print(
        "What is left without rounding lies in the stored matrices: their last bits, the SCF's convergence."
    )


def _verdict(outcomes: list[Outcome], entries: int, seconds: float) -> int:
    bad = [x for x in outcomes if x.wrong]
    fingerprints = {x.fingerprint for x in outcomes}
    print()
    for x in bad:
        print(f"FAILED: {' '.join(x.labels)}: {x.first_wrong}")
    if len(fingerprints) > 1:
        print(f"FAILED: the {len(outcomes)} ways gave {len(fingerprints)} different results")
    if bad or len(fingerprints) > 1:
        return 1
    print(
        f"OK: {len(outcomes)} ways, {entries:,} entries each: all equal the reference in exact arithmetic, "
        f"all bits the same ({seconds:.1f} s)"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
