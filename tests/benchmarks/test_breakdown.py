"""benchmarks/breakdown.py: the array stages are exact, in NumPy and in torch, and its tables add up."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import array_stages
import breakdown
import ozfp4
from ozfp4._measure.clocks import STAGES
from support import operands

LIBRARIES: dict[str, Callable[[Any], Any]] = {
    "numpy": lambda x: x,
    "torch": lambda x: pytest.importorskip("torch").from_numpy(x),
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("kind", ["normal", "phi8", "spikes", "final-ties", "cancelling"])
@pytest.mark.parametrize("family", ["paper", "paper-karatsuba", "least", "I"])
def test_array_stages_give_the_bits_of_matmul(library: str, kind: str, family: str) -> None:
    a, b = operands(kind, 9, 40, 7, seed=3)
    a, b = (
        np.where(abs(a) < 1e-250, 1.0, a),
        np.where(abs(b) < 1e-250, 1.0, b),
    )  # no zero lines, normal results
    x, y = LIBRARIES[library](a), LIBRARIES[library](b)
    (ia, sa), (ib, sb) = array_stages.scale(x, 1), array_stages.scale(y, 0)
    options = {"scheme": "I"} if family == "I" else {"family": family}
    plan = ozfp4.plan(9, 7, 40, backend="fp4", accuracy="scaled", **options)
    output = array_stages.multiply(array_stages.encode(ia, plan), array_stages.encode(ib, plan), plan)
    if plan.moduli:
        ways = [array_stages.garner(output, plan), array_stages.direct_crt(output, plan)]
    else:
        ways = [array_stages.positional(output, plan, 40)]
    for words in ways:
        c = np.asarray(array_stages.round_once(words, sa, sb))
        assert (c == ozfp4.matmul(a, b, accuracy="scaled")).all()


def test_rows_and_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--device", "cpu", "-n", "32", "--budget", "0.001", "--no-figures", "-o", str(tmp_path)]
    assert breakdown.main(arguments) == 0
    text = capsys.readouterr().out
    assert "Scheme II, N = 32, ms\n" in text
    rows = json.loads((tmp_path / "breakdown.json").read_text())["rows"]
    assert [(row["scheme"], row["step"]) for row in rows] == [("II", i) for i in range(1, 7)] + [
        ("I", i) for i in (1, 2, 3)
    ]
    assert [row["products"] for row in rows[:5]] == [75, 75, 75, 75, 68]
    for row in rows:
        assert row["ms"] == pytest.approx(sum(row[f"{stage} ms"] for stage in STAGES), abs=1e-3)
