"""Millions of entries of accuracy "correct" and "standard" on the CPU against references in Python's integers.

    python benchmarks/check_entries.py [--entries 10000000] [--seed 0] [--mode correct|standard]

Products of every kind of operands that the tests know, of random shapes, dtypes, backends and, for "correct", directions of
rounding in turn. Prints what differs; exit status 1 if anything does.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

import common  # noqa: F401 - puts tests/support on the path
import ozfp4
from ozfp4.testing import correct_matmul, difference, standard_matmul
from support import KINDS, operands

ROUNDINGS = ("nearest", "down", "up", "zero")
INNER = (1, 2, 3, 5, 17, 60, 200)
BACKENDS = ("fp64", "int8", "fp4")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--entries", type=int, default=10_000_000, help="at least so many")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--mode", choices=("correct", "standard"), default="correct")
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    kinds = list(KINDS)
    begin, entries, products, wrong = time.monotonic(), 0, 0, 0
    while entries < arguments.entries:
        kind, rounding = kinds[products % len(kinds)], ROUNDINGS[products // len(kinds) % 4]
        m, n = (int(rng.integers(60, 200)) for _ in range(2))
        k, backend = int(rng.choice(INNER)), str(rng.choice(BACKENDS))
        dtype = np.float64 if rng.random() < 0.7 else np.float32
        a, b = operands(kind, m, k, n, dtype=dtype, seed=int(rng.integers(2**30)))
        if arguments.mode == "correct":
            c = ozfp4.matmul(a, b, accuracy="correct", rounding=rounding, backend=backend)
            expected = correct_matmul(a, b, rounding)
        else:
            c = ozfp4.matmul(a, b, accuracy="standard", backend=backend)
            expected = standard_matmul(a, b)[0]
        entries, products = entries + c.size, products + 1
        found = difference(c, expected)
        if found is not None:
            wrong += 1
            print(f"{kind}, {m} x {k} x {n}, {dtype.__name__}, {backend}, {rounding}: {found}", flush=True)
    seconds = time.monotonic() - begin
    print(f"{entries} entries of {products} products, {wrong} products wrong, {seconds:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
