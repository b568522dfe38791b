"""What each optimisation brings: the time of the stages, step by step."""

from __future__ import annotations

import textwrap
from typing import Any

from ozfp4._measure.clocks import STAGES
from ozfp4._measure.machine import sentence

from . import style


def breakdown(results: dict[str, Any]) -> Any:
    """A stacked bar for each step of each scheme, first step on top."""
    rows = results["rows"]
    schemes = list(dict.fromkeys(row["scheme"] for row in rows))
    counts = [sum(row["scheme"] == scheme for row in rows) for scheme in schemes]
    with style.styled() as plt:
        figure, panels = plt.subplots(
            len(schemes),
            1,
            figsize=(8.2, 0.55 * len(rows) + 1.0 * len(schemes) + 0.9),
            height_ratios=counts,
            squeeze=False,
        )
        for axes, scheme in zip(panels[:, 0], schemes, strict=True):
            here = [row for row in rows if row["scheme"] == scheme]
            _panel(axes, here)
            axes.set_title(f"Scheme {scheme}, N = {here[0]['N']}")
        panels[-1, 0].set_xlabel("ms")
        handles, names = panels[0, 0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper left", ncols=4)
        style.note(
            figure,
            "Encode, multiply and reconstruct begin as array operations (NumPy, torch) and become those of the product path; "
            + sentence(results["machine"]),
        )
    return figure


def _panel(axes: Any, rows: list[dict[str, Any]]) -> None:
    for y, row in enumerate(rows):
        end = style.stack(axes, y, {stage: row[f"{stage} ms"] for stage in STAGES}, 0.72)
        gain = f", {rows[0]['ms'] / row['ms']:.1f} ×" if y else ""
        style.beside(axes, f"{row['ms']:.4g} ms{gain}", (end, y))
    labels = [textwrap.fill(f"{row['step']}. {row['label']} ({row['products']})", 34) for row in rows]
    axes.set_yticks(range(len(rows)), labels, fontsize=9)
    axes.set_ylim(len(rows) - 0.45, -0.55)
    axes.margins(x=0.2)
    axes.grid(axis="y", visible=False)
