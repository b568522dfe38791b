"""``ozfp4 calibrate``: what is measured where, kept and shown; and that it changes what is chosen."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4 import _core
from ozfp4._cli import main
from ozfp4._cli.commands import calibrate as command
from ozfp4._measure import calibrate, clocks, thresholds
from ozfp4._measure.calibrate import WAYS

THREAD = 40e9  # csrc/product/cpu/rates.cpp
RATES = {"fp64": 1e9, "int8": 1e12, "fp4": 2e9}


@pytest.fixture(autouse=True)
def plain(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, no_int8_unit: None, variables: Callable[..., None]
) -> None:
    variables(OZFP4_CACHE_DIR=str(tmp_path))
    monkeypatch.setattr("ozfp4._measure.machine.have_cuda", lambda: False)
    monkeypatch.setattr(clocks, "multiply_rate", lambda device, plan, n: RATES[plan.alphabet])
    monkeypatch.setattr(thresholds, "measure", lambda index: {"float64": 640, "complex128": None})


def forget_and_choose() -> str:
    """As another process does."""
    ozfp4.read_environment()
    return ozfp4.plan(64, 64, 64, accuracy="scaled").backend


def test_rates_are_shown_kept_and_taken(capsys: pytest.CaptureFixture[str]) -> None:
    assert forget_and_choose() == "fp64"
    assert main(["calibrate"]) == 0
    text = capsys.readouterr().out
    table = {line.split("  ")[0]: line.split()[-2:] for line in text.splitlines()}
    assert table["rate of int8"] == ["1", "TOPS"]
    assert table["complex128"][-1] == "never"
    assert f"{_core.cpu_name()}\tfloat64\t640\n" in Path(_core.measured_file()).read_text()
    assert forget_and_choose() == "int8"


def test_rates_hold_for_their_number_of_threads(variables: Callable[..., None]) -> None:
    """Within a process, too, whatever told it the number."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 9, 9))

    def reason(threads: int) -> str:
        variables(OZFP4_NUM_THREADS=str(threads))
        return ozfp4.matmul(a, b, report=True)[1].reason

    variables(OZFP4_NUM_THREADS="1")
    assert main(["calibrate", "--device", "cpu"]) == 0
    assert "int8 16 at 1, " in reason(1)
    assert reason(1).endswith("TOPS (measured on this machine with 1 thread)")
    many = reason(64)
    assert many.endswith("TOPS (typical figures of a thread)")
    assert f"fp64 6 at {64 * THREAD / 1e12:.4g}" in many
    assert f"fp64 6 at {3 * THREAD / 1e12:.4g}" in reason(3)
    assert main(["calibrate", "--device", "cpu"]) == 0
    assert "(measured on this machine with 3 threads)" in reason(3)
    assert "(measured on this machine with 1 thread)" in reason(1)


def test_broken_and_foreign_files_are_ignored() -> None:
    assert main(["calibrate", "--device", "cpu"]) == 0
    file = Path(_core.measured_file())
    lines = file.read_text()
    for broken in (
        "",
        "{",
        lines.replace(_core.rates_device(), "another"),
        lines.replace("000", "x"),
        lines[:9],
    ):
        file.write_text(broken)
        assert forget_and_choose() == "fp64", broken
    file.write_text(lines)
    assert forget_and_choose() == "int8"


def test_the_gpu_that_serves_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    current: list[int] = []

    @contextmanager
    def device(index: int) -> Iterator[None]:
        current.append(index)
        yield
        current.pop()

    measured: list[tuple[int | None, list[int]]] = []

    def measure(index: int | None, tell: object) -> dict[str, float]:
        measured.append((index, [*current]))
        return {"int8": 1.0, "thin": 0.5}

    cuda = SimpleNamespace(device=device, get_device_name=lambda index: f"GPU {index}")
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(command, "gpus", lambda: [1, 3])
    monkeypatch.setattr(calibrate, "measure", measure)
    assert main(["calibrate"]) == 0
    assert measured == [(None, []), (1, [1])]
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["time,", "thin", "0.5", "of", "its", "model"] in shown
    assert "GPU 1\tthin\t500000\n" in Path(_core.measured_file()).read_text()


def test_factors_of_a_gpus_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every way takes 30 microseconds here, twice the model's; tiles are never made."""
    what: list[dict[str, Any]] = []

    def way_of(a: Any, b: Any, c: Any) -> dict[str, Any]:
        (asked,) = (way for way in WAYS if what[-1] == calibrate.MEASURED_WAYS[way][0])
        made = "stages" if asked == "tiles" else asked
        return {"way": made, "microseconds": (15.0,) * 4}

    def forced(**forcing: bool) -> Any:
        what.append(forcing)
        return nullcontext()

    monkeypatch.setattr(calibrate, "way_of", way_of)
    monkeypatch.setattr(calibrate, "forced", forced)
    monkeypatch.setattr(calibrate, "_operands", lambda *shape: (None, None, None))
    monkeypatch.setattr(clocks, "graph_seconds", lambda product: 3e-5)
    done: list[float] = []
    figures = calibrate.measure(0, done.append)
    assert figures == pytest.approx({"int8": 1e12, "fp4": 2e9, "direct": 2, "thin": 2, "stages": 2})
    assert done == sorted(done)
    assert done[-1] == 1
