"""How a matrix is cut into blocks."""

from __future__ import annotations

from collections.abc import Iterator

# Columns of a panel, which SciPy or torch factorises; all else is products of ours. A test may take another.
SIZE = 128


def blocks(n: int) -> Iterator[tuple[int, int]]:
    """Begin and end of each block of 0..n, in order; n >= 0."""
    return ((begin, min(begin + SIZE, n)) for begin in range(0, n, SIZE))


def blocks_reversed(n: int) -> Iterator[tuple[int, int]]:
    """The same blocks, the last one first."""
    return reversed(list(blocks(n)))
