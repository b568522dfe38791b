"""The figures of the model show what their data say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib")
from ozfp4.bench import model
from ozfp4.bench.figures import model as figures


def test_every_name_stands_in_its_own_region() -> None:
    field = [
        c for c in model.contenders(16384) if c.name in ("FP4 least", "FP8 published", "INT8", "native FP64")
    ]
    axes = figures.winners_map(field, (0.5,), 16384).axes[0]
    named = {c.name: c for c in field}
    short = {figures._SHORT[name]: named[name] for name in named}
    texts = [
        t for t in axes.texts if t.get_text().partition("\n")[0] in short and t.get_fontweight() == "bold"
    ]
    assert len(texts) >= 2
    for text in texts:
        x, y = text.get_position()
        winner = figures._winners(field, 0.5, [x], [y])[0, 0]
        assert field[winner] is short[text.get_text().partition("\n")[0]]


def row(n: int) -> dict[str, Any]:
    stages = {"compute ms": 2.0, "preprocess ms": 1.0, "model compute ms": 1.5, "model preprocess ms": 0.5}
    return {"N": n, "method": "int8", "percent": 33.3, **stages}


@pytest.mark.parametrize("sizes", [1, 2, 4])
def test_a_panel_for_every_size_and_none_beside(sizes: int) -> None:
    rows = [row(2**i) for i in range(sizes)]
    results = {
        "measured": rows,
        "labels": {"int8": "INT8"},
        "machine": {"device": "a machine", "date": "today"},
    }
    shown = [axes for axes in figures.predicted_and_measured(results).axes if axes.axison]
    assert [axes.get_title(loc="left") for axes in shown] == [f"N = {2**i}" for i in range(sizes)]
    for axes in shown:
        widths = [patch.get_width() for patch in axes.patches]
        assert np.array_equal(widths, [2.0, 1.0, 1.5, 0.5])
