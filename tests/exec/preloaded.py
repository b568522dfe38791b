"""Programs that run with libozfp4_blas before them, and what they report."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from ozfp4 import _core

LIBRARY = Path(_core.__file__).with_name("libozfp4_blas.so")
PROGRAMS = Path(__file__).with_name("programs")
PREFIX = "OZFP4_EXEC_"


def compiler(*names: str) -> str:
    """The first of these that there is; else the test is skipped."""
    return next(filter(None, map(shutil.which, names)), None) or pytest.skip(f"no {names[0]}")


def environment(**settings: Any) -> dict[str, str]:
    """The environment of a process with the library before it; names in capitals are variables of their own, not settings."""
    mine = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    asked = {
        name if name.isupper() else PREFIX + name.upper(): str(value) for name, value in settings.items()
    }
    return {**mine, "LD_PRELOAD": str(LIBRARY), **asked}


def run(
    command: Iterable[str | Path], limit: float = 300, **settings: Any
) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    return subprocess.run(words, env=environment(**settings), capture_output=True, text=True, timeout=limit)


def python(*program: str | Path, **settings: Any) -> subprocess.CompletedProcess[str]:
    """A function of products.py with its arguments; it has to succeed."""
    done = run([sys.executable, PROGRAMS / "products.py", *program], **settings)
    assert done.returncode == 0, done.stderr
    return done


def processes(report: Path) -> list[dict[str, Any]]:
    """The lines of a report."""
    return [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]


def reported(report: Path, *program: str | Path, **settings: Any) -> dict[str, Any]:
    """The report of a program's one process; `printed` is its output."""
    report.unlink(missing_ok=True)
    printed = python(*program, report=report, **settings).stdout
    (process,) = processes(report)
    return {**process, "printed": printed}


def why(process: dict[str, Any]) -> set[tuple[str, bool, int, str]]:
    """Each row of a process: the routine, whether it was caught, how often, and why."""
    return {(row["routine"], row["caught"], row["calls"], row["why"]) for row in process["rows"]}
