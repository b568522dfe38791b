"""Finished rows, in a file from the moment they are finished: a run can be stopped at any time and goes on later.

The file holds one JSON value a line: first what was asked and where, then the rows. Rows of another question, machine or
version are not mixed in: such a file is set aside. A last line that was cut off is dropped.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Row = dict[str, Any]

_IDENTITY = ("device", "driver", "ozfp4", "commit", "numpy", "torch")


class RowStore:
    """Rows by key, in memory and, given a path, in a file.

    Parameters
    ----------
    path : Path or None
        The file; None keeps rows in memory only.
    settings : dict
        The question: rows are taken over only from a file with equal settings.
    machine : dict
        See :func:`ozfp4.bench.machine.describe`; date and Python may differ.
    key : tuple of str
        Names whose values identify a row.

    Attributes
    ----------
    resumed : int
        How many rows were taken over.
    """

    def __init__(
        self, path: Path | None, settings: dict[str, Any], machine: dict[str, Any], key: tuple[str, ...]
    ) -> None:
        self.machine = machine
        self._path = path
        self._key = key
        self._rows: dict[tuple[Any, ...], Row] = {}
        self._head = {"settings": json.loads(json.dumps(settings)), "machine": machine}
        if path is not None:
            for row in self._load(path):
                self._rows[self._key_of(row)] = row
            self._rewrite(path)
        self.resumed = len(self._rows)

    def __iter__(self) -> Any:
        return iter(list(self._rows.values()))

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, **key: Any) -> Row | None:
        """The finished row with these values, or None."""
        return self._rows.get(tuple(key[name] for name in self._key))

    def add(self, row: Row) -> Row:
        """Keep a finished row; it is on disk when this returns."""
        self._rows[self._key_of(row)] = row
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        return row

    def _key_of(self, row: Row) -> tuple[Any, ...]:
        return tuple(row[name] for name in self._key)

    def _load(self, path: Path) -> list[Row]:
        if not path.exists():
            return []
        values = []
        for line in path.read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(ValueError):
                values.append(json.loads(line))
        if values and self._same_question(values[0]):
            return [row for row in values[1:] if isinstance(row, dict) and "skipped" not in row]
        path.replace(path.with_suffix(path.suffix + ".old"))
        return []

    def _same_question(self, head: Any) -> bool:
        if not isinstance(head, dict) or head.get("settings") != self._head["settings"]:
            return False
        there = head.get("machine", {})
        return all(there.get(name) == self.machine.get(name) for name in _IDENTITY)

    def _rewrite(self, path: Path) -> None:
        lines = [self._head, *self._rows.values()]
        temporary = path.with_suffix(path.suffix + ".part")
        temporary.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        os.replace(temporary, path)


def write_json(path: Path, machine: dict[str, Any], **tables: Iterable[Row] | dict[str, Any]) -> None:
    """Results for reading and plotting: the machine and named tables, a row a line."""
    parts = [f'"machine": {json.dumps(machine)}']
    for name, table in tables.items():
        if isinstance(table, dict):
            parts.append(f'"{name}": {json.dumps(table)}')
        else:
            rows = ",\n  ".join(json.dumps(row) for row in table)
            parts.append(f'"{name}": [\n  {rows}\n ]')
    path.write_text("{" + ",\n ".join(parts) + "}\n", encoding="utf-8")


def read_json(path: Path) -> dict[str, Any]:
    """What :func:`write_json` wrote."""
    results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return results


def write_csv(path: Path, rows: Iterable[Row]) -> None:
    """The rows with one column for every name that occurs; missing values are empty."""
    rows = list(rows)
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
