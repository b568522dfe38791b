"""The bytes that a product moves between the host and a device."""

from __future__ import annotations

from ozfp4._streaming.tiles import Tiling


def moved_bytes(tiling: Tiling) -> int:
    """Bytes that cross the bus in both directions, if one device makes all of the tiles."""
    sizes, moved = tiling.sizes, 0
    places: dict[str, list[object]] = {"a": [], "b": []}
    for tile in tiling.tiles():
        moved += tile.entries * sizes.c.entry
        for side, matrix in (("a", sizes.a), ("b", sizes.b)):
            piece, held = tiling.piece(side, tile), places[side]
            if piece in held:
                held.remove(piece)
            else:
                moved += piece.entries * matrix.entry
                if len(held) == tiling.slots(side):
                    held.pop(0)
            held.append(piece)
    return moved
