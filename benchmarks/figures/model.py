"""The runtime model: the map of who wins."""

from __future__ import annotations

from typing import Any

import numpy as np

from common.device_rates import DEVICES
from common.paper_model import Contender, winner

from . import style

_SHORT = {"FP4 least": "FP4", "INT8": "INT8", "FP8 published": "FP8", "native FP64": "native FP64"}


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
