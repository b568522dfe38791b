"""``ozfp4 calibrate``: what is measured where, kept and shown; and that it changes what is chosen."""

from __future__ import annotations

import re
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
from ozfp4._cli import calibration, main
from ozfp4._cost import peaks
from ozfp4._cost.peaks import WAYS, DevicePeaks
from ozfp4._dispatch import this_machine
from ozfp4._measure import calibrate, clocks, thresholds
from ozfp4._support import disk_cache

RATES = {"fp64": 1e9, "int8": 1e12, "fp4": 2e9}


@pytest.fixture(autouse=True)
def plain(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, no_int8_unit: None, variables: Callable[..., None]
) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "rich.table", None)
    variables(OZFP4_CACHE_DIR=str(tmp_path))
    monkeypatch.setattr("ozfp4._measure.machine.have_cuda", lambda: False)
    monkeypatch.setattr(clocks, "multiply_rate", lambda device, plan, n: RATES[plan.alphabet])
    monkeypatch.setattr(clocks, "copy_bandwidth", lambda device: 7e9)
    monkeypatch.setattr(thresholds, "measure", lambda index: ("a CPU", {"float64": 640, "complex128": None}))
    this_machine._forget()
    yield
    this_machine._forget()


def forget_and_choose() -> str:
    """As another process does."""
    this_machine._forget()
    return this_machine.cpu_choice("II", "least", 53, 64).backend


def test_what_is_found_is_shown_kept_and_taken(capsys: pytest.CaptureFixture[str]) -> None:
    assert forget_and_choose() == "fp64"
    assert main(["calibrate"]) == 0
    text = capsys.readouterr().out
    table = {line.split("  ")[0]: line.split()[-3:] for line in text.splitlines()}
    nominal = this_machine.nominal_cpu()
    assert table["rate of int8"] == ["1", f"{nominal.rates['II', 'int8'] / 1e12:.4g}", "TOPS"]
    assert table["bandwidth"] == ["7", f"{nominal.bandwidth / 1e9:.4g}", "GB/s"]
    assert table["complex128"][-1] == "never"
    assert "a CPU\tfloat64\t640\n" in Path(_core.threshold_file()).read_text()
    assert forget_and_choose() == "int8"


def test_what_is_measured_holds_for_its_number_of_threads(variables: Callable[..., None]) -> None:
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
    assert f"fp64 6 at {64 * peaks.CPU_THREAD_FLOPS / 1e12:.4g}" in many
    assert f"fp64 6 at {3 * peaks.CPU_THREAD_FLOPS / 1e12:.4g}" in reason(3)
    assert main(["calibrate", "--device", "cpu"]) == 0
    assert "(measured on this machine with 3 threads)" in reason(3)
    assert "(measured on this machine with 1 thread)" in reason(1)


def test_what_is_broken_or_of_another_machine_is_ignored(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", "--device", "cpu"]) == 0
    file = disk_cache.file_of(this_machine._cpu_key(this_machine._byte_unit(), _core.thread_count()))
    assert file is not None
    kept = file.read_text()
    for broken in ("", "{", '{"key": {}, "value": {}}', kept.replace('"finding": "rates"', '"finding": "x"')):
        file.write_text(broken)
        assert forget_and_choose() == "fp64", broken
        assert this_machine.this_cpu().basis == "typical figures of a thread"
    file.write_text(kept)
    assert forget_and_choose() == "int8"


def test_a_folder_that_cannot_be_written_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_cache, "store", lambda key, value: False)
    assert main(["calibrate"]) == 0
    assert "the cache folder cannot be written" in capsys.readouterr().out


def test_the_gpu_that_serves_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    current: list[int] = []

    @contextmanager
    def device(index: int) -> Iterator[None]:
        current.append(index)
        yield
        current.pop()

    measured: list[tuple[int | None, list[int]]] = []

    def measure(index: int | None, tell: object) -> dict[str, float]:
        measured.append((index, [*current]))
        return {"bandwidth": 1.0}

    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=SimpleNamespace(device=device)))
    monkeypatch.setattr(calibration, "gpus", lambda: [1, 3])
    monkeypatch.setattr(calibrate, "measure", measure)
    kept: list[int | None] = []
    monkeypatch.setattr(this_machine, "keep_measured", lambda index, figures: kept.append(index) or True)
    assert set(calibration.calibrate()) == {None, 1}
    assert measured == [(None, []), (1, [1])]
    assert kept == [None, 1]


def test_a_gpu_by_its_ways(monkeypatch: pytest.MonkeyPatch) -> None:
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
    monkeypatch.setattr(calibrate, "launch_seconds", lambda: 3e-6)
    monkeypatch.setattr(clocks, "graph_seconds", lambda product: 3e-5)
    done: list[float] = []
    figures = calibrate.measure(0, done.append)
    assert figures == pytest.approx(
        {"int8": 1e12, "fp4": 2e9, "bandwidth": 7e9, "launch": 3e-6, "direct": 2, "thin": 2, "stages": 2}
    )
    assert done == sorted(done)
    assert done[-1] == 1
    rows = calibration.rows(figures, DevicePeaks("X", {("II", "int8"): 5e11}, 1e9, launch=4e-6))
    assert ["rate of int8", "1", "0.5", "TOPS"] in rows
    assert ["a launch", "3", "4", "µs"] in rows
    assert ["time, thin", "2", "1", "of its model"] in rows
    assert all(re.fullmatch(r"[\d.e+-]+", cell) for row in rows for cell in row[1:3])
