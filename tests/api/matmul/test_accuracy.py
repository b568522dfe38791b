"""accuracy, rounding, return_bound and enclose: every path equals the references, and each other, bit for bit."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4.testing import assert_same_bits, correct_matmul, exact_matmul
from support import LINES, MODES, ROUNDINGS, any_operands, chosen, noise, reference
from support.devices import Device

DTYPES = (np.float64, np.float32)
CERTIFIED = MODES[1:]
KINDS = ["normal", "uniform", "small-integers", "phi32", "cancelling", *LINES]


def expected(
    device: Device, a: np.ndarray, b: np.ndarray, accuracy: str, rounding: str = "nearest"
) -> np.ndarray:
    """Operands for a GPU may be long; its results are compared with the CPU's."""
    return (ozfp4.matmul if device.is_gpu else reference)(a, b, accuracy=accuracy, rounding=rounding)


# ---- Stacks, vectors, views, dtypes, empty extents


@pytest.mark.parametrize("dtype", DTYPES)
def test_empty(dtype: Any, device: Device) -> None:
    for accuracy, rounding in CERTIFIED:
        options: Any = {"accuracy": accuracy, "rounding": rounding, "return_bound": True}
        c, bound = device.matmul(np.ones((3, 0), dtype), np.ones((0, 2), dtype), **options)
        assert_same_bits(c, np.full((3, 2), -0.0 if rounding == "down" else 0.0, dtype))
        assert_same_bits(bound, np.zeros((3, 2)))
        for shape_a, shape_b in (((0, 4), (4, 2)), ((3, 4), (4, 0))):
            c, bound, about = device.matmul(
                np.ones(shape_a, dtype), np.ones(shape_b, dtype), report=True, **options
            )
            assert c.shape == bound.shape == (shape_a[0], shape_b[1])
            assert about.certified.total == 0


# ---- Specials


def test_nan_and_infinity(device: Device) -> None:
    a, b = any_operands("deep", *device.sized((7, 30, 70), (100, 80, 130)), seed=10)
    a[1, 3], a[4, 5], a[4, 6], b[2, 9], b[7, 66] = np.inf, np.nan, -np.inf, -np.inf, np.inf
    b[3, 20] = 0.0
    want = exact_matmul(a, b)
    special = ~(np.isfinite(a).all(axis=1)[:, None] & np.isfinite(b).all(axis=0))
    for accuracy, rounding in CERTIFIED:
        c, bound, about = device.matmul(
            a, b, accuracy=accuracy, rounding=rounding, return_bound=True, report=True
        )
        assert_same_bits(c[special], want[special])
        assert np.isposinf(bound[special]).all()
        finite = np.where(np.isfinite(a), a, 0), np.where(np.isfinite(b), b, 0)
        assert_same_bits(c[~special], expected(device, *finite, accuracy, rounding)[~special])
        # A GPU counts the special ones, too.
        assert device.is_gpu or about.certified.total == np.count_nonzero(~special)
        assert (about.special_rows, about.special_columns) == (2, 2)


# ---- Bounds


def real_product(a: np.ndarray, b: np.ndarray) -> list[list[Fraction]]:
    rows = [[Fraction(float(x)) for x in row] for row in a]
    columns = [[Fraction(float(x)) for x in column] for column in b.T]
    return [[sum((x * y for x, y in zip(r, c, strict=True)), Fraction(0)) for c in columns] for r in rows]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_bounds_hold(kind: str, dtype: Any, device: Device) -> None:
    a, b = any_operands(kind, 4, 30, 67, dtype=dtype, seed=11)
    want = real_product(a, b)
    for accuracy, rounding in MODES:
        c, bound, about = device.matmul(
            a, b, accuracy=accuracy, rounding=rounding, return_bound=True, report=True
        )
        assert bound.dtype == np.float64
        if device.is_gpu:
            given: Any = {"accuracy": accuracy, "rounding": rounding, "return_bound": True}
            assert_same_bits(bound, ozfp4.matmul(a, b, **given)[1])
        else:
            assert about.largest_bound == bound.max()
        for i, j in np.ndindex(c.shape):
            if math.isfinite(bound[i, j]):
                assert abs(Fraction(float(c[i, j])) - want[i][j]) <= Fraction(float(bound[i, j]))
            else:
                assert abs(c[i, j]) >= np.finfo(dtype).max
        if (
            accuracy == "correct"
            and not device.is_gpu
            and about.certified.result == 0
            and kind not in ("huge", "tiny", "beside-subnormal")
        ):
            ulp = np.spacing(np.abs(c)).astype(np.float64)
            assert (bound <= np.maximum(ulp / (2 if rounding == "nearest" else 1), 5e-324)).all()


def test_a_bound_beside_the_scaled_product_changes_no_bit_of_it(device: Device) -> None:
    a, b = any_operands("deep", 9, 40, 70, seed=12)
    for bits in (2, 20, 53, 120):
        c, bound = device(chosen.matmul, a, b, accuracy="scaled", bits=bits, return_bound=True)
        assert_same_bits(c, device(chosen.matmul, a, b, accuracy="scaled", bits=bits))
        want = real_product(a, b)
        assert all(
            abs(Fraction(float(c[i, j])) - want[i][j]) <= Fraction(float(bound[i, j]))
            for i, j in np.ndindex(c.shape)
        )


# ---- enclose


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_enclose(kind: str, dtype: Any, device: Device) -> None:
    a, b = any_operands(kind, 5, 33, 70, dtype=dtype, seed=13)
    for options in (
        {},
        {"scheme": "I", "backend": "fp4"},
        {"backend": "int8", "workspace_limit": device.sized(30_000, 8 << 20)},
    ):
        outs = noise((5, 70), dtype), noise((5, 70), dtype)
        lower, upper = device.enclose(a, b, out=outs, **options)
        assert lower is outs[0]
        assert upper is outs[1]
        assert_same_bits(lower, correct_matmul(a, b, "down"))
        assert_same_bits(upper, correct_matmul(a, b, "up"))
    again = device.enclose(a, b, report=True)
    assert_same_bits(again[0], lower)
    assert_same_bits(again[1], upper)
    assert again[2].certified.total == 2 * lower.size


def test_enclose_refuses() -> None:
    a = np.ones((2, 2))
    out = noise((2, 2), np.float64)
    before = out.copy()
    for given, error, pattern in (
        (out, TypeError, "^out: a pair of arrays is needed"),
        ((out,), TypeError, "^out: a pair of arrays is needed, .*given is 1 of them"),
        ((out, None), TypeError, "^out: a pair"),
        ((out, out), ValueError, r"^out: the array shares memory with out\[0\]"),
        ((out, out.T), ValueError, r"^out: the array shares memory with out\[0\]"),
        ((out, np.ones((2, 3))), ValueError, "^out: shape"),
        ((out, a.astype(np.float32)), TypeError, "^out: dtype"),
        ((out, a), ValueError, "^out: the array shares memory with a"),
    ):
        with pytest.raises(error, match=pattern):
            ozfp4.enclose(a, a + 1 if given is not None else a, out=given)  # type: ignore[call-overload]
        assert_same_bits(out, before)


# ---- Attacks


def beside(dtype: Any, is_tie: bool) -> tuple[np.ndarray, np.ndarray]:
    """Rows that give integers on one side of a tie (or of a number of `dtype`), and real products on the other.

    The first products make the tie. 64 entries are each rounded down by 0.49 of the last place of the integers. One exact
    entry moves the sum back by half of their loss.
    """
    single = dtype == np.float32
    first = 11 if single else 26, 13 if single else 27
    place = 2.0 ** -(46 if single else 75)  # the row is deep: p + 23 bits
    row = np.array([1.0, *[1.49 * place] * 64, -(64 + 16) * place])
    column = np.ones(66)
    if is_tie:
        row[0], column[0] = 1 + 2.0 ** -first[0], 1 + 2.0 ** -first[1]
    scales = 2.0 ** np.arange(-35, 35)
    return np.array([row, -row, np.roll(row, 20)]).astype(dtype), (
        np.roll(column, 0)[:, None] * scales
    ).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("is_tie", [True, False])
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_integers_on_the_wrong_side(rounding: str, is_tie: bool, dtype: Any, device: Device) -> None:
    a, b = beside(dtype, is_tie)
    c, about = device.matmul(a, b, accuracy="correct", rounding=rounding, report=True)
    assert_same_bits(c, correct_matmul(a, b, rounding))
    decides = is_tie == (rounding == "nearest")
    assert (about.certified.repaired + about.certified.repaired_exactly >= 140) == decides


# ---- Plans and reports


@pytest.mark.parametrize(("accuracy", "dtype", "bits"), [
    ("standard", np.float64, 57), ("correct", np.float64, 76), ("standard", np.float32, 28), ("correct", np.float32, 47),
])  # fmt: skip
def test_plans(accuracy: str, dtype: Any, bits: int) -> None:
    a, b = any_operands("deep", 6, 40, 50, dtype=dtype, seed=14)
    assert ozfp4.plan_for(a, b, accuracy=accuracy).bits == bits
    want = ozfp4.matmul(a, b, accuracy=accuracy, return_bound=True)
    for more in (0, 1, 40):
        plan = ozfp4.plan(6, 50, 40, backend="int8", bits=bits + more, accuracy="scaled")
        got = ozfp4.matmul(a, b, accuracy=accuracy, plan=plan, return_bound=True)
        assert_same_bits(got[0], want[0])
        assert_same_bits(got[1], want[1])
    few = ozfp4.plan(6, 50, 40, bits=bits - 1, accuracy="scaled")
    pattern = f"^plan: its bits are {bits - 1}, the accuracy '{accuracy}' needs {bits}; 'scaled' takes it"
    with pytest.raises(ValueError, match=pattern):
        ozfp4.matmul(a, b, accuracy=accuracy, plan=few)


def test_the_accuracy_alone_decides_what_is_promised() -> None:
    """Other options (bits, plan, family) do not change it."""
    a, b = np.array([[1e200, 1.0, -1e200]]), np.array([[1e100], [3.0], [1e100]])
    for plan in (None, ozfp4.plan(1, 1, 3), ozfp4.plan(1, 1, 3, bits=200, accuracy="scaled")):
        for accuracy, value in ((None, 0.0), ("standard", 0.0), ("correct", 3.0)):
            if plan is None or plan.bits >= (76 if accuracy == "correct" else 57):
                c, about = ozfp4.matmul(a, b, plan=plan, accuracy=accuracy, report=True)
                assert (c.item(), about.accuracy) == (value, accuracy or "standard")
    assert chosen.matmul(a, b, bits=200, accuracy="scaled").item() == 0.0
    single = np.ones((2, 2), np.float32)
    for given in ({"plan": ozfp4.plan(2, 2, 2, accuracy="scaled")}, {"plan": ozfp4.plan(2, 2, 2)}):
        assert ozfp4.matmul(single, single, report=True, **given)[1].accuracy == "standard"


def test_report() -> None:
    a, b = any_operands("normal", 30, 1024, 70, seed=15)
    about = ozfp4.matmul(a, b, accuracy="standard", report=True)[1]
    assert about.accuracy == "standard"
    assert about.capacities == (57, 57)
    assert about.certified.depth > 1000
    assert "slow path" not in str(about)
    a, b = any_operands("deep", 30, 200, 70, seed=15)
    about = ozfp4.matmul(a, b, accuracy="standard", report=True, return_bound=True)[2]
    assert 2 * about.certified.chains > about.certified.total == 2100
    text = str(about)
    assert f"{about.certified.chains} of fused multiply-adds" in text
    assert "largest bound" in text
    about = ozfp4.matmul(a, b, accuracy="correct", report=True)[1]
    assert 2 * about.certified.repaired > about.certified.total
    assert "slow path" in str(about)
    assert "had no certificate" in str(about)
    assert set(about.seconds) == {"scale", "encode", "multiply", "reconstruct", "repair"}
    scaled = ozfp4.matmul(a, b, accuracy="scaled", report=True)[1]
    assert (scaled.certified, scaled.largest_bound) == (None, None)
    assert "repaired" not in str(scaled)


# ---- Refusals


@pytest.mark.parametrize(
    ("options", "error", "pattern"),
    [
        (
            {"accuracy": "exact"},
            ValueError,
            r"^accuracy: 'exact' is unknown; allowed are 'standard', 'correct', 'scaled'$",
        ),
        ({"accuracy": 64}, ValueError, r"^accuracy: 64 is unknown"),
        (
            {"plan": ozfp4.plan(3, 3, 3, accuracy="scaled")},
            ValueError,
            r"^plan: its bits are 53, the accuracy 'standard' needs 57; 'scaled' takes it",
        ),
        ({"rounding": "up"}, ValueError, r"^rounding: 'up' needs accuracy='correct'"),
        (
            {"accuracy": "standard", "rounding": "down"},
            ValueError,
            r"^rounding: 'down' needs accuracy='correct'.*'standard'",
        ),
        (
            {"accuracy": "correct", "rounding": "away"},
            ValueError,
            r"^rounding: 'away' is unknown; allowed are 'nearest'",
        ),
        ({"accuracy": "correct", "rounding": None}, ValueError, r"^rounding: None is unknown"),
        ({"return_bound": 1}, TypeError, r"^return_bound: 1 is neither True nor False$"),
    ],
)
def test_refusals(check_refused: Any, options: dict[str, Any], error: type[Exception], pattern: str) -> None:
    a = np.ones((3, 3))
    check_refused(error, pattern, ozfp4.matmul, a, a, out=noise((3, 3), np.float64), **options)
