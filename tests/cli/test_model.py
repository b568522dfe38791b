"""``ozfp4 model``: the paper's table, this machine, projections, and one line for bad input."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from ozfp4.bench import speed
from ozfp4.cli import main
from ozfp4.measure import clocks

SMALL = [
    "model",
    "--device",
    "cpu",
    "--sizes",
    "48",
    "--budget",
    "0.01",
    "--methods",
    "II-int8-least",
    "II-fp64-least",
]


@pytest.fixture(autouse=True)
def plain_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.table", None)
    monkeypatch.setattr(clocks, "copy_bandwidth", lambda device: 1e10)


def test_without_measuring(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "--no-measure"]) == 0
    text = capsys.readouterr().out
    assert "MODELLED" in text
    assert "16384     468.54           15.13       508.15      +5.1 %          +5 %" in text
    assert "OzII-FP4 attains 61 to 65 % of its nominal peak (paper: 61 to 65 %)" in text


@pytest.mark.slow
def test_tables_files_and_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert main([*SMALL, "-o", str(tmp_path)]) == 0
    assert "Predicted and measured" in capsys.readouterr().out
    results = json.loads((tmp_path / "model.json").read_text())
    assert [row["method"] for row in results["measured"]] == ["II-int8-least", "II-fp64-least"]
    row = results["measured"][0]
    assert row["compute ms"] == pytest.approx((1 + row["percent"] / 100) * row["model compute ms"], rel=1e-2)
    assert {row["status"] for row in results["projections"]} == {"modelled"}
    assert len(list(tmp_path.glob("*.svg"))) == len(list(tmp_path.glob("*.png"))) == 4
    assert main([*SMALL, "-o", str(tmp_path), "--no-figures"]) == 0
    assert "2 finished rows taken over" in capsys.readouterr().out


def test_sizes_beyond_memory_are_skipped_with_the_reason(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speed, "free_memory", lambda: 2**31)
    assert main([*SMALL[:3], "--sizes", "10000000", *SMALL[5:]]) == 0
    text = capsys.readouterr().out
    assert "skipped ozfp4 II int8: N = 10000000 needs about 2235175.2 GiB, 2.0 GiB are free" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--methods", "numpy"], "--methods: 'numpy' is not at hand; at hand are II-fp4-least"),
        (["--budget", "-1"], "--budget: -1.0 is not a positive number of seconds"),
        (["--budget", "nan"], "--budget: nan is not a positive number of seconds"),
        (["--device", "cuda"], "--device: cuda: no GPU that this build has kernels for"),
    ],
)
def test_bad_input(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ozfp4.measure.machine.have_cuda", lambda: False)
    assert main(["model", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"ozfp4 model: {message}")
    assert error.count("\n") == 1


@pytest.mark.parametrize("text", ["0", "1.1", "x", "-0.5", "nan"])
def test_bad_fractions(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["model", "--attained", text])
    assert stop.value.code == 2
    assert "is not a fraction above 0 and up to 1" in capsys.readouterr().err
