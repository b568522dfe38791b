"""Transform the Fock matrix of caffeine by every scheme and backend, and check every entry.

    python benchmarks/demo.py [FILE] [--accuracy standard|correct|scaled] [--device auto|cpu|cuda]

Forms C^T S C and C^T F C (S: overlap, F: Fock matrix, C: orbital coefficients; RHF/6-31G*, 216 x 216), two
chained products each. All schemes and backends must return the same bits. Every entry must equal the definition of
its accuracy, in exact arithmetic. For "standard", the default, this is the product of the scaled integers, rounded once, or a
chain of fused multiply-adds; for "correct" the real product, rounded once. Exit status 1 if an entry differs.

Runs on the GPU where there is one that this build has kernels for, without the backend fp64, which is the CPU's;
--device cpu runs on the CPU.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

try:
    import ozfp4
except ValueError as error:  # nonsense in a variable of the environment
    print(f"demo.py: {error}", file=sys.stderr)
    raise SystemExit(2) from None

import orbitals as job
from common import experiment
from common.experiment import show_rows
from common.turns import seconds_of
from orbitals import FOCK, OVERLAP, PRODUCTS, Array, Multiply, Orbitals
from ozfp4._cli import InputError
from ozfp4._cli.display import Progress, show
from ozfp4._measure import machine
from ozfp4.testing import bits_of, correct_matmul, difference, exact_matmul, standard_matmul
from support import PATHS, chosen

REPEATS = 5
WARM_UP = 0.3  # seconds for which each way runs at least, unless PATIENCE ends before
PATIENCE = 1.0  # seconds after which one way has been timed often enough
EXACT: dict[str, tuple[Multiply, str]] = {
    "scaled": (exact_matmul, "scaled integers, rounded once"),
    "standard": (
        lambda a, b: standard_matmul(a, b)[0],
        "scaled integers, rounded once, where that is certified; else a chain of fused multiply-adds",
    ),
    "correct": (correct_matmul, "the real product, rounded once"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", nargs="?", type=Path, help="another .npz with members S, C and F"
    )
    parser.add_argument(
        "--accuracy",
        choices=("standard", "correct", "scaled"),
        default="standard",
        help="default: standard, the default of ozfp4.matmul; its errors stand beside those of correct",
    )
    parser.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        default="auto",
        help="where to multiply; default auto: the first GPU that torch sees and this build has kernels for, else the CPU",
    )


def run(options: argparse.Namespace) -> int:
    """Compute, check, and print three tables and the verdict."""
    start = time.perf_counter()
    orbitals, accuracy = job.load(options.file), options.accuracy
    basis, count = orbitals.C.shape
    what = str(options.file) if options.file else "caffeine, RHF/6-31G*, density fitting"
    print(f"{what}: overlap S, Fock matrix F, {count} orbitals C over {basis} basis functions, FP64")
    device = _device(options.device)
    print(f"X = SC, then CᵀX; X = FC, then CᵀX: four products, on the {'CPU' if device == 'cpu' else 'GPU'}")

    with Progress("checking against exact integers") as progress:
        exact = job.transform(orbitals, EXACT[accuracy][0])
        progress.report(0.3)
        outcomes = []
        # The paper's moduli have no room for the bits of the other accuracies; its digits are those of family "least".
        paths = [
            tuple(path)
            for path in PATHS
            if path.family == "least" or (accuracy, path.scheme) == ("scaled", "II")
        ]
        paths = [path for path in paths if device == "cpu" or path[1] != "fp64"]
        there = Orbitals(*(_on(device, x) for x in (orbitals.S, orbitals.C, orbitals.F)))
        for path in paths:
            counts: list[int] = []
            multiply = partial(_product, path, accuracy, counts)
            outcomes.append(_outcome(path, there, exact, multiply, counts))
            progress.report(0.3 + 0.3 * len(outcomes) / len(paths))
        numpy_outcome = _outcome(("NumPy", "DGEMM", ""), orbitals, exact, np.matmul, [])
        others = {"NumPy": numpy_outcome.products}
        if accuracy == "standard":
            correct = job.transform(there, partial(ozfp4.matmul, accuracy="correct"))
            others = {"correct": {name: _on_host(x) for name, x in correct.items()}} | others
        real = job.real_products(orbitals)

    entries = sum(x.size for x in exact.values())
    _show_paths([*outcomes, numpy_outcome], entries, accuracy)
    _show_errors(orbitals, {f"ozfp4, {accuracy}": outcomes[0].products} | others, real)
    if accuracy == "scaled":
        print(
            "ozfp4 keeps 53 bits below the largest entry of each row of A and column of B. In one such line entries"
        )
        print(
            f"differ by up to 2^{job.spread(orbitals)} here: sums of small ones have fewer bits than NumPy's."
        )
    _show_deviations(outcomes[0].products, numpy_outcome.products, real)
    return _verdict(outcomes, entries, time.perf_counter() - start)


# ---- Where it runs -----------------------------------------------------------------------------------------


def _device(asked: str) -> str:
    """The device of an answer to ``--device``, "cpu" or "cuda:" and a number. InputError for a GPU that is not there."""
    found = machine.gpus() if asked != "cpu" else []
    if asked == "cuda" and not found:
        raise InputError(
            "--device: there is no GPU that torch sees and this build has kernels for; `ozfp4 info` says why"
        )
    return f"cuda:{found[0]}" if found else "cpu"


def _on(device: str, x: Any) -> Any:
    """An array as products on the device take it: itself, or a tensor on that GPU."""
    if device == "cpu":
        return x
    import torch

    return torch.from_numpy(np.array(x, x.dtype.newbyteorder("="), order="C")).to(device)


def _on_host(x: Any) -> Any:
    return x if not hasattr(x, "cpu") else x.cpu().numpy()


# ---- Products ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """One way to multiply: its four products, their cost, and where they first differ from the exact ones."""

    labels: tuple[str, ...]
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


def _product(path: tuple[str, ...], accuracy: str, counts: list[int], a: Array, b: Array) -> Array:
    """a b by a scheme, backend and family; the number of plane products is added to the counts."""
    scheme, backend, family = path
    options = {"scheme": scheme, "backend": backend, "family": family, "accuracy": accuracy}
    c: Array
    c, report = chosen.matmul(a, b, report=True, **options)
    counts.append(report.products)
    return c


def _outcome(
    labels: tuple[str, ...],
    orbitals: Orbitals,
    exact: dict[str, Array],
    multiply: Multiply,
    plane_products: list[int],
) -> Outcome:
    products = {name: _on_host(x) for name, x in job.transform(orbitals, multiply).items()}
    once = list(plane_products)
    seconds: list[float] = []
    begin = time.perf_counter()
    # A BLAS of which another one's threads have just taken the CPUs needs a while until it is warm.
    while len(seconds) < REPEATS or time.perf_counter() - begin < WARM_UP:
        seconds.append(seconds_of(partial(job.transform, orbitals, multiply)))
        if sum(seconds) > PATIENCE:
            break
    wrong = sum(int(np.count_nonzero(bits_of(products[name]) != bits_of(exact[name]))) for name in exact)
    found = (f"{name}: {difference(products[name], exact[name])}" for name in exact)
    first_wrong = next((text for text in found if not text.endswith(": None")), None)
    return Outcome(labels, products, once, 1e3 * min(seconds), wrong, first_wrong)


# ---- Tables ------------------------------------------------------------------------------------------------


def _show_paths(outcomes: list[Outcome], entries: int, accuracy: str) -> None:
    rows = []
    for x in outcomes:
        scheme, backend, family = x.labels
        counts = sorted(set(x.plane_products)) or [1]
        rows.append(
            {
                "scheme": ("! " if x.wrong and scheme != "NumPy" else "") + scheme,
                "backend": backend,
                "family": family,
                "products": str(counts[0]) if len(counts) == 1 else f"{counts[0]}..{counts[-1]}",
                "ms": f"{x.milliseconds:.1f}",
                "SHA-256 of all bits": x.fingerprint,
                "entries equal to exact": f"{entries - x.wrong:,} of {entries:,}",
            }
        )
    show_rows("Cost and bits", rows, left=3)
    print(f"products: of planes, per matrix product; ms: all four; exact: {EXACT[accuracy][1]}")


def _bits(relative: float) -> str:
    return "all" if relative == 0 else f"{-math.log2(relative):.1f}"


def _show_errors(orbitals: Orbitals, results: dict[str, dict[str, Array]], real: dict[str, Any]) -> None:
    kinds: dict[str, Callable[[job.Errors], str]] = {
        "bits of Σ|a||b|": lambda e: _bits(e.relative),
        "bits of ‖a‖‖b‖": lambda e: _bits(e.to_norms),
        "absolute": lambda e: f"{e.absolute:.2e}",
    }
    heads = [f"{kind}: {name}" if not i else name for kind in kinds for i, name in enumerate(results)]
    rows = []
    for name in PRODUCTS:
        found = [job.errors(x[name], real[name], *job.factors(orbitals, x)[name]) for x in results.values()]
        rows.append([name, *(text(e) for text in kinds.values() for e in found)])
    show("Largest errors against the real-number product of the stored entries", ["", *heads], rows)
    print(
        "bits: -log2 of the error relative to the sum of all magnitudes, or to the norms of row and column;"
    )
    print("the triple products carry the rounding of SC and FC, their first halves, too.")


def _show_deviations(ours: dict[str, Array], numpys: dict[str, Array], real: dict[str, Any]) -> None:
    kinds = (
        (f"max |{OVERLAP} - I|", OVERLAP, job.off_identity, job.real_off_identity),
        (f"max off-diagonal |{FOCK}|", FOCK, job.off_diagonal, job.real_off_diagonal),
    )
    rows = []
    for title, name, computed, unrounded in kinds if len(real[OVERLAP].product) else ():
        values = {"ozfp4": computed(ours[name]), "NumPy": computed(numpys[name])}
        values["no rounding at all"] = unrounded(real[name])
        rows.append({"": title, **{way: f"{value:.10e}" for way, value in values.items()}})
    show_rows("Identities of the orbitals", rows)
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


main = experiment.program(__file__, __doc__, add_arguments, run)

if __name__ == "__main__":
    sys.exit(main())
