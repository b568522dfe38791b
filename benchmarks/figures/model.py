"""The runtime model: measured beside predicted, projections, and the map of who wins."""

from __future__ import annotations

from typing import Any

import numpy as np

from common.device_rates import DEVICES
from common.paper_model import Contender, winner
from ozfp4._measure.machine import sentence

from . import style

_SHORT = {"FP4 least": "FP4", "INT8": "INT8", "FP8 published": "FP8", "native FP64": "native FP64"}


def predicted_and_measured(results: dict[str, Any]) -> Any:
    """Bars of the stages for each method and size: measured solid, modelled hatched beneath."""
    rows = [row for row in results["measured"] if "skipped" not in row]
    sizes = sorted({row["N"] for row in rows})
    with style.styled() as plt:
        columns = min(len(sizes), 3)
        lines = -(-len(sizes) // columns)
        size = (3.6 * columns, lines * (0.62 * len(rows) / len(sizes) + 1.2) + 0.8)
        figure, panels = plt.subplots(lines, columns, figsize=size, sharey=True, squeeze=False)
        for axes in panels.flat[len(sizes) :]:
            axes.set_axis_off()
        for axes, n in zip(panels.flat, sizes, strict=False):
            here = [row for row in rows if row["N"] == n]
            for y, row in enumerate(here):
                parts = ((row["compute ms"], style.BLUE), (row["preprocess ms"], style.SKY))
                models = ((row["model compute ms"], style.BLUE), (row["model preprocess ms"], style.SKY))
                for offset, bars, hatch in ((-0.2, parts, None), (0.2, models, "////")):
                    left = 0.0
                    for width, colour in bars:
                        face = colour if hatch is None else "white"
                        axes.barh(
                            y + offset, width, 0.36, left=left, color=face, edgecolor=colour, hatch=hatch
                        )
                        left += width
                style.beside(axes, f"{row['percent']:+.1f} %", (left, y + 0.2))
            axes.set(title=f"N = {n}", xlabel="ms")
            axes.margins(x=0.22)
            axes.grid(axis="y", visible=False)
            axes.set_yticks(range(len(here)), [results["labels"][row["method"]] for row in here])
        handles = [plt.Rectangle((0, 0), 1, 1, fc=f, ec=e, hatch=h) for f, e, h in (
            (style.BLUE, style.BLUE, None), (style.SKY, style.SKY, None), ("white", style.BLUE, "////"))]  # fmt: skip
        figure.legend(handles, ["compute stage, measured", "preprocessing, measured", "model"],
                      loc="outside upper left", ncols=3)  # fmt: skip
        panels[0][0].invert_yaxis()  # shared by all panels
        style.note(figure, "percent: measured compute stage over the model; " + sentence(results["machine"]))
    return figure


def projections(results: dict[str, Any]) -> Any:
    """Modelled TFLOPS of every method on every device, log scale."""
    rows = results["projections"]
    devices = list(dict.fromkeys(row["device"] for row in rows))
    methods = list(dict.fromkeys(row["method"] for row in rows))
    with style.styled() as plt:
        figure, axes = plt.subplots(figsize=(7.6, 4.6))
        for index, method in enumerate(methods):
            points = [
                (devices.index(r["device"]), r["TFLOPS"])
                for r in rows
                if r["method"] == method and r["TFLOPS"] > 0
            ]
            x, y = zip(*points, strict=True)
            shift = 0.09 * (index - (len(methods) - 1) / 2)
            axes.plot([v + shift for v in x], y, label=method, **{**style.look(index), "ls": "", "ms": 7})
        axes.set_xticks(range(len(devices)), devices, rotation=30, ha="right")
        axes.set(yscale="log", ylabel="TFLOPS = 2 N³ / t, modelled")
        facts = results["projection"]
        axes.set_title(
            f"Modelled, not measured: N = {facts['n']}, at {facts['attained']:.0%} of nominal peaks"
        )
        figure.legend(loc="outside upper left", fontsize=9, ncols=4)
        style.note(
            figure,
            "modelled from nominal rates (benchmarks/common/device_rates.py); FP8: no backend of ozfp4",
        )
    return figure


def _winners(field: list[Contender], fp8_share: float, x: Any, y: Any) -> Any:
    """Index of the winner in `field` for each FP4 : FP64 ratio of `y` (rows) and FP4 : INT8 ratio of `x`."""
    return np.array([
        [field.index(winner({"fp4": 1.0, "fp8": fp8_share, "int8": 1 / i, "native": 1 / f}, field)) for i in x] for f in y
    ])  # fmt: skip


def _mark_devices(axes: Any) -> None:
    """A dot for each place in the map, with the names of the devices there."""
    places: dict[tuple[float, float], list[str]] = {}
    for device in DEVICES:
        if device.fp4 and device.int8:
            x, y = device.fp4 / device.int8, device.fp4 / device.fp64
            near = next(
                (at for at in places if abs(at[0] / x - 1) < 0.1 and abs(at[1] / y - 1) < 0.1), (x, y)
            )
            places.setdefault(near, []).append(device.name)
    for at, names in places.items():
        axes.plot(*at, "o", color=style.BLACK, ms=5)
        axes.annotate(
            ",\n".join(names), at, (0, -6), textcoords="offset points", ha="center", va="top", fontsize=9
        )


def winners_map(field: list[Contender], fp8_shares: tuple[float, ...], n: int) -> Any:
    """Who needs the least time for products of `n`, over FP4 : INT8 and FP4 : native FP64; a panel for each R(FP8) / R(FP4).

    `field`: at most one for each alphabet.
    """
    x, y = np.logspace(-0.5, 2.5, 241), np.logspace(0.5, 4.5, 241)
    colours = ["#9ecae1", "#fdd0a2", "#c7e9c0", "#dadaeb"][: len(field)]
    with style.styled() as plt:
        from matplotlib.colors import ListedColormap

        size = (4.7 * len(fp8_shares), 4.6)
        figure, panels = plt.subplots(1, len(fp8_shares), figsize=size, sharey=True, squeeze=False)
        for axes, share in zip(panels[0], fp8_shares, strict=True):
            region = _winners(field, share, x, y)
            axes.pcolormesh(x, y, region, cmap=ListedColormap(colours), vmin=-0.5, vmax=len(field) - 0.5,
                            shading="nearest", rasterized=True)  # fmt: skip
            for index, contender in enumerate(field):
                rows, columns = np.nonzero(region == index)
                if len(rows) < 200:
                    continue
                height = 0.85 if contender.alphabet == "int8" else 0.5  # clear of the devices
                at = (x[int(np.median(columns))], y[int(np.quantile(rows, height))])
                name = _SHORT.get(contender.name, contender.name)
                text = f"{name}\n{contender.products} products" if contender.products > 1 else name
                axes.text(*at, text, ha="center", va="center", fontsize=11, weight="bold")
            _mark_devices(axes)
            axes.set(xscale="log", yscale="log", xlabel="rate of FP4 : rate of INT8")
            axes.set_title(f"FP8 at {share:g} of FP4, N = {n}")
            axes.grid(visible=False)
        panels[0][0].set_ylabel("rate of FP4 : rate of native FP64")
        style.note(
            figure,
            "modelled: least products / rate; dots: nominal rates of devices, whatever their FP8",
        )
    return figure
