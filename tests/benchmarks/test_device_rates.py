"""Devices by name, and the rates of their units."""

from __future__ import annotations

import pytest

from common.device_rates import DEVICES, Rates, alphabet_rate
from ozfp4 import _testing
from ozfp4._plans.plan import make_plan


@pytest.mark.parametrize("rates", DEVICES, ids=lambda rates: rates.name)
def test_typical_ratios_choose_as_these_rates_do(rates: Rates) -> None:
    """By csrc/plan/choice.hpp products on a GPU that was not measured go by the kernels that run there alone."""
    has_tcgen05 = rates.int8_warp > 0
    ratio = _testing.fp4_rate(rates.fp4 > 0, has_tcgen05, has_tcgen05 and rates.int8_warp < rates.int8)
    of_table = {unit: float(alphabet_rate(rates, unit)) for unit in ("int8", "fp4")}
    for bits in (24, 40, 53, 76, 100):
        for k in (1, 100, 10000, 2**20):
            products = {unit: make_plan("II", unit, "least", bits, k).products for unit in of_table}
            expected, found = (
                min(products, key=lambda unit: products[unit] / units[unit])
                for units in (of_table, {"int8": 1.0, "fp4": ratio})
            )
            assert found == expected
            if bits == 53 and k == 10000:
                assert found == ("fp4" if "B300" in rates.name else "int8")
