"""One style for all figures: legible in print, at 400 pixels, to colour-blind readers, and on a dark page.

Figures carry their own white ground, so a dark page shows them as a card. Colours are Okabe and Ito's. A method has one colour
in all figures, and every series has its own marker, so that nothing depends on colour alone.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BLACK, ORANGE, SKY, GREEN = "#000000", "#e69f00", "#56b4e9", "#009e73"
BLUE, RED, PURPLE, GREY = "#0072b2", "#d55e00", "#cc79a7", "#7f7f7f"
CYCLE = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY, BLACK, GREY)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

RC: Any = {
    "figure.dpi": 100,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "savefig.dpi": 160,
    "figure.constrained_layout.use": True,
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#d9d9d9",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.8,
    "lines.markersize": 6,
    "legend.frameon": False,
    "legend.fontsize": 10,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "ozfp4",  # the same data give the same file
}


WIDTH = 5.2  # inches of a figure of a page
SMALL = 9.6  # points: 9 pixels where the figure has the 356 pixels of a page 400 pixels wide
STAGE_COLOURS = (SKY, ORANGE, BLUE, GREEN)
# The first that a label contains; other series take what is left.
METHODS = {
    '"standard"': (BLUE, "o"),
    '"correct"': (GREEN, "D"),
    '"scaled"': (SKY, "s"),
    "cuBLAS 13.10": (RED, "^"),
    "dynamic": (PURPLE, "P"),
    "55 bits": (ORANGE, "v"),
    "FP64": (BLACK, "X"),
    "NumPy": (GREY, "*"),
}


def look(index: int) -> dict[str, Any]:
    """Colour and marker of a series; dashed and hollow from the ninth on."""
    more = {} if index < 8 else {"ls": "--", "mfc": "white"}
    return {"color": CYCLE[index % 8], "marker": MARKERS[index % 8], **more}


def of_method(label: str, index: int) -> dict[str, Any]:
    """Colour and marker of a method of METHODS, else of the series `index`."""
    for name, (colour, marker) in METHODS.items():
        if name in label:
            return {"color": colour, "marker": marker}
    return look(index)


def stack(axes: Any, y: float, widths: dict[str, float], height: float) -> float:
    """A bar of the stages, named for the legend; where it ends."""
    left = 0.0
    for (name, width), colour in zip(widths.items(), STAGE_COLOURS, strict=True):
        label = name if y == 0 else None
        axes.barh(y, width, height, left=left, color=colour, edgecolor="white", lw=0.4, label=label)
        left += width
    return left


def beside(axes: Any, text: str, at: tuple[float, float]) -> None:
    """A text at the right of a place."""
    axes.annotate(text, at, (4, 0), textcoords="offset points", va="center", fontsize=SMALL)


@contextmanager
def styled() -> Iterator[Any]:
    """matplotlib.pyplot under this style, drawing to files only; the caller's settings are left alone."""
    import matplotlib
    from matplotlib import pyplot

    with matplotlib.rc_context(RC):
        yield pyplot


def note(figure: Any, text: str) -> None:
    """A caption below the axes: the device, the date, and "modelled" where it is."""
    wrapped = textwrap.fill(text, int(13 * figure.get_figwidth()))
    figure.supxlabel(wrapped, fontsize=SMALL, color="#444444", x=0.01, ha="left")


def save(figure: Any, folder: Path, name: str) -> Path:
    """Write `name`.svg and close the figure; returns its path."""
    path = folder / f"{name}.svg"
    with styled() as pyplot:
        figure.savefig(path, metadata={"Date": None})
        pyplot.close(figure)
    # matplotlib leaves blanks at the ends of lines, which every later diff would show.
    svg = path.read_text(encoding="utf-8")
    path.write_text("".join(f"{line.rstrip()}\n" for line in svg.splitlines()), encoding="utf-8")
    return path
