"""The paper's accuracy experiment: how many bits are right as the magnitudes within a row spread.

Entries are ±(1 + u) 2^e, u uniform in [0, 1), e a uniform integer in 0..phi. The error of every entry of C is taken
against exact integers, relative to sum |a| |b|. The worst entry counts, in effective bits -log2 (paper, section VI-A).
"""

from __future__ import annotations

import hashlib
import math
import time
from dataclasses import dataclass

import numpy as np

from ozfp4.testing import bits_of
from support import spread
from support.errors import RealProduct, real_product, relative_errors

from .experiment import Row
from .methods import Array, Method
from .speed import free_memory

PHIS = (0, 2, 4, 8, 12, 16, 20, 24, 28, 32, 48, 64)
WIDE = (96, 128, 160, 200)
# The bits of the paper's method (both schemes) by phi, from its text.
PAPER = {0: 58.2, 32: 52.3}


_ENTRY_BYTES = 40  # at least, of an entry of A or B: itself, its significand and shift, two digits


@dataclass(frozen=True)
class Case:
    """Operands of one phi and their exact product; `seconds`: how long the exact product took."""

    phi: int
    a: Array
    b: Array
    exact: RealProduct
    seconds: float


def make_case(phi: int, k: int, extent: int, seed: int = 0) -> Case:
    """Seeded operands, extent × k by k × extent, with their exact product; MemoryError if there is no room for them."""
    need, free = _ENTRY_BYTES * 2 * extent * k, free_memory()
    if free is not None and need > free:
        raise MemoryError(f"K = {k} needs about {need / 2**30:.3g} GiB, {free / 2**30:.1f} GiB are free")
    rng = np.random.default_rng([seed, phi])
    a, b = spread(rng, (extent, k), phi), spread(rng, (k, extent), phi)
    start = time.perf_counter()
    exact = real_product(a, b)
    return Case(phi, a, b, exact, time.perf_counter() - start)


def fingerprint(c: Array) -> str:
    """Equal exactly if all bits are."""
    return hashlib.sha256(bits_of(c).tobytes()).hexdigest()[:12]


def measure(case: Case, method: Method) -> Row:
    """The errors of one method on one case: effective bits of the worst entry; largest and mean relative error; sha, equal for
    equal results; seconds of the product alone."""
    start = time.perf_counter()
    c = method.multiply(case.a, case.b)
    seconds = time.perf_counter() - start
    errors = relative_errors(c, case.exact)
    worst = float(errors.max(initial=0.0))
    return {
        "phi": case.phi,
        "method": method.name,
        "bits": round(-math.log2(worst), 3) if 0 < worst < math.inf else 0.0 if worst else 1074.0,
        "error": worst if worst < math.inf else None,
        "mean": float(errors.mean()) if worst < math.inf else None,
        "sha": fingerprint(c),
        "seconds": round(seconds, 4),
    }


def disagreements(rows: list[Row], own: set[str]) -> list[str]:
    """Where two of our own ways differ in any bit; empty if the promise holds."""
    found = []
    for phi in dict.fromkeys(row["phi"] for row in rows):
        shas = {
            row["method"]: row["sha"]
            for row in rows
            if row["phi"] == phi and row["method"] in own and "sha" in row
        }
        if len(set(shas.values())) > 1:
            found.append(f"phi {phi}: " + ", ".join(f"{name} {sha}" for name, sha in shas.items()))
    return found
