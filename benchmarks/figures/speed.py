"""Speed against size, and where the time of a product goes."""

from __future__ import annotations

from typing import Any

from ozfp4._measure.clocks import STAGES
from ozfp4._measure.machine import sentence

from . import style


def unit_of(rows: list[dict[str, Any]]) -> tuple[float, str]:
    """The factor for TFLOPS in the table, and its unit: gigaflops where teraflops would begin with zeros."""
    return (1, "TFLOPS") if max(row.get("TFLOPS", 0) for row in rows) >= 1 else (1000, "GFLOPS")


def speeds(results: dict[str, Any]) -> Any:
    """TFLOPS of whole calls against N, one line for each method."""
    labels = results["labels"]
    rows = [row for row in results["rows"] if "skipped" not in row]
    sizes = sorted({row["N"] for row in rows})
    factor, unit = unit_of(rows)
    with style.styled() as plt:
        figure, axes = plt.subplots(figsize=(7.4, 4.6))
        for index, name in enumerate(name for name in labels if any(row["method"] == name for row in rows)):
            points = sorted((row["N"], row["TFLOPS"]) for row in rows if row["method"] == name)
            x, y = zip(*points, strict=True)
            axes.plot(x, [factor * v for v in y], label=labels[name], **style.look(index))
        axes.set(xscale="log", xlabel="N", ylabel=f"{unit} = 2 N³ / t, whole call")
        _vertical_scale(axes, [factor * row["TFLOPS"] for row in rows])
        axes.set_xticks(sizes, map(str, sizes), minor=False)
        axes.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
        figure.legend(loc="outside upper left", ncols=3, fontsize=9)
        style.note(figure, sentence(results["machine"]))
    return figure


def _vertical_scale(axes: Any, values: list[float]) -> None:
    """From zero if the values lie within a factor of 30, else logarithmic with ticks at 1, 2 and 5."""
    if max(values) < 30 * min(values):
        axes.set_ylim(0, 1.08 * max(values))
        return
    axes.set_yscale("log")
    decades = range(-3, 5)
    ticks = [
        t * 10.0**d for d in decades for t in (1, 2, 5) if min(values) / 2 < t * 10.0**d < 2 * max(values)
    ]
    axes.set_yticks(ticks, [f"{t:g}" for t in ticks])
    axes.tick_params(axis="y", which="minor", left=False)


def stages(results: dict[str, Any]) -> Any:
    """Share of each stage in the time of a product, by method and N, and the time of a whole call.

    Whole calls let stages overlap, and so take less than the stages one by one.
    """
    labels = results["labels"]
    rows = [row for row in results["rows"] if "multiply ms" in row]
    rows.sort(key=lambda row: (list(labels).index(row["method"]), row["N"]))
    with style.styled() as plt:
        figure, axes = plt.subplots(figsize=(7.4, 0.27 * len(rows) + 1.5))
        for y, row in enumerate(rows):
            total = sum(row[f"{stage} ms"] for stage in STAGES)
            style.stack(axes, y, {stage: 100 * row[f"{stage} ms"] / total for stage in STAGES}, 0.8)
            call = row["ms"]
            style.beside(axes, f"{call:.3g} ms" if call < 1000 else f"{call / 1e3:.3g} s", (100, y), 8.5)
        axes.set_yticks(
            range(len(rows)), [f"{labels[row['method']]}, {row['N']}" for row in rows], fontsize=9
        )
        axes.grid(axis="y", visible=False)
        axes.set(
            xlabel="percent of the time of all stages; at the right a whole call",
            xlim=(0, 112),
            ylim=(len(rows) - 0.4, -0.6),
        )
        axes.set_xticks(range(0, 101, 20))
        figure.legend(loc="outside upper left", ncols=4)
        style.note(figure, sentence(results["machine"]))
    return figure
