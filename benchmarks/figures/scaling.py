"""Scaling over ranks: measured beside modelled, and modelled alone for groups that nothing was measured on."""

from __future__ import annotations

from typing import Any

from ozfp4._measure.machine import sentence

from . import style

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
                axes.plot(x, y, label=name if kind == "strong" else None, **style.look(index))
                axes.plot(x, modelled, ls="--", lw=1.2, color=style.CYCLE[index % 8])
            axes.set_xticks(ranks, map(str, ranks))
            axes.set(xlabel="ranks", ylabel=label, ylim=(0, None))
            axes.set_title(f"{kind.capitalize()} scaling, N = {n}")
        figure.legend(loc="outside upper left", ncols=2, fontsize=9)
        style.note(figure, "dashed: the model; grey: ideal; " + sentence(results["machine"]))
    return figure


def modelled() -> Any:
    """Efficiency on paper against N, a panel for each kind of GPU: rows alone solid, the best mesh dashed; dotted the better
    of both if what moves is hidden for nothing."""
    from cluster import projections as paper

    with style.styled() as plt:
        found = paper.clusters()
        figure, panels = plt.subplots(1, len(found), figsize=(4.0 * len(found), 4.4), sharey=True)
        for axes, cluster in zip(panels, found, strict=True):
            for index, ranks in enumerate(paper.GROUPS):
                look = {**style.look(index), "ms": 4}
                meshes = (
                    ("rows", paper.rows_only(ranks), "-"),
                    ("mesh", paper.best_mesh(ranks, cluster), "--"),
                )
                for name, mesh, line in meshes:
                    y = [paper.efficiency(n, mesh, cluster) for n in paper.SIZES]
                    label = f"{ranks} GPUs, {name}" if cluster is found[0] else None
                    axes.plot(paper.SIZES, y, ls=line, label=label, **look)
                best = [
                    max(paper.efficiency(n, mesh, cluster, hidden=True) for _, mesh, _ in meshes)
                    for n in paper.SIZES
                ]
                axes.plot(paper.SIZES, best, ls=":", lw=1, color=look["color"])
            axes.set(xscale="log", xlabel="N", ylim=(0, 1.05))
            axes.set_xticks(paper.SIZES[::2], [f"{n // 1024} K" for n in paper.SIZES[::2]])
            axes.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
            axes.set_title(f"{cluster.name}, {cluster.backend}: {cluster.rate / 1e12:.0f} TFLOPS a GPU")
        panels[0].set_ylabel("speed of a GPU beside one alone")
        figure.legend(loc="outside upper left", ncols=3, fontsize=9)
        style.note(
            figure,
            "modelled, not measured; dotted: the better of both where what moves is hidden for nothing; "
            "hosts of 8 GPUs: NVLink at the share of its nominal rate that an H200 attains, "
            "InfiniBand nominal, 400 Gb/s a GPU, B300 800; no product has run on Blackwell",
        )
    return figure
