"""The summary of a scope: products caught and left, by operation, dtype and shape, how often, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import _core
from .._support.child_lock import ChildLock
from .._support.table import Table, Tabular

MOST_ROWS = 40  # of a table for people
MOST_LINES = 4096  # kinds of products that are told apart by their extents
MOST_KEPT = 4096  # keys of products that are left


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


class Decision(NamedTuple):
    """Whether ozfp4 makes a product, and why."""

    take: bool
    reason: str


class Line:
    """Counts of products of one kind: `calls` without a lock, `seconds` under the record's."""

    __slots__ = ("calls", "seconds")

    def __init__(self) -> None:
        self.calls, self.seconds = _core.Calls(), 0.0


class Record:
    """The lines of a scope, which grow while it is entered; by the keys of NumPy's and torch's calls the counts of those that it
    leaves."""

    def __init__(self) -> None:
        self.lock = ChildLock()  # which a collection of garbage may want again
        self._lines: dict[tuple[str, Problem, Decision], Line] = {}
        self.left: dict[Any, Any] = {}

    def line(self, operation: str, problem: Problem, decision: Decision) -> Line:
        """The line of such products; a new one where there is none, and beyond so many one of all other extents."""
        found = self._lines.get((operation, problem, decision))
        if found is not None:
            return found
        with self.lock:
            if len(self._lines) >= MOST_LINES:
                problem = problem._replace(stack=1, m=-1, n=-1, k=-1)
                decision = decision._replace(reason="various")
            return self._lines.setdefault((operation, problem, decision), Line())

    def keep(self, key: Any, calls: Any) -> None:
        """Calls of this key are left, and counted there. The memory of a program with ever new shapes does not grow."""
        if len(self.left) >= MOST_KEPT:
            self.left.clear()
        self.left[key] = calls

    def count(self, line: Line, seconds: float) -> None:
        line.calls.add()
        with self.lock:
            line.seconds += seconds

    def summary(self) -> Summary:
        with self.lock:
            rows = [
                Row(
                    operation, problem, decision.take, line.calls.value,
                    line.seconds if decision.take and problem.on_cpu else None, decision.reason,
                )
                for (operation, problem, decision), line in self._lines.items()
                if line.calls.value
            ]  # fmt: skip
        return Summary(tuple(sorted(rows, key=lambda row: (not row.taken, -row.problem.size * row.calls))))


class Row(NamedTuple):
    """Products of one kind: what was called, on what, whether ozfp4 computed them, how often, in how many seconds, and why.

    `seconds` is the wall-clock time on a CPU; None on a GPU, and for products that were left."""

    operation: str
    problem: Problem
    taken: bool
    calls: int
    seconds: float | None
    reason: str


@dataclass(frozen=True, repr=False)
class Summary(Tabular):
    """The products that a scope caught and left.

    Attributes
    ----------
    rows : tuple of Row
        Products of one kind each, those caught first, and among them those with most multiplications.
    """

    rows: tuple[Row, ...]

    @property
    def caught(self) -> int:
        """Calls that ozfp4 computed."""
        return sum(row.calls for row in self.rows if row.taken)

    @property
    def left(self) -> int:
        """Calls that the library computed. Calls with other dtypes, kinds of arrays or arguments are not counted."""
        return sum(row.calls for row in self.rows if not row.taken)

    def _tables(self) -> Iterator[Table]:
        hidden = self.rows[MOST_ROWS:]
        counts = [("caught", f"{self.caught} products"), ("left", f"{self.left} products")]
        if hidden:
            counts.append(("not shown", f"{len(hidden)} kinds, {sum(row.calls for row in hidden)} calls"))
        yield Table(counts)
        yield Table(
            [
                (
                    "caught" if row.taken else "left", row.operation, row.problem.dtype, row.problem.device,
                    row.problem.extents, str(row.calls),
                    "" if row.seconds is None else f"{1e3 * row.seconds:.3f}", row.reason,
                )
                for row in self.rows[:MOST_ROWS]
            ],
            ("", "operation", "dtype", "device", "m × n × k", "calls", "ms", "why"),
            right=(5, 6),
        )  # fmt: skip
