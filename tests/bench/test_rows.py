"""Finished rows survive: stopping, cut-off lines, another question."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from ozfp4.bench.rows import RowStore, read_json, write_csv, write_json

MACHINE = {"device": "cpu (X)", "date": "2026-01-01", "ozfp4": "1", "commit": "abc"}


def store(path: Path | None, settings: dict | None = None, machine: dict | None = None) -> RowStore:
    return RowStore(path, settings or {"k": 8, "sizes": (1, 2)}, machine or MACHINE, ("n", "method"))


def test_rows_are_on_disk_at_once_and_come_back(tmp_path: Path) -> None:
    path = tmp_path / "x.rows.jsonl"
    first = store(path)
    first.add({"n": 1, "method": "a", "ms": 2.0})
    second = store(path, machine={**MACHINE, "date": "2026-01-02"})  # another day, the same machine
    assert second.resumed == len(second) == 1
    assert second.get(n=1, method="a") == {"n": 1, "method": "a", "ms": 2.0}
    assert second.get(n=2, method="a") is None


def test_a_cut_off_line_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "x.rows.jsonl"
    store(path).add({"n": 1, "method": "a"})
    with path.open("a", encoding="utf-8") as file:
        file.write('{"n": 2, "meth')
    again = store(path)
    assert again.resumed == 1
    again.add({"n": 3, "method": "a"})
    assert [row["n"] for row in store(path)] == [1, 3]


def test_another_question_or_machine_starts_anew_and_keeps_the_old_file(tmp_path: Path) -> None:
    for changed in ({"settings": {"k": 9}}, {"machine": {**MACHINE, "commit": "abd"}}):
        path = tmp_path / f"{next(iter(changed))}.rows.jsonl"
        store(path).add({"n": 1, "method": "a"})
        assert store(path, **changed).resumed == 0
        assert '"n": 1' in path.with_suffix(".jsonl.old").read_text()


def test_skipped_rows_are_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "x.rows.jsonl"
    store(path).add({"n": 1, "method": "a", "skipped": "not enough memory"})
    assert store(path).resumed == 0


def test_a_file_of_something_else_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "x.rows.jsonl"
    path.write_text("hello\n[1]\n")
    assert store(path).resumed == 0
    assert path.with_suffix(".jsonl.old").read_text().startswith("hello")


def test_results_as_json_and_csv(tmp_path: Path) -> None:
    rows = [{"n": 1, "ms": 2.5}, {"n": 2, "skipped": "why, then"}]
    write_json(tmp_path / "r.json", MACHINE, rows=rows, settings={"k": 1})
    assert read_json(tmp_path / "r.json") == {"machine": MACHINE, "rows": rows, "settings": {"k": 1}}
    assert json.loads((tmp_path / "r.json").read_text())
    write_csv(tmp_path / "r.csv", rows)
    with (tmp_path / "r.csv").open() as file:
        assert list(csv.DictReader(file)) == [
            {"n": "1", "ms": "2.5", "skipped": ""},
            {"n": "2", "ms": "", "skipped": "why, then"},
        ]
