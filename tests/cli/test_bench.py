"""``ozfp4 bench``: tables, files, resuming, reasons for missing rows, one line for bad input."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import ozfp4
from ozfp4.bench import speed
from ozfp4.cli import main
from ozfp4.cli.commands.bench import _number
from ozfp4.measure.clocks import operands

SMALL = [
    "bench",
    "--device",
    "cpu",
    "--sizes",
    "32",
    "48",
    "--budget",
    "0.01",
    "--methods",
    "II-fp64-least",
    "numpy",
]


@pytest.fixture(autouse=True)
def plain_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.table", None)


@pytest.mark.parametrize(
    ("x", "text"), [(0.012345, "0.0123"), (9.876, "9.88"), (99.94, "99.9"), (100.4, "100"), (1234.5, "1234"), (98765.4, "98765")]
)  # fmt: skip
def test_three_digits_and_never_a_power_of_ten(x: float, text: str) -> None:
    assert _number(x) == text


def test_tables_files_and_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert main([*SMALL, "-o", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "Milliseconds by stage" in text
    rows = json.loads((tmp_path / "bench.json").read_text())["rows"]
    assert [(row["N"], row["method"]) for row in rows] == [
        (n, name) for n in (32, 48) for name in ("II-fp64-least", "numpy")
    ]
    own, numpy = rows[0], rows[1]
    assert own["compute ms"] == pytest.approx(own["multiply ms"] + own["reconstruct ms"], abs=1e-3)
    assert own["compute TFLOPS"] >= own["TFLOPS"]
    assert numpy["compute TFLOPS"] == numpy["TFLOPS"]
    assert own["TFLOPS"] == pytest.approx(2 * 32**3 / own["ms"] / 1e9, rel=1e-3)
    assert {path.name for path in tmp_path.glob("*.png")} == {"bench.png", "stages.png"}


def test_auto_says_what_it_took(variables: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    bench = ["bench", "--device", "cpu", "--sizes", "48", "--budget", "0.01", "--methods", "auto"]
    variables(OZFP4_CPU_KERNEL=None)
    assert main(bench) == 0
    took = re.search(r"^auto, N = 48: (.*)$", capsys.readouterr().out, re.MULTILINE)
    a, b = operands("cpu", 48)
    ran = ozfp4.matmul(a, b, accuracy="scaled", report=True)[1]
    assert took is not None
    assert took[1] == f"{ran.backend}, {ran.kernel}"
    assert ran.backend == "direct"
    variables(OZFP4_CPU_KERNEL="sgemm")  # so that planes are asked for
    assert main(bench) == 0
    assert "\nauto, N = 48: fp64, FP64 on residues\n" in capsys.readouterr().out


def test_ctrl_c_and_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = speed.measure

    def measure(method: object, n: int, budget: float) -> dict:
        if n == 48:
            raise KeyboardInterrupt
        return real(method, n, budget)

    monkeypatch.setattr(speed, "measure", measure)
    arguments = [*SMALL, "-o", str(tmp_path), "--no-figures"]
    assert main(arguments) == 130
    assert len(json.loads((tmp_path / "bench.json").read_text())["rows"]) == 2
    monkeypatch.setattr(speed, "measure", real)
    assert main(arguments) == 0
    assert "2 finished rows taken over" in capsys.readouterr().out
    assert main([*arguments, "--fresh"]) == 0
    assert "taken over" not in capsys.readouterr().out


def test_reasons_for_missing_rows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(speed, "free_memory", lambda: 2**30 + 24 * 40**2)
    assert main(SMALL) == 0
    assert (
        "skipped II-fp64-least, N = 48: N = 48 needs about 1.0 GiB, 1.0 GiB are free"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--methods", "cublas-55"], "--methods: 'cublas-55' is not at hand; at hand are II-fp4-least"),
        (["--budget", "inf"], "--budget: inf is not a positive number of seconds"),
        (["--gemmul8", "/no/such.so"], "--gemmul8: no such file: /no/such.so"),
    ],
)
def test_bad_input(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--device", "cpu", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"ozfp4 bench: {message}")
    assert error.count("\n") == 1


def test_a_file_that_cannot_be_read_or_written_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bench.rows.jsonl").mkdir()
    arguments = ["--device", "cpu", "--sizes", "8", "--methods", "numpy", "--no-figures", "-o", str(tmp_path)]
    assert main(["bench", *arguments]) == 2
    error = capsys.readouterr().err
    assert re.fullmatch(r"ozfp4 bench: .*Is a directory: .*bench\.rows\.jsonl.*\n", error)
