"""Devices by name, and the rates of their units."""

from __future__ import annotations

import math

import pytest

from ozfp4._cost.rates import DEVICES, Rates, alphabet_rate, device_rates, predicted_seconds


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("NVIDIA H200", "H200"),
        ("NVIDIA GeForce RTX 5090", "RTX 5090"),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "RTX PRO 6000"),
        ("NVIDIA GB200", "GB200"),
        ("NVIDIA B200", "B200"),
        ("NVIDIA H100 80GB HBM3", "H100 SXM"),
        ("Radeon", None),
    ],
)
def test_devices_by_their_drivers_name(name: str, found: str | None) -> None:
    rates = device_rates(name)
    assert (rates.name if rates else None) == found


def test_every_device_is_plausible() -> None:
    for rates in DEVICES:
        assert device_rates(f"NVIDIA {rates.name}") is rates
        assert rates.fp4 == 0 or rates.fp4 >= rates.fp8 >= rates.int8 * 0.4 or rates.int8 > rates.fp8
        assert min(rates.fp64, rates.bandwidth, rates.watts) > 0


def test_limbs_run_as_bytes_without_an_fp4_unit() -> None:
    h200, b300 = device_rates("NVIDIA H200"), device_rates("NVIDIA B300")
    assert h200 is not None
    assert b300 is not None
    assert alphabet_rate(h200, "fp4") == alphabet_rate(h200, "int8") == 1979
    assert alphabet_rate(b300, "fp4") > 50 * alphabet_rate(b300, "int8")
    with pytest.raises(ValueError, match="alphabet: 'fp6' is unknown"):
        alphabet_rate(h200, "fp6")
    assert predicted_seconds(16, 1000, 1000, 1000, h200, "int8", attained=0.5) == pytest.approx(
        32e9 / 989.5e12
    )
    assert predicted_seconds(1, 1, 1, 1, Rates("X", 1, 0, 1, 1, 1, 1, ()), "fp8") == math.inf
