"""What the speed experiment derives before it measures: memory needed, the plan that gives the rate, the table's columns."""

from __future__ import annotations

import pytest

from ozfp4.bench import speed
from ozfp4.bench.methods import Method, own_methods
from ozfp4.plans import make_plan

METHODS = {method.name: method for method in own_methods("cpu")}


@pytest.mark.parametrize("method", METHODS.values(), ids=list(METHODS))
def test_rate_comes_from_another_plan(method: Method) -> None:
    whole = make_plan(method.options["scheme"], method.options["backend"], "least", 53, 512).products
    short = speed.short_plan(method, 512)
    assert short.alphabet == method.options["backend"]
    assert whole // 2 <= short.products < whole
    assert speed.product_rate(method, 32, 0.001) > 0


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
