"""benchmarks/modes.py: which operands are taken, and entries that are wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import modes
import ozfp4

SMALL = ["--device", "cpu", "--sizes", "16", "--turns", "1", "--modes", "native", "standard", "correct"]


@pytest.mark.parametrize("mode", ["standard", "correct"])
def test_one_wrong_bit_is_found(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [*SMALL, "--kinds", "normal x", "lognormal(3)", "--check", "1", "-o", str(tmp_path)]
    assert modes.main(arguments) == 0
    rows = json.loads((tmp_path / "modes.json").read_text())["rows"]
    assert {row["method"]: row.get("wrong") for row in rows} == {"native": None, "standard": 0, "correct": 0}
    assert all(row["x native"] > 0 for row in rows)

    def tampered(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        c = ozfp4.matmul(a, b, accuracy=mode)
        c.view(np.uint64)[3, 2] ^= 1
        return c

    monkeypatch.setitem(modes.MODES, mode, tampered)
    assert modes.main(arguments) == 1
    assert "wrong" in capsys.readouterr().out
    rows = json.loads((tmp_path / "modes.json").read_text())["rows"]
    assert {row["wrong"] for row in rows if row["method"] == mode} == {1}
