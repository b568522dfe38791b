"""One product that a program asks for, as everything here speaks of it."""

from __future__ import annotations

from typing import NamedTuple


class Problem(NamedTuple):
    """`stack` products of m × k by k × n matrices of a dtype (its name), of a `library` ("torch" or "numpy") on a device ("cpu",
    "cuda:0", ...)."""

    library: str
    device: str
    dtype: str
    stack: int
    m: int
    n: int
    k: int

    @property
    def size(self) -> int:
        """Multiplications."""
        return self.stack * self.m * self.n * self.k

    @property
    def extents(self) -> str:
        if self.m < 0:
            return "others"
        text = f"{self.m} × {self.n} × {self.k}"
        return text if self.stack == 1 else f"{self.stack} times {text}"

    @property
    def on_cpu(self) -> bool:
        return self.device == "cpu"

    def of_other_extents(self) -> Problem:
        """The problem that stands for products of any extents."""
        return self._replace(stack=1, m=-1, n=-1, k=-1)
