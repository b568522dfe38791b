"""``ozfp4 accuracy``: tables, files, resuming, and one line for bad input."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from ozfp4.bench import accuracy
from ozfp4.cli import main

SMALL = [
    "accuracy",
    "--k",
    "64",
    "--extent",
    "8",
    "--phi",
    "0",
    "8",
    "--methods",
    "II-fp64-least",
    "I-int8-least",
    "numpy",
]


@pytest.fixture(autouse=True)
def plain_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.table", None)


@pytest.mark.slow
def test_table_files_and_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert main([*SMALL, "-o", str(tmp_path / "new")]) == 0
    text = capsys.readouterr().out
    assert "OK: 2 ways of ozfp4, scaled, all bits the same at every phi" in text
    assert "conventional, fixed point" in text
    results = json.loads((tmp_path / "new" / "accuracy.json").read_text())
    assert results["settings"] == {"k": 64, "extent": 8, "seed": 0}
    assert [(row["phi"], row["method"]) for row in results["rows"]] == [
        (phi, name) for phi in (0, 8) for name in SMALL[-3:]
    ]
    assert {row["method"] for row in results["grades"]} == set(SMALL[-3:])
    for name in ("accuracy", "grades"):
        assert (tmp_path / "new" / f"{name}.svg").stat().st_size > 5000
        assert (tmp_path / "new" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    lines = (tmp_path / "new" / "accuracy.csv").read_text().splitlines()
    assert len(lines) == 7
    assert lines[0].startswith("phi,method,bits,")


@pytest.mark.slow
def test_modes_are_compared_with_their_like(capsys: pytest.CaptureFixture[str]) -> None:
    """Their results differ from those of 53 bits a row and from each other; grade A throughout."""
    names = ["standard", "correct", "II-fp64-least", "I-int8-least"]
    assert main([*SMALL[:9], *names]) == 0
    text = capsys.readouterr().out
    assert "OK: 2 ways of ozfp4, scaled, all bits the same at every phi" in text
    assert text.count("conventional, floating point") == 2
    assert text.count("2^±504") == 2


def test_ctrl_c_keeps_finished_rows_and_the_next_run_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured: list[tuple[int, str]] = []
    real = accuracy.measure

    def measure(case: accuracy.Case, method: object) -> dict:
        if len(measured) == 4:
            measured.clear()
            raise KeyboardInterrupt
        row = real(case, method)
        measured.append((row["phi"], row["method"]))
        return row

    monkeypatch.setattr(accuracy, "measure", measure)
    arguments = [*SMALL, "--no-grades", "--no-figures", "-o", str(tmp_path)]
    assert main(arguments) == 130
    written = capsys.readouterr()
    assert "Effective bits" in written.out
    assert written.err.splitlines()[-1] == "ozfp4 accuracy: interrupted"
    assert len(json.loads((tmp_path / "accuracy.json").read_text())["rows"]) == 4
    assert main(arguments) == 0
    assert measured == [(8, "I-int8-least"), (8, "numpy")]
    assert "4 finished rows taken over" in capsys.readouterr().out
    assert len(json.loads((tmp_path / "accuracy.json").read_text())["rows"]) == 6


def test_a_method_that_fails_is_skipped_with_its_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = accuracy.measure

    def measure(case: accuracy.Case, method: object) -> dict:
        if method.name == "numpy":
            raise RuntimeError("out of luck\nand more")
        return real(case, method)

    monkeypatch.setattr(accuracy, "measure", measure)
    assert main([*SMALL, "--no-grades"]) == 0
    assert "skipped NumPy: out of luck\n" in capsys.readouterr().out


@pytest.mark.parametrize("k", [10**18, 10**30])
def test_an_inner_dimension_beyond_memory_is_skipped(k: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["accuracy", "--k", str(k), "--phi", "0", "--methods", "numpy", "--no-grades"]) == 0
    assert f"skipped NumPy: K = {k} needs about " in capsys.readouterr().out


@pytest.mark.parametrize("command", ["accuracy", "bench", "model"])
def test_what_is_refused_makes_no_folder(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new"
    assert main([command, "--methods", "nonsense", "-o", str(folder)]) == 2
    assert not folder.exists()
    monkeypatch.setattr("ozfp4.cli.experiment.find_spec", lambda name: None)
    assert main([command, "-o", str(folder)]) == 2
    assert not folder.exists()
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 2
    assert errors[1].startswith(f"ozfp4 {command}: figures need matplotlib")


def test_two_ways_that_differ_fail(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one bit of one entry, at one phi of two; NumPy may differ as it does."""
    real = accuracy.fingerprint
    calls: list[str] = []

    def fingerprint(c: np.ndarray) -> str:
        calls.append("")
        if len(calls) == 5:  # phi 8, the second of three methods
            c = c.copy()
            c.view(np.uint64)[3, 2] ^= 1
        return real(c)

    monkeypatch.setattr(accuracy, "fingerprint", fingerprint)
    assert main([*SMALL, "--no-grades"]) == 1
    text = capsys.readouterr().out
    assert text.count("FAILED: ") == 1
    assert "FAILED: phi 8: II-fp64-least " in text
    assert ", I-int8-least " in text
    assert "OK:" not in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--methods", "nonsense"], "--methods: 'nonsense' is not at hand; at hand are II-fp4-least"),
        (["--phi", "501"], "--phi: 501 is beyond 500"),
        (["--gemmul8", "/no/such/library.so"], "--gemmul8: no such file"),
        (["-o", "/proc/nothing/here"], "--output: /proc/nothing/here: cannot be made"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["accuracy", *arguments]) == 2
    written = capsys.readouterr()
    assert written.out == ""
    assert written.err.startswith(f"ozfp4 accuracy: {message}")
    assert written.err.count("\n") == 1


@pytest.mark.parametrize("arguments", [["--phi", "x"], ["--k", "0"], ["--extent", "-3"], ["--seed", "1.5"]])
def test_bad_numbers_are_one_line_and_status_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["accuracy", *arguments])
    assert stop.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_without_matplotlib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ozfp4.cli.experiment.find_spec", lambda name: None)
    assert main([*SMALL, "-o", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("ozfp4 accuracy: figures need matplotlib")
    assert main([*SMALL, "-o", str(tmp_path), "--no-figures", "--no-grades"]) == 0
    assert not list(tmp_path.glob("*.png"))
