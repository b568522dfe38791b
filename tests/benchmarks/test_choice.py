"""benchmarks/choice.py: the regret, the last line, and on the CPU every backend beside the one that is taken."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import choice


def found(chosen: str, **milliseconds: float) -> choice.Found:
    return choice.Found((2, 3, 4, 1), {name: 1e-3 * time for name, time in milliseconds.items()}, chosen)


def test_regret_and_the_last_line() -> None:
    good, worse = found("thin", thin=1.04, tiles=1.0), found("direct", direct=3.0, stages=2.0)
    assert good.best == "tiles"
    assert good.regret == pytest.approx(4)
    assert worse.regret == pytest.approx(50)
    assert found("thin", thin=1.0, tiles=9.0).regret == 0
    assert choice.summary([good, worse]) == (
        "1 of 2 within 5 % of the best; worst: 2 x 3 x 4, direct, 50.0 % over stages"
    )


def test_every_backend_of_the_cpu(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(choice, "SHAPES", [(8, 4, 2, 1), (3, 3, 3, 2), (2**10, 2**10, 2**10, 1)])
    assert choice.main(["--quick", "--device", "cpu", "-o", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert re.search(
        r"^\d of 2 within 5 % of the best", text, re.MULTILINE
    )  # the third is too long for a quick look
    assert "\n8 x 4 x 2 " in text
    assert "\n3 x 3 x 3 x2 " in text
    for row in json.loads((tmp_path / "choice.json").read_text())["rows"]:
        assert set(row["seconds"]) - {"direct"} == {"fp64", "int8", "fp4"}
        assert row["chosen"] in row["seconds"]
