"""Shared by standard.py and standard_cpu.py: arguments, a row for each kind of matrices, and a file of all rows."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import real_matrices

Row = dict[str, Any]


class Column(NamedTuple):
    head: str
    width: int
    text: Callable[[Row], str]


def times(modes: Iterable[str], digits: int) -> list[Column]:
    return [Column(mode, 9, lambda row, mode=mode: f"{row[mode]:.{digits}f}") for mode in modes]


def ratio(head: str, width: int, mode: str, *over: str) -> Column:
    """One mode over the sum of others."""
    return Column(head, width, lambda row: f"{row[mode] / sum(row[other] for other in over):.2f}")


def arguments(text: str | None, sizes: list[int]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=sizes)
    parser.add_argument(
        "--kinds", nargs="+", default=[""], help="those whose names contain one of these words"
    )
    parser.add_argument("--out", type=Path)
    return parser


def run(
    asked: argparse.Namespace,
    device: str,
    measure: Callable[[np.ndarray, np.ndarray], Row],
    columns: list[Column],
) -> list[Row]:
    print(" ".join([f"{'kind':34s}", f"{'n':>6s}", *(f"{c.head:>{c.width}s}" for c in columns)]))
    rows: list[Row] = []
    for n in asked.sizes:
        for name, a, b in real_matrices.pairs(n):
            if not any(word in name for word in asked.kinds):
                continue
            row = {"kind": name, "n": n, **measure(a, b)}
            rows.append(row)
            cells = (f"{c.text(row):>{c.width}s}" for c in columns)
            print(" ".join([f"{name:34s}", f"{n:6d}", *cells]), flush=True)
    if asked.out:
        asked.out.write_text(json.dumps({"device": device, "rows": rows}, indent=1) + "\n")
    return rows
