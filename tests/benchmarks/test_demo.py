"""benchmarks/demo.py: passes on the real data, and fails when anything about the results is wrong."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import demo
import ozfp4
from ozfp4._measure import machine

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
    """Times are not checked, so there is no warm-up."""
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


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The devices that arrays were sent to."""
    torch = pytest.importorskip("torch")
    sent: list[str] = []
    to = torch.Tensor.to

    def send(tensor: Any, where: Any, *further: Any, **options: Any) -> Any:
        if where != "cuda:1":
            return to(tensor, where, *further, **options)
        sent.append(where)
        return tensor

    plan = ozfp4.plan
    monkeypatch.setattr(machine, "gpus", lambda: [1, 3])
    monkeypatch.setattr(torch.Tensor, "to", send)
    monkeypatch.setattr(ozfp4, "plan", lambda *a, device, **o: plan(*a, **o))
    return sent


def test_the_demo_takes_the_gpu(gpu: list[str], molecule: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Which torch's CPU plays."""
    assert demo.main([molecule]) == 0
    text = capsys.readouterr().out
    assert "four products, on the GPU" in text
    assert "OK: 4 ways" in text
    assert len(gpu) == 3
    assert demo.main([molecule, "--device", "cpu"]) == 0
    text = capsys.readouterr().out
    assert "four products, on the CPU" in text
    assert "OK: 6 ways" in text
    assert len(gpu) == 3
