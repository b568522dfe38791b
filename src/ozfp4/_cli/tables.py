"""Tables on stdout: with rich if it is installed, else in plain text."""

from __future__ import annotations

from collections.abc import Sequence

from .._support.table import columns as text_columns


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> None:
    """Print a table.

    Parameters
    ----------
    title : str
    columns : sequence of str
    rows : sequence of sequences of str
        A row that starts with "!" in its first cell is shown as a failure (the mark is kept).
    left : int
        So many leading columns are aligned left, the others right.
    """
    try:
        import rich.table  # noqa: F401 - asks whether it is there
    except ImportError:
        print(plain(title, columns, rows, left=left))
    else:
        _show_rich(title, columns, rows, left)


def plain(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """The table as text; see :func:`show`."""
    lines = text_columns([columns, *rows], right=range(left, len(columns)))
    rule = "-" * max(map(len, lines))
    return "\n".join(["", title, rule, lines[0], rule, *lines[1:], rule])


def _show_rich(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for i, name in enumerate(columns):
        table.add_column(Text(name), justify="left" if i < left else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row), style="bold red" if row[0].startswith("!") else None)
    # As wide as the table, whatever the terminal: a folded figure is harder to read than a long line.
    width = Console(width=10_000).measure(table).maximum
    console = Console(width=width)
    console.print()
    console.print(table)
