"""Effective bits against phi, and the error of graded operands against their range."""

from __future__ import annotations

from typing import Any

from common.cases import PAPER
from ozfp4._measure.machine import sentence

from . import style


def _joined(labels: list[str]) -> str:
    """One label for methods of the same bits, which says once what theirs begin with.

    >>> _joined(['ozfp4, accuracy="standard" (GPU)', 'ozfp4, accuracy="correct" (GPU)'])
    'ozfp4, accuracy="standard" (GPU) = "correct" (GPU)'
    >>> _joined(["NumPy", "torch"])
    'NumPy = torch'
    """
    shared = labels[0][: labels[0].rfind("=") + 1]
    return " = ".join([labels[0], *(label.removeprefix(shared) for label in labels[1:])])


def _curves(rows: list[dict[str, Any]], labels: dict[str, str]) -> list[tuple[str, list[tuple[int, float]]]]:
    """A curve for each group of methods with equal results everywhere; `labels` gives their order and names."""
    by_method: dict[str, dict[int, tuple[float, str]]] = {}
    for row in rows:
        if "bits" in row:
            by_method.setdefault(row["method"], {})[row["phi"]] = (row["bits"], row["sha"])
    groups: dict[tuple[tuple[int, str], ...], list[str]] = {}
    for name in labels:
        if name in by_method:
            points = sorted(by_method[name].items())
            groups.setdefault(tuple((phi, sha) for phi, (_, sha) in points), []).append(name)
    curves = []
    for names in groups.values():
        label = labels[names[0]]
        if len(names) > 1:
            ways = all(labels[name].startswith("ozfp4 ") for name in names)
            same = f'ozfp4, "scaled", {len(names)} ways'
            label = same if ways else _joined([labels[name] for name in names])
        curves.append((label, [(phi, bits) for phi, (bits, _) in sorted(by_method[names[0]].items())]))
    return curves


def effective_bits(results: dict[str, Any]) -> Any:
    """The sweep over phi; methods with equal bits share a curve."""
    settings = results["settings"]
    with style.styled() as plt:
        figure, axes = plt.subplots(figsize=(style.WIDTH, 4.4))
        for index, (label, points) in enumerate(_curves(results["rows"], results["labels"])):
            x, y = zip(*points, strict=True)
            axes.plot(x, y, label=label, **style.of_method(label, index))
        if settings["k"] == 8192:
            ring = {"ms": 13, "mfc": "none", "mec": style.RED, "mew": 1.6}
            axes.plot(list(PAPER), list(PAPER.values()), "o", label="values in the paper", **ring)
        axes.axhline(53, color=style.BLACK, lw=1, ls=":")
        axes.annotate("2⁻⁵³", (1, 53), (4, 0), textcoords="offset points", va="center", fontsize=10,
                      xycoords=("axes fraction", "data"), annotation_clip=False)  # fmt: skip
        axes.set(xlabel="spread of the exponents φ", ylabel="effective bits of the worst entry")
        figure.legend(loc="outside upper left", ncols=2, fontsize=10)
        style.note(
            figure,
            f"K = {settings['k']}, {settings['extent']} × {settings['extent']} entries, all checked; "
            + (results.get("note") or sentence(results["machine"])),
        )
    return figure


def graded_errors(results: dict[str, Any]) -> Any:
    """Test 2b of Demmel and others: the largest error over what each grade allows, against the range of exponents."""
    by_method: dict[str, list[dict[str, Any]]] = {}
    for row in results["graded"]:
        by_method.setdefault(row["method"], []).append(row)
    curves: dict[tuple[tuple[float, float], ...], str] = {}
    for name, rows in by_method.items():
        curves.setdefault(tuple((row["a"], row["b"]) for row in rows), name)
    with style.styled() as plt:
        figure, panels = plt.subplots(1, 2, figsize=(style.WIDTH, 3.8), sharey=True)
        for axes, criterion in zip(panels, "ab", strict=True):
            for index, name in enumerate(curves.values()):
                rows, label = by_method[name], results["labels"][name]
                x = [max(row["exponent"], 0.5) for row in rows]
                axes.plot(x, [row[criterion] for row in rows], label=label, **style.of_method(label, index))
            axes.axhline(1, color=style.BLACK, lw=1.2)
            ticks = sorted({row["exponent"] for rows in by_method.values() for row in rows})[::3]
            axes.set(
                xscale="log",
                yscale="log",
                title=f"over grade {criterion.upper()}",
                xlabel="e: rows range over 2^±e",
            )
            axes.set_xticks([max(t, 0.5) for t in ticks], [str(t) for t in ticks])
            axes.minorticks_off()
        panels[0].set_ylabel("largest error / allowed error")
        panels[0].yaxis.set_major_formatter(lambda x, _: "1" if x == 1 else f"{x:.0e}")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper left", ncols=2, fontsize=10)
        style.note(
            figure, f"graded operands (Demmel and others, test 2b), n = 64; {sentence(results['machine'])}"
        )
    return figure
