"""Speed against size and by hardware, and where the time of a product goes."""

from __future__ import annotations

from typing import Any

from ozfp4._measure.clocks import STAGES
from ozfp4._measure.machine import sentence

from . import style


def unit_of(rows: list[dict[str, Any]]) -> tuple[float, str]:
    """The factor for TFLOPS in the table, and its unit: gigaflops where teraflops would begin with zeros."""
    return (1, "TFLOPS") if max(row.get("TFLOPS", 0) for row in rows) >= 1 else (1000, "GFLOPS")


def speeds(results: dict[str, Any], limit: tuple[float, str] | None = None) -> Any:
    """TFLOPS of whole calls against N, one line for each method; `limit` and what it is are the top edge."""
    labels = results["labels"]
    rows = [row for row in results["rows"] if "skipped" not in row]
    sizes = sorted({row["N"] for row in rows})
    factor, unit = unit_of(rows)
    with style.styled() as plt:
        figure, axes = plt.subplots(figsize=(style.WIDTH, 4.4))
        for index, name in enumerate(name for name in labels if any(row["method"] == name for row in rows)):
            points = sorted((row["N"], row["TFLOPS"]) for row in rows if row["method"] == name)
            x, y = zip(*points, strict=True)
            axes.plot(x, [factor * v for v in y], label=labels[name], **style.of_method(labels[name], index))
        axes.set(xscale="log", xlabel="N", ylabel=f"{unit} = 2 N³ / t, whole call")
        _vertical_scale(axes, [factor * row["TFLOPS"] for row in rows])
        if limit:
            axes.set_ylim(0, limit[0])
            axes.spines["top"].set_visible(True)
            axes.set_title(f"top edge: {limit[1]}, {limit[0]:.0f} {unit}", fontsize=10)
        axes.set_xticks(sizes, map(str, sizes), minor=False)
        axes.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
        figure.legend(loc="outside upper left", ncols=2, fontsize=10)
        style.note(figure, results.get("note") or sentence(results["machine"]))
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
    """Share of each stage in the time of all stages, by method and N."""
    labels = results["labels"]
    rows = [row for row in results["rows"] if "multiply ms" in row]
    rows.sort(key=lambda row: (list(labels).index(row["method"]), row["N"]))
    is_one = len({row["method"] for row in rows}) == 1
    with style.styled() as plt:
        figure, axes = plt.subplots(figsize=(style.WIDTH, 0.3 * len(rows) + 1.6))
        for y, row in enumerate(rows):
            total = sum(row[f"{stage} ms"] for stage in STAGES)
            style.stack(axes, y, {stage: 100 * row[f"{stage} ms"] / total for stage in STAGES}, 0.8)
        names = [f"N = {row['N']}" if is_one else f"{labels[row['method']]}, {row['N']}" for row in rows]
        axes.set_yticks(range(len(rows)), names)
        axes.grid(axis="y", visible=False)
        axes.set(xlabel="percent of the time of all stages", xlim=(0, 100), ylim=(len(rows) - 0.4, -0.6))
        figure.legend(loc="outside upper left", ncols=4, columnspacing=1, handlelength=1)
        style.note(figure, sentence(results["machine"]))
    return figure


def relative(rows: list[tuple[str, int, float, bool]], text: str) -> Any:
    """A bar of how fast products are in times of native FP64, for each of `rows`: hardware, N, that, and whether it is
    modelled."""
    rows = sorted(rows, key=lambda row: row[2])
    with style.styled() as plt:
        figure, axes = plt.subplots(figsize=(style.WIDTH, 0.33 * len(rows) + 1.5))
        for y, (_, _, x, is_modelled) in enumerate(rows):
            face = "white" if is_modelled else style.BLUE
            axes.barh(y, x - 1, 0.7, left=1, color=face, edgecolor=style.BLUE, lw=1.2)
            style.beside(axes, f"{x:.2g}" if x < 100 else f"{x:.0f}", (max(x, 1), y))
        axes.axvline(1, color=style.BLACK, lw=1.4)
        axes.set_yticks(range(len(rows)), [f"{name}, N = {n}" for name, n, _, _ in rows], fontsize=10)
        axes.grid(axis="y", visible=False)
        axes.set(xscale="log", xlim=(0.1, 300))
        axes.set_xlabel("speed relative to native FP64", loc="right")
        axes.set_xticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
        handles = [plt.Rectangle((0, 0), 1, 1, fc=face, ec=style.BLUE) for face in (style.BLUE, "white")]
        figure.legend(
            handles, ["measured", "modelled, not run on hardware"], loc="outside upper left", ncols=2
        )
        style.note(figure, text)
    return figure
