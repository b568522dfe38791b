"""Sizes at which loops are cut: panels of rows, threads over entries, scale's ranges of lines.

Integer-valued operands, so that the exact product is one product of NumPy's int64. Several threads whatever the machine has.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ozfp4 import stages
from ozfp4.testing import assert_same_bits
from support import PATHS, Path, chosen, noise

pytestmark = pytest.mark.slow

# Every kernel's loops once: scheme I over FP4 limbs shares them with scheme I over bytes, at twice the workspace.
KERNELS = (("II", "fp4"), ("II", "int8"), ("II", "fp64"), ("I", "int8"), ("I", "fp64"))
LARGE = [Path(scheme, backend, "least") for scheme, backend in KERNELS]


@pytest.fixture(autouse=True)
def several_threads(variables: Callable[..., None]) -> None:
    variables(OZFP4_NUM_THREADS="3")


def check(a: np.ndarray, b: np.ndarray, path: Path) -> None:
    out = noise((a.shape[0], b.shape[1]))
    chosen.matmul(a.astype(np.float64), b.astype(np.float64), out=out, **path._asdict(), accuracy="scaled")
    assert_same_bits(out, (a @ b).astype(np.float64), path)


@pytest.mark.parametrize("path", LARGE, ids=str)
def test_two_panels_of_rows_each_cut_over_threads(path: Path) -> None:
    """64 rows of so many columns fill the accumulator, which takes no fewer; 4.5 million entries are many threads' work."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(-(2**22), 2**22, (65, 3)), rng.integers(-(2**22), 2**22, (3, 70_001))
    check(a, b, path)


@pytest.mark.parametrize("path", [p for p in PATHS if p.scheme == "II"], ids=str)
def test_scale_cut_over_rows(path: Path) -> None:
    """30 rows of 600 need all moduli: with the norms of other rows a product would take too few."""
    rng = np.random.default_rng(1)
    a, b = np.zeros((600, 4096), np.int64), rng.integers(2**19, 2**20, (4096, 3))
    a[np.arange(600), rng.integers(0, 4096, 600)] = rng.integers(1, 2**20, 600)
    a[40:70] = rng.integers(2**19, 2**20, (30, 4096))
    check(a, b, path)


@pytest.mark.parametrize("operand", ["a", "b"])
def test_every_line_of_scale_has_its_own_place(operand: str) -> None:
    rng = np.random.default_rng(2)
    integers = rng.integers(1, 2**20, (600, 1000))
    integers[:, 0] = 2**20 - 1  # the largest of each line
    integers[100:, 1:] = 0  # so that the largest norm is among the first
    exponents = rng.integers(-500, 500, 600)
    x = np.ldexp(integers.astype(np.float64), exponents[:, np.newaxis])
    special = np.zeros(600, np.uint8)
    special[rng.permutation(600)[:40]] = 1
    x[special == 1, 5] = np.inf  # replaces an entry that is not the largest
    scaled = stages.scale(x if operand == "a" else x.T, operand)
    integers[special == 1, 5] = 0
    expected = integers << 33
    assert_same_bits(scaled.integers, expected if operand == "a" else expected.T)
    assert_same_bits(scaled.exponents, (33 - exponents).astype(np.int32))
    assert scaled.special.tolist() == special.tolist()
    largest = max(sum(v * v for v in row) for row in expected.tolist())
    assert largest <= scaled.norm_squared <= 1.125 * largest
