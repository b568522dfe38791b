"""NaN and infinity as IEEE dot products have them; everything else is untouched by them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from ozfp4.testing import assert_same_bits, exact_matmul
from support import PATHS, Path, chosen, noise, operands
from support.devices import Device
from support.dtypes import both_types

VALUES = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 5e-324, 1.7976931348623157e308)
every_path = pytest.mark.parametrize("path", PATHS, ids=str)


@every_path
@both_types
def test_all_rows_against_all_columns_of_length_two(dtype: type, path: Path, device: Device) -> None:
    if not device.has(path.backend):
        return
    with np.errstate(over="ignore"):
        lines = np.array(list(itertools.product(VALUES, repeat=2)), dtype)
    expected = exact_matmul(lines, lines.T)
    special = ~np.isfinite(lines).all(axis=1)
    nonfinite = np.logical_or.outer(special, special)
    moderate = np.where(np.isfinite(lines), np.sign(lines), lines)  # so that finite products do not overflow
    with np.errstate(invalid="ignore"):
        ieee = moderate @ moderate.T
    assert_same_bits(expected[nonfinite], ieee[nonfinite], "the reference itself")
    out = noise(expected.shape, dtype)
    device(chosen.matmul, lines, lines.T, out=out, **path._asdict(), accuracy="scaled")
    assert_same_bits(out, expected)


def test_overflow_of_finite_entries_is_not_special(device: Device) -> None:
    top = np.finfo(float).max
    a = np.array([[top, -top], [top, top], [np.inf, top]])
    b = np.array([[2.0, 1.0], [2.0, 0.0]])
    assert_same_bits(
        device.matmul(a, b, accuracy="scaled"), np.array([[0.0, top], [np.inf, top], [np.inf, np.inf]])
    )  # row 0: the FP64 sum would be inf - inf


def test_payloads_and_signs_of_nans_do_not_matter(device: Device) -> None:
    quiet, negative = np.array([0x7FF8000000000001, 0xFFF8000000000000], np.uint64).view(np.float64)
    a = np.array([[quiet, 1.0], [negative, 1.0], [1.0, 1.0]])
    assert_same_bits(
        device.matmul(a, np.ones((2, 1)), accuracy="scaled"), np.array([[np.nan], [np.nan], [2.0]])
    )


def test_signalling_nans_are_nans(device: Device) -> None:
    signalling = np.array([0x7FF0000000000001, 0xFFF7FFFFFFFFFFFF], np.uint64).view(np.float64)
    a = np.stack([signalling, np.ones(2)])
    assert_same_bits(device.matmul(a, np.ones((2, 1)), accuracy="scaled"), np.array([[np.nan], [2.0]]))
    single = np.array([0x7F800001, 0xFFBFFFFF], np.uint32).view(np.float32)
    b = np.stack([single, np.ones(2, np.float32)])
    assert_same_bits(
        device.matmul(b, np.ones((2, 1), np.float32), accuracy="scaled"),
        np.array([[np.nan], [2.0]], np.float32),
    )


def test_the_report_counts_special_lines(device: Device) -> None:
    a, b = operands("normal", 9, 8, 7)
    a[2, 3], a[2, 4], a[5, 0], b[7, 6] = np.nan, np.inf, -np.inf, np.nan
    report = device.matmul(a, b, report=True, accuracy="scaled")[1]
    assert (report.special_rows, report.special_columns) == (2, 1)
    assert "2 rows of A, 1 columns of B" in str(report)
