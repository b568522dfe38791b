"""Each program with ``-o``: a small run, its files; what it refuses is one line and makes no folder."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import accuracy
import model
import speed

ROOT = Path(accuracy.__file__).parent
METHODS = ["II-fp64-least", "I-int8-least", "numpy"]
BITS = ["--k", "64", "--extent", "8", "--phi", "0", "8", "--methods", *METHODS]
TIMES = ["--device", "cpu", "--sizes", "32", "48", "--budget", "0.01", "--methods", "II-fp64-least", "numpy"]
MODEL = ["--device", "cpu", "--sizes", "48", "--budget", "0.01", "--methods", "II-int8-least", METHODS[0]]


@pytest.mark.slow
def test_accuracy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert accuracy.main([*BITS, "-o", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "OK: 2 ways of ozfp4, scaled, all bits the same at every phi" in text
    assert "conventional, fixed point" in text
    results = json.loads((tmp_path / "accuracy.json").read_text())
    assert results["settings"] == {"k": 64, "extent": 8, "seed": 0}
    assert [(row["phi"], row["method"]) for row in results["rows"]] == [
        (phi, name) for phi in (0, 8) for name in METHODS
    ]
    assert {row["method"] for row in results["grades"]} == set(METHODS)
    for name in ("accuracy", "grades"):
        assert (tmp_path / f"{name}.svg").stat().st_size > 5000
    assert len((tmp_path / "accuracy.csv").read_text().splitlines()) == 7


def test_speed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert speed.main([*TIMES, "-o", str(tmp_path)]) == 0
    assert "Stages" in capsys.readouterr().out
    rows = json.loads((tmp_path / "bench.json").read_text())["rows"]
    assert [(row["N"], row["method"]) for row in rows] == [
        (n, name) for n in (32, 48) for name in ("II-fp64-least", "numpy")
    ]
    assert rows[0]["TFLOPS"] == pytest.approx(2 * 32**3 / rows[0]["ms"] / 1e9, rel=1e-3)
    assert {path.name for path in tmp_path.glob("*.svg")} == {"bench.svg", "stages.svg"}


@pytest.mark.slow
def test_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(model, "copy_bandwidth", lambda device: 1e10)
    assert model.main([*MODEL, "-o", str(tmp_path)]) == 0
    assert "Predicted and measured" in capsys.readouterr().out
    results = json.loads((tmp_path / "model.json").read_text())
    assert [row["method"] for row in results["measured"]] == ["II-int8-least", "II-fp64-least"]
    row = results["measured"][0]
    assert row["compute ms"] == pytest.approx((1 + row["percent"] / 100) * row["model compute ms"], rel=1e-2)
    assert {row["status"] for row in results["projections"]} == {"modelled"}
    assert [path.name for path in tmp_path.glob("*.svg")] == ["winners.svg"]


@pytest.mark.parametrize(
    ("program", "arguments", "message"),
    [
        ("accuracy", ["--phi", "501"], "--phi: 501 is beyond 500"),
        ("accuracy", ["--gemmul8", "/no/such/library.so"], "--gemmul8: no such file"),
        ("accuracy", ["--methods", "x"], "--methods: 'x' is not at hand; at hand are II-fp4-least"),
        ("model", ["--methods", "numpy"], "--methods: 'numpy' is not at hand; at hand are II-fp4-least"),
    ],
)
def test_bad_input_is_one_line_and_makes_no_folder(
    program: str, arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new"
    assert import_module(program).main([*arguments, "-o", str(folder)]) == 2
    written = capsys.readouterr()
    assert written.err.startswith(f"{program}.py: {message}")
    assert written.err.count("\n") == 1
    assert not folder.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["cpu.py", "kernels", "integers", "small", "parts", "--sizes", "8", "--threads", "1"],
        ["modes.py", "--sizes", "16", "--turns", "1", "--kinds", "normal", "graded", "--check", "1"],
    ],
    ids=" ".join,
)
def test_a_small_run(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / arguments[0], *arguments[1:]], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
