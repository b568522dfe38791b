"""The speed experiment's derived numbers, before it measures, and its figures."""

from __future__ import annotations

import argparse

import pytest

from common import experiment, speed
from common.methods import Method, own_methods

METHODS = {method.name: method for method in own_methods("cpu")}


def test_memory_is_refused_with_both_sides() -> None:
    numpy = Method("numpy", "NumPy", "native", "cpu", lambda a, b: a @ b)
    assert speed.why_too_large(numpy, 1000, free=24 * 10**6) is None
    assert (
        speed.why_too_large(numpy, 10**5, free=2**30) == "N = 100000 needs about 223.5 GiB, 1.0 GiB are free"
    )
    assert speed.why_too_large(METHODS["II-fp64-least"], 10, free=2**30) is not None  # its workspace


def test_a_row_of_the_table() -> None:
    row = speed.measure(METHODS["II-int8-least"], 48, 0.001)
    assert row["products"] in (14, 15)  # by the norms of the data
    assert row["compute ms"] == pytest.approx(row["multiply ms"] + row["reconstruct ms"], abs=1e-3)
    assert set(row) >= {"scale ms", "encode ms", "TFLOPS", "compute TFLOPS"}


@pytest.mark.parametrize(
    ("error", "skipped"),
    [
        (MemoryError(), "MemoryError"),
        (ValueError("k = 9 breaks\nit"), "k = 9 breaks"),
        (RuntimeError("no"), "no"),
    ],
    ids=repr,
)
def test_a_product_that_cannot_be_made_is_a_row_with_the_reason(
    error: Exception, skipped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(speed, "_on_cpu", fail)
    row = speed.attempt(METHODS["II-int8-least"], 8, 0.001)
    assert row == {"N": 8, "method": "II-int8-least", "skipped": skipped}


def test_a_figure_has_whole_calls_beside_the_stages() -> None:
    pytest.importorskip("matplotlib")
    from figures import speed as figures

    row = {"N": 1024, "method": "int8", "ms": 0.0646, "scale ms": 0.0238, "encode ms": 0.03, "multiply ms": 0.0323,
           "reconstruct ms": 0.0123}  # fmt: skip
    figure = figures.stages(
        {"machine": {"device": "X", "date": ""}, "labels": {"int8": "int8"}, "rows": [row]}
    )
    texts = [text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text"))]
    assert "0.0646 ms" in texts  # not the sum of stages that wait for each other


@pytest.mark.parametrize("text", ["0", "inf", "nan", "-1", "x"])
def test_a_budget_is_a_positive_number_of_seconds(text: str) -> None:
    assert experiment.seconds("0.5") == 0.5
    with pytest.raises(argparse.ArgumentTypeError, match="is not a positive number of seconds"):
        experiment.seconds(text)
