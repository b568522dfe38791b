"""``ozfp4 calibrate``: what is measured where, kept and shown; and that it changes what is chosen."""

from __future__ import annotations

import subprocess
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
from ozfp4._measure import calibrate, clocks, kept, thresholds
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
    """Within a process, too, whatever set the number."""
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


def test_figures_that_cannot_be_kept_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], variables: Callable[..., None]
) -> None:
    """Not even by a user with all permissions: the folder lies below a file."""
    (tmp_path / "file").touch()
    variables(OZFP4_CACHE_DIR=str(tmp_path / "file/folder"))
    assert main(["calibrate", "--device", "cpu"]) == 0
    assert capsys.readouterr().out.endswith("cannot be written: these figures are not kept\n")
    assert kept.kept_lines() == []


PROGRAM = """
import sys
from ozfp4._measure.kept import keep
for i in range(100):
    assert keep(sys.argv[1], {f"figure {i}": i + 1})
"""


def test_processes_at_once_lose_no_figure_of_each_other() -> None:
    names = [f"device {i}" for i in range(3)]
    running = [subprocess.Popen([sys.executable, "-c", PROGRAM, name]) for name in names]
    assert [process.wait(120) for process in running] == [0, 0, 0]
    lines = kept.kept_lines()
    assert sorted(lines) == sorted(f"{name}\tfigure {i}\t{i + 1}" for name in names for i in range(100))
    assert [file.name for file in Path(_core.measured_file()).parent.iterdir()] == ["calibration"]


def test_a_gpu_of_each_name_is_measured(
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

    cuda = SimpleNamespace(device=device, get_device_name=lambda index: f"GPU {min(index, 3)}")
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(command, "gpus", lambda: [1, 3, 4])
    monkeypatch.setattr(calibrate, "measure", measure)
    assert main(["calibrate"]) == 0
    assert measured == [(None, []), (1, [1]), (3, [3])]
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["time,", "thin", "0.5", "of", "its", "model"] in shown
    for name in ("GPU 1", "GPU 3"):
        assert f"{name}\tthin{_core.models_suffix}\t500000" in kept.kept_lines()


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
    monkeypatch.setattr(calibrate, "random_operands", lambda *shape: (None, None, None))
    monkeypatch.setattr(clocks, "graph_seconds", lambda product: 3e-5)
    done: list[float] = []
    figures = calibrate.measure(0, done.append)
    assert figures == pytest.approx({"int8": 1e12, "fp4": 2e9, "direct": 2, "thin": 2, "stages": 2})
    assert done == sorted(done)
    assert done[-1] == 1
