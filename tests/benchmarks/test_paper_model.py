"""The model reproduces the paper's values; winners follow from its rates, and its figures show their data."""

from __future__ import annotations

import pytest

from common import paper_model as model


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
        "FP8 least": 30,
        "native FP64": 1,
    }


def test_ti16_by_k() -> None:
    """Planes and residues of two bytes; scale and encode each read 8."""
    assert [(row["products"], row["TOPS for cuBLAS's DGEMM"]) for row in model.ti16_rows()] == [
        (10, 2120), (11, 2332), (11, 2332),
    ]  # fmt: skip
    assert model.ti16_rows()[0]["bytes an entry of A, of C"] == "36, 28"
