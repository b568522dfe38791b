"""The program that the type checker reads runs."""

from __future__ import annotations

import runpy
from pathlib import Path


def test_a_typed_program_runs() -> None:
    runpy.run_path(str(Path(__file__).with_name("user_program.py")), run_name="__main__")
