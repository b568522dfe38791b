"""The thresholds that ``ozfp4 calibrate`` measures and keeps, by products with times given here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ozfp4 import _core
from ozfp4._measure import thresholds
from ozfp4._measure.kept import keep


class Machine:
    """ozfp4 is faster from an extent on; the native product makes `rate` multiplications in a nanosecond."""

    def __init__(self, gains_from: float, rate: float) -> None:
        self.gains_from, self.rate, self.now, self.sizes = gains_from, rate, 0.0, set[int]()

    def products(self, device: str, dtype: str, n: int) -> tuple[Callable[[], object], Callable[[], object]]:
        self.sizes.add(n)
        native = n**3 / self.rate * 1e-9

        def pass_by(seconds: float) -> None:
            self.now += seconds

        ours = native / 2 if n >= self.gains_from else native
        return lambda: pass_by(native), lambda: pass_by(ours)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Machine, Any]]:
    def on(gains_from: float, rate: float = 1e4) -> tuple[Machine, Any]:
        machine = Machine(gains_from, rate)
        monkeypatch.setattr(thresholds, "_products", machine.products)
        monkeypatch.setattr(thresholds.clocks.time, "perf_counter", lambda: machine.now)
        return machine, thresholds.measure(None)

    return on


@pytest.mark.parametrize(
    ("gains_from", "expected"), [(0, 256), (257, 384), (2000, 2048), (2048, 2048), (4096, 4096), (4097, None)]
)
def test_the_least_size_that_gains_is_found(
    gains_from: int, expected: int | None, measured: Callable[..., tuple[Machine, Any]]
) -> None:
    machine, found = measured(gains_from)
    assert found == dict.fromkeys(thresholds.DTYPES, expected)
    assert len(machine.sizes) <= 6  # of nine


def test_slow_products_are_not_measured(measured: Callable[..., tuple[Machine, Any]]) -> None:
    machine, found = measured(1024, rate=2)  # 0.54 s at 1024^3 and 0.45 s at 768^3
    assert max(machine.sizes) == 768
    assert set(found.values()) == {None}


def test_kept_thresholds_are_read_back(variables: Callable[..., None], tmp_path: Path) -> None:
    variables(OZFP4_CACHE_DIR=str(tmp_path / "cache"))
    none = dict.fromkeys(thresholds.DTYPES)
    assert keep("NVIDIA H200", {**none, "float64": 4096})
    assert keep("a GPU", {**none, "complex64": 5})
    assert keep("NVIDIA H200", {**none, "float64": 1024})
    assert _core.threshold("NVIDIA H200", "float64", 90, False) == 1024
    assert _core.threshold("NVIDIA H200", "complex128", 90, False) is None
    assert _core.threshold("a GPU", "complex64", 0, False) == 5
    assert len((tmp_path / "cache/calibration").read_text().splitlines()) == 8
    (tmp_path / "file").touch()
    variables(OZFP4_CACHE_DIR=str(tmp_path / "file"))
    assert not keep("a GPU", none)


def test_products_of_a_cpu() -> None:
    for dtype in thresholds.DTYPES:
        native, ours = thresholds._products("cpu", dtype, 20)
        assert native().dtype == ours().dtype == dtype  # type: ignore[attr-defined]
