"""What C++ decides for Python and for C alike: the cheapest unit, and how results are cut."""

from __future__ import annotations

import pytest

from ozfp4 import _core, _testing
from ozfp4._plans.plan import SCHEMES, make_plan

UNITS = ("fp64", "int8", "fp4")


@pytest.mark.parametrize("bits", [24, 53, 76, 90])
@pytest.mark.parametrize("k", [1, 300, 2**20])
@pytest.mark.parametrize("scheme", ["I", "II"])
def test_units_are_ranked_by_products_over_rate(scheme: str, k: int, bits: int) -> None:
    rates = [("fp64", 1.0), ("int8", 1.9), ("fp4", 1.9)]
    expected = []
    for backend, rate in rates:
        try:
            products = make_plan(scheme, backend, "least", bits, k).products
        except ValueError:
            continue
        expected.append((products / rate, backend, products))
    expected.sort(key=lambda unit: unit[0])
    found = _testing.rank_units(SCHEMES[scheme], "least", bits, k, rates)
    assert found == [(backend, products) for _, backend, products in expected]


def test_among_equals_the_first_unit_is_taken() -> None:
    products = {unit: make_plan("II", unit, "least", 53, 100).products for unit in UNITS}
    for order in (UNITS, UNITS[::-1]):
        rates = [(unit, float(products[unit])) for unit in order]
        assert [unit for unit, _ in _testing.rank_units(SCHEMES["II"], "least", 53, 100, rates)] == list(
            order
        )


def test_a_unit_without_a_plan_has_no_rank() -> None:
    assert _testing.rank_units(SCHEMES["II"], "paper", 53, 100, [("int8", 1.0)]) == []
    with pytest.raises(ValueError, match="rates"):
        _testing.rank_units(SCHEMES["II"], "least", 53, 100, [("int8", 0.0)])


def test_blocks_keep_their_copies_below_the_budget() -> None:
    cut = _testing.cut_for_copies
    assert cut(10, 20, 8, 64, 0, 2000) == (10, 20)
    assert cut(10, 20, 8, 64, 0, 600) == (10, 3)
    assert cut(10, 20, 0, 64, 16, 600) == (4, 3)
    assert cut(10, 20, 0, 64, 16, 600, True, False) == (10, 1)
    assert cut(10, 20, 8, 0, 16, 900, False, True) == (1, 20)
    assert cut(0, 0, 8, 8, 8, 0) == (1, 1)
    for budget in (100, 1000, 10000):
        rows, columns = cut(1000, 1000, 8, 16, 4, budget)
        assert 8 * rows + 16 * columns + 4 * rows * columns <= budget


def test_blocks_of_symmetric_results_cover_all_columns() -> None:
    for extent in (1, 63, 64, 600, 5000, 12345):
        blocks = _core.gram_blocks(extent, 256)
        assert blocks[0][0] == 0
        assert blocks[-1][1] == extent
        assert [first for first, _ in blocks[1:]] == [last for _, last in blocks[:-1]]
        assert all(first % 64 == 0 for first, _ in blocks)
    assert _core.gram_blocks(0, 256) == [(0, 0)]
