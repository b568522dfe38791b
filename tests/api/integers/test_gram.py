"""ozfp4.gram of integers: exact modulo 2^w, symmetric, by blocks."""

from __future__ import annotations

import numpy as np
import pytest

import ozfp4
from ozfp4._dispatch import product
from support.devices import Device
from support.integers import DTYPES, KINDS, exact, noise, operand, overflows, wrapped


@pytest.fixture(autouse=True, params=["blocks", "whole"])
def narrow_blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "blocks":
        monkeypatch.setattr(product, "GRAM_COLUMNS", 64)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left", [False, True])
def test_every_dtype(left: bool, dtype: str, device: Device) -> None:
    rng = np.random.default_rng(1)
    for kind in KINDS:
        for m, k in ((70, 3), (5, 9), (1, 1), (130, 0), (0, 4)):
            a = operand(rng, kind, (m, k) if left else (k, m), dtype)
            real = exact(a, a.T) if left else exact(a.T, a)
            out = noise((m, m), dtype)
            found, report = device.gram(a, left=left, out=out, report=True)
            assert found is out
            np.testing.assert_array_equal(out, wrapped(real, dtype))
            np.testing.assert_array_equal(out, out.T)
            assert (report.kind, report.accuracy) == ("integer", "exact")
            assert (report.overflows == 0) == (overflows(real, dtype) == 0)
            plain = device.gram(a, left=left)
            assert plain.dtype == out.dtype
            np.testing.assert_array_equal(plain, out)


def test_every_block_counts_what_wraps(device: Device) -> None:
    a = np.ones((2, 150), np.int16)
    a[:, 0] = 2**13
    assert device.gram(a, report=True)[1].overflows == 1
    a[:, 0], a[:, 149] = 1, 2**13
    assert device.gram(a, report=True)[1].overflows == 1


def test_bool_stacks_and_views(device: Device) -> None:
    rng = np.random.default_rng(2)
    flags = rng.random((2, 40, 150)) < 0.1
    for x in (
        flags,
        flags[:, ::2, ::-1],
        flags[0],
        flags[:0],
        operand(rng, "full", (3, 20, 140), "int16")[:, :, ::2],
    ):
        found = device.gram(x)
        np.testing.assert_array_equal(found, np.matmul(x.swapaxes(-1, -2), x))
        assert found.dtype == x.dtype


def test_the_report_beside_blocks_in_machine_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """The block of the first columns alone exceeds words, and the report is that of its plan."""
    monkeypatch.setattr(product, "GRAM_COLUMNS", 256)
    a = np.ones((4, 600), np.int64)
    a[:, :100] = 2**31
    report = ozfp4.gram(a, report=True)[1]
    words, planned = (
        ozfp4.matmul(a.T, a[:, 320:], report=True)[1],
        ozfp4.matmul(a[:, :320].T, a[:, :320], report=True)[1],
    )
    assert words.backend == "direct"
    assert report.kernel == f"{planned.kernel}; {words.kernel}"
    for name in ("backend", "plan", "moduli_used", "products", "bits", "reason"):
        assert getattr(report, name) == getattr(planned, name), name
    assert report.plan is not None
    assert (report.overflows, report.exponents) == (10000, (0, 31))
