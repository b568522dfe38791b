"""Measured factors decide among the ways of a product; the bits are the same. Skipped where torch, a GPU or its kernels are
missing."""

from __future__ import annotations

import pytest
from first_gpu import DEVICE, noisy, on_device, torch

import ozfp4
from ozfp4._measure import calibrate
from ozfp4._measure.kept import keep
from ozfp4.testing import assert_same_bits
from support import operands


@pytest.fixture
def measured(tmp_path, variables):
    """Takes the place of what this machine has measured."""
    ozfp4.matmul(*[torch.ones(1, 1, dtype=torch.float64, device=DEVICE)] * 2)  # tests what has to be tested

    def take(figures):
        variables(OZFP4_CACHE_DIR=str(tmp_path))
        assert keep(torch.cuda.get_device_name(DEVICE), calibrate.kept(figures))

    return take


@pytest.mark.parametrize("way", ["direct", "tiles", "stages"])
def test_the_way_of_the_least_factor_is_taken(way: str, measured) -> None:
    measured({way: 0.051})
    a, b = operands("normal", 64, 64, 64, seed=1)
    x, y, out = on_device(a), on_device(b), noisy((64, 64), torch.float64)
    ozfp4.matmul(x, y, out=out, accuracy="scaled")
    assert calibrate.way_of(x, y, out)["way"] == way
    assert_same_bits(out.cpu().numpy(), ozfp4.matmul(a, b, accuracy="scaled"))


def test_factors_of_ways_over_their_models(measured) -> None:
    measured({})
    factors = {way: calibrate.factor_of(way) for way in ("direct", "stages")}
    assert all(factor is not None and factor > 0 for factor in factors.values())
