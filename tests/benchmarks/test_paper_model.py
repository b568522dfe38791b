"""The model reproduces what the paper prints; winners are what its rates say, and its figures show what their data say."""

from __future__ import annotations

import pytest

from common import paper_model as model
from ozfp4._plans.plan import make_plan


def test_the_papers_deviations() -> None:
    for row in model.paper_rows():
        assert round(row["percent"]) == row["paper percent"], row
        assert row["preprocess factor"] == pytest.approx(model.PAPER_PREPROCESS_FACTOR, abs=0.05)


def test_the_papers_advantage_and_attained_fractions() -> None:
    field = {c.name: c for c in model.contenders(16384)}
    assert 2 * model.PAPER_PRODUCTS["GEMMul8-FP8"] / field["FP4 paper"].products == pytest.approx(1.04)
    assert model.break_even(field["FP4 least"], field["FP8 published"]) == pytest.approx(59 / 31)
    for method, printed in model.PAPER_ATTAINED.items():
        found = [model.paper_attained(method, n) for n in model.PAPER_DEVIATIONS]
        assert (round(min(found)), round(max(found))) == printed


def test_products_of_the_contenders() -> None:
    assert {c.name: c.products for c in model.contenders(16384)} == {
        "FP4 least": 59,
        "FP4 paper + Karatsuba": 68,
        "FP4 paper": 75,
        "FP4 scheme I": 225,
        "INT8": 16,
        "FP8 published": 31,
        "native FP64": 1,
    }


def test_traffic_of_plans() -> None:
    paper = make_plan("II", "fp4", "paper", 53, 16384)
    assert model.traffic(paper) == model.Traffic(16 + 38, 19 + 8)
    assert model.traffic(paper, packed=True) == model.Traffic(16 + 19, 19 + 8)
    digits = make_plan("I", "fp4", "least", 53, 16384)
    assert model.traffic(digits) == model.Traffic(16 + 15, 8 * 29 + 8)
    fp64 = make_plan("II", "fp64", "least", 53, 16384)
    assert model.traffic(fp64) == model.Traffic(16 + 8 * 6, 4 * 6 + 8)


def test_the_two_terms() -> None:
    times = model.predict(3, 10, 6000.0, 100.0, model.Traffic(5, 7))
    assert (times.products, times.reconstruct, times.preprocess) == (1.0, 7.0, 10.0)
    assert (times.compute, times.total) == (8.0, 18.0)
    assert model.deviation(8.4, 8.0) == pytest.approx(5)


@pytest.mark.parametrize(
    ("rates", "name"),
    [
        ({"fp4": 3.6, "int8": 1.0, "fp8": 1.8, "native": 0.01}, "INT8"),
        ({"fp4": 3.8, "int8": 1.0, "fp8": 1.9, "native": 0.01}, "FP4 least"),
        ({"fp4": 3.8, "int8": 0.0, "fp8": 2.6, "native": 0.01}, "FP8 published"),
        ({"fp4": 58.0, "int8": 0.0, "fp8": 0.0, "native": 1.0}, "native FP64"),
        ({"fp4": 60.0, "int8": 0.0, "fp8": 0.0, "native": 1.0}, "FP4 least"),
    ],
)
def test_winners_change_at_the_ratio_of_products(rates: dict[str, float], name: str) -> None:
    assert model.winner(rates, model.contenders(16384)).name == name
