"""An operand on a device that is scaled and encoded once: its memory, and the lines of it that a product takes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple


@dataclass(frozen=True, eq=False)
class Kept:
    """What scale and encode left of all lines of all matrices of an operand.

    `about` says where; `element` is that of the planes, `stream` the one that wrote them; a product takes `count` lines of every
    matrix from `first` on. `own` are the entries, where they were copied for it.
    """

    memory: Any
    about: dict[str, int]
    element: str
    stream: int
    first: int
    count: int
    own: Any = None

    @property
    def nbytes(self) -> int:
        return int(self.memory.numel()) + (0 if self.own is None else int(self.own.nbytes))

    def part(self, first: int, last: int) -> Kept:
        """Lines of these. Range: `first` is a multiple of 64, where lines of planes are aligned."""
        return replace(self, first=self.first + first, count=last - first)


class KeptSides(NamedTuple):
    """Which operands of a product are kept."""

    a: Kept | None = None
    b: Kept | None = None

    def shapes(self) -> tuple[tuple[int, int] | None, ...]:
        """Lines of a matrix and matrices of each; what a problem is made for."""
        return tuple(None if kept is None else (kept.about["lines"], kept.about["matrices"]) for kept in self)

    def check(self, element: str) -> None:
        """RuntimeError unless the kernel that serves now takes planes of the same kind."""
        for name, kept in zip("ab", self, strict=True):
            if kept is not None and kept.element != element:
                raise RuntimeError(
                    f"{name}: it was prepared as planes of {kept.element!r}, and the kernel that serves now takes {element!r}; "
                    "prepare it anew"
                )

    def arguments(self, torch: Any, device: Any, stream: int) -> dict[str, int]:
        """Of a launch on a stream, which their memory then outlives."""
        found: dict[str, int] = {}
        for name, kept in zip("ab", self, strict=True):
            if kept is None:
                continue
            if kept.stream != stream:
                for memory in (kept.memory, kept.own):
                    if memory is not None:
                        memory.record_stream(torch.cuda.current_stream(device))
            found |= {f"kept_{name}": kept.memory.data_ptr(), f"first_line_{name}": kept.first}
        return found


NOTHING_KEPT = KeptSides()
