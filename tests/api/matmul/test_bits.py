"""Plans given by the caller, and bits beyond 53: integers wider than a significand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ozfp4
from ozfp4.testing import assert_same_bits, correct_matmul, exact_matmul
from support import LEAST, PATHS, Path, chosen, noise, operands
from support.devices import Device, arrays_and_gpu


@pytest.mark.parametrize("path", PATHS, ids=str)
def test_a_plan_gives_what_its_names_give(path: Path) -> None:
    a, b = operands("whole-range", 9, 30, 8)
    for bits in (53, 31):
        plan = ozfp4.plan(9, 8, 30, bits=bits, accuracy="scaled", **path._asdict())
        expected = exact_matmul(a, b, bits=bits)
        assert_same_bits(ozfp4.matmul(a, b, plan=plan, accuracy="scaled"), expected)
        assert_same_bits(chosen.matmul(a, b, plan=plan, bits=bits, accuracy="scaled"), expected)
        assert_same_bits(chosen.matmul(a, b, plan=plan, **path._asdict(), accuracy="scaled"), expected)
        c, report = ozfp4.matmul(a, b, plan=plan, report=True, accuracy="scaled")
        assert report.plan is plan
        assert_same_bits(c, expected)


def test_a_plan_serves_shorter_products_and_stacks() -> None:
    plan = ozfp4.plan(1, 1, 16384, backend="fp4", accuracy="scaled")
    rng = np.random.default_rng(0)
    for shape_a, shape_b in (((3, 4), (4, 5)), ((2, 3, 0), (0, 2)), ((7,), (7, 2)), ((2, 3, 4), (2, 4, 1))):
        a, b = rng.standard_normal(shape_a), rng.standard_normal(shape_b)
        assert_same_bits(ozfp4.matmul(a, b, plan=plan, accuracy="scaled"), exact_matmul(a, b))


def test_a_plan_of_53_bits_for_float32_operands() -> None:
    a, b = operands("spikes", 6, 7, 5, dtype=np.float32)
    plan = ozfp4.plan(6, 5, 7, accuracy="scaled")
    assert_same_bits(ozfp4.matmul(a, b, plan=plan, accuracy="scaled"), exact_matmul(a, b, bits=53))
    assert_same_bits(chosen.matmul(a, b, bits=53, accuracy="scaled"), exact_matmul(a, b, bits=53))


@pytest.mark.parametrize("path", PATHS, ids=str)
def test_float32_results_are_rounded_once(path: Path, device: Device) -> None:
    """1 + 2^-24 + 2^-80 is above a tie in float32, but a tie after rounding to float64."""
    if not device.has(path.backend):
        return
    half, tiny = 2.0**-12, 2.0**-40
    a = np.array([[1.0, half, tiny], [1.0, half, -tiny], [1.0, 3 * half, 0.0]], np.float32)
    b = np.array([[1.0], [half], [tiny]], np.float32)
    expected = np.array([[1.0 + 2.0**-23], [1.0], [1.0 + 2.0**-22]], np.float32)
    assert_same_bits(exact_matmul(a, b, bits=53), expected)
    assert_same_bits(device(chosen.matmul, a, b, bits=53, accuracy="scaled", **path._asdict()), expected)


def test_float32_uses_24_bits_and_mixed_types_53() -> None:
    a, b = operands("normal", 3, 4, 5, dtype=np.float32)
    for x, y, bits in ((a, b, 24), (a.astype(float), b, 53), (a, b.astype(float), 53)):
        report = ozfp4.matmul(x, y, report=True, accuracy="scaled")[1]
        assert report.bits == report.plan.bits == bits


def test_numpy_integers_are_bits() -> None:
    a, b = operands("normal", 3, 4, 5)
    assert_same_bits(chosen.matmul(a, b, bits=np.int64(20), accuracy="scaled"), exact_matmul(a, b, bits=20))


@st.composite
def pairs(draw) -> tuple[np.ndarray, np.ndarray]:
    m, k, n = (draw(st.integers(0, 6)) for _ in range(3))
    arrays = []
    for shape in ((m, k), (k, n)):
        dtype = np.dtype(draw(st.sampled_from([np.float64, np.float32])))
        entries = st.floats(width=8 * dtype.itemsize, allow_nan=True, allow_infinity=True)
        arrays.append(draw(hnp.arrays(dtype, shape, elements=entries, fill=st.just(0.0))))
    return arrays[0], arrays[1]


@given(pairs(), st.sampled_from(PATHS), st.none() | st.integers(2, 53))
def test_any_operands_on_any_path(operands, path, bits: int | None) -> None:
    a, b = operands
    expected = exact_matmul(a, b, bits=bits)
    out = noise(expected.shape, expected.dtype)
    chosen.matmul(a, b, bits=bits, out=out, accuracy="scaled", **path._asdict())
    assert_same_bits(out, expected, path)


# ---- Beyond 53 bits

WIDE_BITS = (54, 60, 62, 63, 64, 76, 94, 95, 103, 104, 109, 128, 150, 160, 177, 200)
#: Bits that all moduli of an alphabet together hold, with room for K.
MOST_BITS = {"fp4": 109, "int8": 165}
SERVED = [
    (path, bits)
    for path in LEAST
    for bits in WIDE_BITS
    if path.scheme == "I" or bits <= MOST_BITS.get(path.backend, 200)
]
each_served = pytest.mark.parametrize(("path", "bits"), SERVED, ids=[f"{p}-{b}" for p, b in SERVED])


@arrays_and_gpu
@each_served
def test_entries_far_apart(path: Path, bits: int, device: Device) -> None:
    """Rows with the largest and the smallest subnormal numbers, spread so far that bits are kept, rounded and lost."""
    if not device.has(path.backend):
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
        device(chosen.matmul, a, b, bits=bits, accuracy="scaled", out=out, **path._asdict())
        assert_same_bits(out, exact_matmul(a, b, bits=bits), top)


@pytest.mark.parametrize("k", [1, 3, 100, 1000])
@pytest.mark.parametrize(("backend", "bits"), [("int8", 150), ("int8", 160), ("fp4", 90), ("fp4", 104)])
def test_long_integers_and_long_rows(backend: str, bits: int, k: int, device: Device) -> None:
    """Entries spread over all bits; a plan for longer rows, and blocks, give the same bits."""
    rng = np.random.default_rng(k)
    a, b = (
        np.ldexp(rng.uniform(1, 2, shape), -rng.integers(0, bits + 60, shape))
        * rng.choice([-1.0, 1.0], shape)
        for shape in ((5, k), (k, 6))
    )
    a[0], b[:, 0] = 1.0, -1.0
    expected = exact_matmul(a, b, bits=bits)
    plan, longer = (
        ozfp4.plan(5, 6, inner, backend=backend, bits=bits, accuracy="scaled") for inner in (k, 2**20)
    )
    for each in device.sized((plan, longer), (plan,)):
        assert_same_bits(device.matmul(a, b, plan=each, accuracy="scaled"), expected, each.k_max)
    assert_same_bits(
        device.matmul(a, b, plan=plan, workspace_limit=device.sized(1 << 18, 16 << 20), accuracy="scaled"),
        expected,
        "blocks",
    )
    c, bound = device.matmul(a, b, plan=plan, return_bound=True, accuracy="scaled")
    assert_same_bits(c, expected, "with a bound")
    if not device.is_gpu:
        found = ozfp4.matmul(a, b, plan=plan, accuracy="correct")
        assert_same_bits(found, correct_matmul(a, b, "nearest"), "correct")
    for i, j in np.ndindex(c.shape):
        exact = sum(Fraction(x) * Fraction(y) for x, y in zip(a[i].tolist(), b[:, j].tolist(), strict=True))
        assert abs(Fraction(float(c[i, j])) - exact) <= Fraction(float(bound[i, j])), (i, j)


@pytest.mark.parametrize("path", LEAST, ids=str)
def test_more_bits_than_a_row_spans_give_the_rounded_product(path: Path, device: Device) -> None:
    """53 bits lose the second entry of a row, 2^60 times smaller than the first; the terms of the first cancel."""
    if not device.has(path.backend):
        return
    a, b = np.array([[2.0**60, 1.0 + 2.0**-40, -(2.0**60)]]), np.array([[1.0], [3.0], [1.0]])
    assert device(chosen.matmul, a, b, bits=53, accuracy="scaled", **path._asdict()).item() == 0.0
    assert device(chosen.matmul, a, b, bits=105, accuracy="scaled", **path._asdict()).item() == 3.0 * (
        1.0 + 2.0**-40
    )


def test_auto_takes_a_backend_that_has_a_plan(no_int8_unit: None) -> None:
    assert ozfp4.plan(1, 1, 1000, bits=200, accuracy="scaled").backend == "fp64"
    a, b = operands("normal", 4, 9, 3)
    assert_same_bits(chosen.matmul(a, b, bits=200, accuracy="scaled"), exact_matmul(a, b, bits=200))
