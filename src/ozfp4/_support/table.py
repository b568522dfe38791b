"""Tables for people: as text in a terminal, as HTML in a notebook."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Table:
    """Rows of cells, the heads of the columns (none: names and values), and which columns are flush right.

    >>> Table([("fp4", "59"), ("int8", "16")], right=(1,)).lines()
    ['fp4   59', 'int8  16']
    """

    rows: Sequence[Sequence[str]]
    heads: Sequence[str] = ()
    right: Container[int] = ()

    def lines(self) -> list[str]:
        """As text, with columns as wide as their widest cell."""
        rows = [self.heads, *self.rows] if self.heads else self.rows
        widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
        return [
            "  ".join(
                cell.rjust(width) if i in self.right else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]

    def html(self) -> str:
        """As an HTML table; every cell is escaped."""

        def line(tag: str, cells: Iterable[str]) -> str:
            styled = (
                f'<{tag} style="text-align: {"right" if i in self.right else "left"}">{escape(cell)}</{tag}>'
                for i, cell in enumerate(cells)
            )
            return f"<tr>{''.join(styled)}</tr>"

        head = f"<thead>{line('th', self.heads)}</thead>" if self.heads else ""
        return f"<table>{head}<tbody>{''.join(line('td', row) for row in self.rows)}</tbody></table>"


class Tabular:
    """A value that shows itself as tables: `str` and `repr` as text, in a notebook as HTML."""

    __slots__ = ()

    def _tables(self) -> Iterable[Table]:
        raise NotImplementedError

    def __str__(self) -> str:
        return "\n\n".join("\n".join(table.lines()) for table in self._tables() if table.rows)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return "\n".join(table.html() for table in self._tables() if table.rows)
