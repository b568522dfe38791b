"""benchmarks/demo.py: passes on the real data, and fails when anything about the results is wrong."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import demo
from ozfp4._measure import machine

PROGRAM = Path(demo.__file__)
ROWS = [f"{scheme} {backend} {family}" for scheme, backend, family in demo.PATHS if family == "least"]


@pytest.fixture
def molecule(tmp_path: Path) -> str:
    """Symmetric S and F, and a C with fewer orbitals than basis functions."""
    rng = np.random.default_rng(5)
    s, f = rng.standard_normal((2, 9, 9)) * 2.0 ** rng.integers(-40, 1, (2, 9, 9))
    path = tmp_path / "molecule.npz"
    np.savez(path, S=s + s.T, F=f + f.T, C=rng.standard_normal((9, 6)))
    return str(path)


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever this machine has."""
    monkeypatch.setattr(machine, "gpus", list)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is checked is not what it takes."""
    monkeypatch.setattr(demo, "WARM_UP", 0.0)


def table_rows(text: str) -> dict[str, list[str]]:
    """Cells after the label of each row of the first table."""
    rows = {}
    for line in text.split("Cost and bits", 1)[1].splitlines():
        words = line.split()
        if words[:1] in (["I"], ["II"], ["!"]):
            start = 1 if words[0] == "!" else 0
            rows[" ".join(words[start : start + 3])] = words[start + 3 :]
    return rows


def test_another_molecule(molecule: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main([molecule]) == 0
    text = capsys.readouterr().out
    entries = 2 * (9 * 6 + 6 * 6)
    assert text.startswith(f"{molecule}: overlap S, Fock matrix F, 6 orbitals C over 9 basis functions")
    assert list(table_rows(text)) == ROWS
    assert f"OK: 6 ways, {entries} entries each" in text
    for title in ("Cost and bits", "Largest errors", "Identities of the orbitals"):
        assert f"\n{title}" in text


def flip(x: np.ndarray, index: tuple[int, ...]) -> None:
    x.view(np.uint64)[index] ^= 1


@pytest.mark.parametrize("row", ROWS)
def test_one_wrong_bit_of_one_way_fails(
    row: str, molecule: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = demo.chosen.matmul

    def tampered(a: np.ndarray, b: np.ndarray, **options):
        c, report = right(a, b, **options)
        if f"{options['scheme']} {options['backend']} {options['family']}" == row and len(a) == 6:
            flip(c, (3, 2))
        return c, report

    monkeypatch.setattr(demo.chosen, "matmul", tampered)
    assert demo.main([molecule]) == 1
    text = capsys.readouterr().out
    assert f"FAILED: {row}: CᵀSC: 1 of 36 entries differ, first at (3, 2): " in text
    assert "FAILED: the 6 ways gave 2 different results" in text
    assert "OK:" not in text
    assert re.search(rf"^! +{' +'.join(row.split())} ", text, re.MULTILINE)
    assert len(re.findall(r"^FAILED", text, re.MULTILINE)) == 2


def test_a_result_that_depends_on_the_run_is_noticed(
    molecule: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sign of zero is a bit like any other."""
    right = demo.chosen.matmul

    def tampered(a: np.ndarray, b: np.ndarray, **options):
        c, report = right(a, b, **options)
        return (-c if options["backend"] == "int8" else c), report

    monkeypatch.setattr(demo.chosen, "matmul", tampered)
    assert demo.main([molecule]) == 1
    assert "FAILED: II int8 least: SC: 54 of 54 entries differ" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"S": np.eye(3), "F": np.eye(3)}, r"C: no such member; the file holds S, F"),
        ({"S": np.eye(3), "F": np.eye(3), "C": np.ones(3)}, r"C: not a finite float64 matrix, .*\(3,\)"),
        ({"S": np.eye(3), "F": np.eye(2), "C": np.eye(3)}, r"F: shape \(2, 2\) does not fit C, \(3, 3\)"),
        ({"S": np.full((3, 3), np.nan), "F": np.eye(3), "C": np.eye(3)}, r"S: not a finite float64 matrix.*"),
        ({"S": np.eye(3, dtype="f4"), "F": np.eye(3), "C": np.eye(3)}, r"S: not a finite float64 matrix.*"),
        ({"S": np.eye(3, dtype=int), "F": np.eye(3), "C": np.eye(3)}, r"S: not a finite float64 matrix.*"),
    ],
)  # fmt: skip
def test_files_that_do_not_fit(
    members: dict[str, np.ndarray], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, **members)
    assert demo.main([str(path)]) == 2
    written = capsys.readouterr()
    assert re.fullmatch(rf"demo.py: FILE: {re.escape(str(path))}:{message}\n", written.err)
    assert written.out == ""


def test_wrong_usage_is_one_line_and_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        demo.main(["--accuracy", "right"])
    assert stop.value.code == 2
    written = capsys.readouterr()
    assert written.out == ""
    assert re.fullmatch(r"demo\.py: [^\n]+\(see demo\.py --help\)\n", written.err)


def test_interrupt_is_status_130(
    molecule: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo.chosen, "matmul", interrupted)
    assert demo.main([molecule]) == 130
    assert capsys.readouterr().err == "demo.py: interrupted\n"


NONSENSE = [
    ("OZFP4_VERBOSE", "loud", "'loud' is unknown; allowed are '0', '1'"),
    ("OZFP4_NUM_THREADS", "many", "'many' is no number in 1..65536"),
]


@pytest.mark.parametrize(("variable", "value", "complaint"), NONSENSE)
def test_nonsense_in_the_environment_is_told_in_one_line(variable: str, value: str, complaint: str) -> None:
    done = subprocess.run(
        [sys.executable, PROGRAM],
        env={**os.environ, variable: value},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"demo.py: {variable}: {complaint}")
    assert len(done.stderr.splitlines()) == 1
