"""The clocks of the CPU: what measures rests between two products, and in the tests nothing rests."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from ozfp4.bench import speed, timing
from ozfp4.bench.methods import own_methods
from ozfp4.cli import devices

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import demo

METHOD = next(method for method in own_methods("cpu") if method.name == "II-int8-least")


@pytest.fixture
def rests(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that each rest takes."""
    found: list[float] = []
    monkeypatch.setattr(timing.time, "sleep", found.append)
    return found


def show(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    square = np.eye(4)
    np.savez(folder / "molecule.npz", S=square, F=square, C=square)
    monkeypatch.setattr(devices, "gpus", list)
    monkeypatch.setattr(demo, "WARM_UP", 0.0)
    assert demo.main([str(folder / "molecule.npz")]) == 0


@pytest.mark.parametrize("what", ["medians", "speed", "demo"])
def test_the_suite_sets_all_rests(
    what: str, rests: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seconds in (None, 0.04):  # as tests/conftest.py leaves it; as users have it
        if seconds is not None:
            monkeypatch.setattr(timing, "REST", seconds)
        rests.clear()
        if what == "medians":
            timing.medians({"a": int, "b": int}, 3)
        elif what == "speed":
            speed.measure(METHOD, 16, 0.001)
        else:
            show(tmp_path, monkeypatch)
        assert set(rests) == {seconds or 0.0}
