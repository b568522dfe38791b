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


@pytest.mark.parametrize("text", ["0", "inf", "nan", "-1", "x"])
def test_a_budget_is_a_positive_number_of_seconds(text: str) -> None:
    assert experiment.seconds("0.5") == 0.5
    with pytest.raises(argparse.ArgumentTypeError, match="is not a positive number of seconds"):
        experiment.seconds(text)
