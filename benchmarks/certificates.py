"""What certifies the entries of "standard", and how many "correct" leaves to repair, by the references in Python's integers.

    python benchmarks/certificates.py

A table of docs/accuracy.md by operands, on a sample of rows and columns. Nothing of the core takes part, nothing is timed; some
minutes. Effective bits are accuracy.py's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import common  # noqa: F401 - puts tests/support on the path
from ozfp4.testing import Certificate, error_bound, round_to_float
from ozfp4.testing.certified import Scaled, certificates, disjoint, scaled_product
from support import grading, spread

Pair = tuple[np.ndarray, np.ndarray]


def cases() -> Iterator[tuple[str, Pair]]:
    rng = np.random.default_rng(0)

    def pair(k: int, extent: int, fill: Callable[[tuple[int, int]], np.ndarray]) -> Pair:
        return fill((extent, k)), fill((k, extent))

    for k in (32, 128, 1024, 4096, 16384):
        yield f"normal(0, 1), K = {k}", pair(k, 48, rng.standard_normal)
    yield "uniform [0, 1), K = 1024", pair(1024, 32, rng.random)
    yield "exp(normal), K = 1024", pair(1024, 32, lambda shape: np.exp(rng.standard_normal(shape)))
    for phi in (4, 8, 16, 32, 64):
        yield f"spread over 2^{phi}, K = 8192", pair(8192, 24, lambda shape, phi=phi: spread(rng, shape, phi))
    yield (
        "normal, half of it zeros, K = 1024",
        pair(1024, 32, lambda shape: rng.standard_normal(shape) * (rng.random(shape) < 0.5)),
    )
    yield "exp(2 normal), K = 1024", pair(1024, 32, lambda shape: np.exp(2 * rng.standard_normal(shape)))
    normal = pair(1024, 32, rng.standard_normal)
    yield "max(0, normal) × normal, K = 1024", (np.maximum(normal[0], 0), normal[1])
    units = 2.0 ** rng.integers(-8, 9, 1024)
    yield "columns in units over 2^16 × normal, K = 1024", (normal[0] * units, normal[1])
    yield "columns in units × their inverses, K = 1024", (normal[0] * units, normal[1] / units[:, None])
    caffeine = np.load(Path(__file__).resolve().parent / "data" / "caffeine_rhf.npz")
    yield "caffeine, S C", (caffeine["S"], caffeine["C"])
    yield "caffeine, F C", (caffeine["F"], caffeine["C"])
    for exponent in (4, 16, 504):
        yield f"graded by 2^±{exponent}, K = 64", grading.graded(64, exponent)


def left_to_repair(a: np.ndarray, b: np.ndarray, product: Scaled) -> float:
    """The expected share of entries that the rounding test of "correct" lists: 2 E over the unit in the last place of V."""
    total, zeros = 0.0, disjoint(a, b)
    for i, j in zip(*np.nonzero(~zeros), strict=True):
        error, v = error_bound(product.rows[i], product.columns[j]), abs(product.integers[i, j])
        exponent = -(product.s[i] + product.t[j])
        if error and v.bit_length() < 53 + (2 * error).bit_length():
            total += round_to_float(v - error, exponent) != round_to_float(v + error, exponent)
        elif error:
            total += math.ldexp(2 * error, 53 - v.bit_length())
    return total / product.integers.size


def capacities(product: Scaled) -> str:
    found = sorted(record.capacity for record in product.rows + product.columns)
    return f"{found[0]}" if found[0] == found[-1] else f"{found[0]} to {found[-1]}"


def percent(share: float) -> str:
    return f"{100 * share:.3g} %" if share >= 0.001 else f"{share:.0e}" if share else "0"


def operand_table() -> None:
    print("| operands | c | exact | by depth | by magnitudes | chains | c of correct | repaired |")
    print("|---|---|---|---|---|---|---|---|")
    order = (Certificate.EXACT, Certificate.DEPTH, Certificate.MAGNITUDE, Certificate.NONE)
    for name, (a, b) in cases():
        standard, correct = (scaled_product(a, b, accuracy, 53) for accuracy in ("standard", "correct"))
        found = certificates(a, b, standard, 53)
        shares = [percent(float((found == certificate).mean())) for certificate in order]
        row = [
            name,
            capacities(standard),
            *shares,
            capacities(correct),
            percent(left_to_repair(a, b, correct)),
        ]
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    operand_table()
