"""Tables on stdout."""

from __future__ import annotations

from collections.abc import Sequence

from .._support.table import columns as text_columns


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> None:
    """Print a table, of which so many leading columns are aligned left, the others right."""
    lines = text_columns([columns, *rows], right=range(left, len(columns)))
    rule = "-" * max(map(len, lines))
    print("\n".join(["", title, rule, lines[0], rule, *lines[1:], rule]))
