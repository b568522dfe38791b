"""Scaling over ranks: measured beside modelled, and modelled alone for groups that nothing was measured on."""

from __future__ import annotations

from typing import Any

from ..figures import style
from ..provenance import sentence

PANELS = (
    ("strong", "speed-up", "times faster than one rank"),
    ("weak", "efficiency", "speed of a rank beside one alone"),
)


def _cases(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        name = f"a {row['a']}, b {row['b']}" + ("" if row["method"] == "auto" else f", {row['method']}")
        found.setdefault(name, []).append(row)
    return found


def measured(results: dict[str, Any]) -> Any:
    """Speed-up of strong and efficiency of weak scaling against the ranks, at the largest N: measured, and dashed
    modelled."""
    rows = [row for row in results["rows"] if "model ms" in row]
    n = max(row["N"] for row in rows)
    rows = [row for row in rows if row["N"] == n]
    names = list(_cases(rows))
    with style.styled() as plt:
        figure, panels = plt.subplots(1, 2, figsize=(9.6, 4.6))
        for axes, (kind, value, label) in zip(panels, PANELS, strict=True):
            own = [row for row in rows if row["kind"] == kind]
            ranks = sorted({1, *(row["ranks"] for row in own)})
            axes.plot(
                ranks, ranks if kind == "strong" else [1] * len(ranks), color=style.GREY, lw=1, label="_ideal"
            )
            for name, points in _cases(own).items():
                index = names.index(name)
                points.sort(key=lambda row: row["ranks"])
                x = [1, *(row["ranks"] for row in points)]
                y = [1, *(row[value] for row in points)]
                modelled = [1, *(row[value] * row["ms"] / row["model ms"] for row in points)]
                look = {"color": style.CYCLE[index % 8]}
                axes.plot(
                    x, y, marker=style.MARKERS[index % 8], label=name if kind == "strong" else None, **look
                )
                axes.plot(x, modelled, ls="--", lw=1.2, **look)
            axes.set_xticks(ranks, map(str, ranks))
            axes.set(xlabel="ranks", ylabel=label, ylim=(0, None))
            axes.set_title(f"{kind.capitalize()} scaling, N = {n}")
        figure.legend(loc="outside upper left", ncols=2, fontsize=9)
        style.note(figure, "dashed: the model; grey: ideal; " + sentence(results["machine"]))
    return figure
