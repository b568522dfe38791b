"""Which kernel multiplies, and what of its own choices is taken from it."""

from __future__ import annotations

from typing import NamedTuple


class Variant(NamedTuple):
    """A kernel by its number, and the tile, the splits of K and the overlap of its launches where they are not the library's
    own choice (None); and whether small products may be made in one launch, without it: "where it pays", "always", or never
    (None); "thin": those of few columns or rows alone, "tiles": those of short K alone. `factors`: what each way takes over its
    model on this device (None: as much)."""

    kernel: int
    tile: str | None = None
    splits: int | None = None
    overlap: bool | None = None
    direct: str | None = None
    factors: tuple[float, ...] | None = None


class Forced(NamedTuple):
    """What :func:`ozfp4.testing.forced` asks for in place of the choices that are made by cost and trust."""

    kernel: int | None = None
    tile: str | None = None
    splits: int | None = None
    overlap: bool | None = None
    direct: bool | None = None
    thin: bool | None = None
    tiles: bool | None = None


NOTHING = Forced()
forced = NOTHING  # for every product that this process makes until it changes
