"""bits beyond 53: integers wider than a significand, on every path that has a plan, against the reference bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

import ozfp4
from ozfp4.testing import PATHS, Path, assert_same_bits, exact_matmul, noise, operands

BITS = (54, 60, 62, 63, 64, 76, 94, 95, 103, 104, 109, 128, 150, 160, 177, 200)
#: Up to where the moduli of scheme II reach at K = 17; scheme I serves all bits.
MOST = {"fp4": 112, "int8": 168, "fp64": 200}
LEAST = [path for path in PATHS if path.family == "least"]


def serves(path: Path, bits: int) -> bool:
    return path.scheme == "I" or bits <= MOST[path.backend]


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("path", LEAST, ids=str)
def test_every_path(path: Path, bits: int) -> None:
    if not serves(path, bits):
        with pytest.raises(
            ValueError, match=rf"k = 17 breaks the CRT bound .* at bits = {bits}: P has \d+ bits"
        ):
            ozfp4.plan(6, 5, 17, bits=bits, **path._asdict())
        return
    for kind in ("normal", "scaling-ties", "whole-range", "specials"):
        for dtype in (np.float64, np.float32):
            a, b = operands(kind, 6, 17, 5, seed=bits, dtype=dtype)
            expected = exact_matmul(a, b, bits=bits)
            out = noise(expected.shape, dtype)
            ozfp4.matmul(a, b, bits=bits, out=out, **path._asdict())
            assert_same_bits(out, expected, (kind, np.dtype(dtype).name))


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("path", LEAST, ids=str)
def test_entries_far_apart(path: Path, bits: int) -> None:
    """Rows of the largest numbers beside the smallest subnormal ones, spread so far that bits are kept, rounded and lost."""
    if not serves(path, bits):
        return
    rng = np.random.default_rng(bits)
    for top in (1023, 0, -1022, -1074):
        spread = np.ldexp(
            rng.uniform(1, 2, (5, 17)), np.maximum(top - rng.integers(0, bits + 60, (5, 17)), -1074)
        )
        a = spread * rng.choice([-1.0, 1.0], (5, 17))
        a[0, 0], a[1, 3], a[2, 5] = 5e-324, -5e-324, np.ldexp(1.0 - 2.0**-53, top + 1)
        b = np.ldexp(rng.standard_normal((17, 4)), rng.integers(-bits, bits, (17, 4)))
        out = noise((5, 4))
        ozfp4.matmul(a, b, bits=bits, out=out, **path._asdict())
        assert_same_bits(out, exact_matmul(a, b, bits=bits), top)


@pytest.mark.parametrize("path", LEAST, ids=str)
def test_more_bits_than_a_row_spans_give_the_rounded_product(path: Path) -> None:
    """What 53 bits lose: the second entry of a row, 2^60 times smaller than the first, whose terms cancel."""
    a, b = np.array([[2.0**60, 1.0 + 2.0**-40, -(2.0**60)]]), np.array([[1.0], [3.0], [1.0]])
    assert ozfp4.matmul(a, b, bits=53, **path._asdict()).item() == 0.0
    assert ozfp4.matmul(a, b, bits=105, **path._asdict()).item() == 3.0 * (1.0 + 2.0**-40)


def test_long_rows_and_odd_blocks() -> None:
    """More entries than one pass of the encoder takes, in blocks that a small workspace makes."""
    a, b = operands("phi32", 19, 1541, 18, seed=4)
    for backend, bits in (("fp64", 76), ("int8", 76), ("fp4", 60), ("fp64", 200), ("int8", 150)):
        plan = ozfp4.plan(19, 18, 1541, backend=backend, bits=bits)
        expected = exact_matmul(a, b, bits=bits)
        assert_same_bits(ozfp4.matmul(a, b, plan=plan), expected, (backend, bits))
        assert_same_bits(ozfp4.matmul(a, b, plan=plan, workspace_limit=1 << 20), expected, (backend, bits))


@pytest.mark.parametrize("path", LEAST, ids=str)
def test_empty_products(path: Path) -> None:
    for shape in ((0, 3, 2), (3, 0, 2), (3, 2, 0)):
        c = ozfp4.matmul(np.ones(shape[:2]), np.ones(shape[1:]), bits=76, **path._asdict())
        assert c.shape == (shape[0], shape[2])
        assert not c.any()


def test_auto_takes_a_backend_that_has_a_plan() -> None:
    assert ozfp4.plan(1, 1, 1000, bits=200).backend == "fp64"
    a, b = operands("normal", 4, 9, 3)
    assert_same_bits(ozfp4.matmul(a, b, bits=200), exact_matmul(a, b, bits=200))
