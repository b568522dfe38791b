"""Gains of the optimisations: the time of the stages, step by step."""

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
            figsize=(style.WIDTH, 0.55 * len(rows) + 0.9 * len(schemes) + 0.7),
            height_ratios=counts,
            squeeze=False,
        )
        for axes, scheme in zip(panels[:, 0], schemes, strict=True):
            here = [row for row in rows if row["scheme"] == scheme]
            _panel(axes, here)
            axes.set(title=f"Scheme {scheme}, N = {here[0]['N']}", xlabel="ms")
        handles, names = panels[0, 0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper left", ncols=4, columnspacing=1, handlelength=1)
        style.note(figure, sentence(results["machine"]))
    return figure


def _panel(axes: Any, rows: list[dict[str, Any]]) -> None:
    for y, row in enumerate(rows):
        end = style.stack(axes, y, {stage: row[f"{stage} ms"] for stage in STAGES}, 0.4)
        gain = f", {rows[0]['ms'] / row['ms']:.1f} ×" if y else ""
        style.beside(axes, f"{row['ms']:.4g} ms{gain}", (end, y))
        label = f"{row['step']}. {row['products']} products, {row['label']}"
        axes.annotate(textwrap.fill(label, 72), (0, y - 0.24), va="bottom", fontsize=style.SMALL)
    axes.set_yticks([])
    axes.set_ylim(len(rows) - 0.6, -0.9)
    axes.margins(x=0.3)
    axes.grid(axis="y", visible=False)
