"""bits from 2 to 53, and plans given by the caller."""

from __future__ import annotations

import numpy as np
import pytest

import ozfp4
from ozfp4.testing import assert_same_bits, exact_matmul
from support import PATHS, Path, chosen, operands
from support.devices import Device


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
