"""benchmarks/cpu.py names its sections, and refuses others in a line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mpmath")

PROGRAM = Path(__file__).resolve().parents[2] / "benchmarks" / "cpu.py"
SECTIONS = "import, time, kernels, integers, calls, modes, accuracy, exactness"


def run(argument: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, PROGRAM, argument], capture_output=True, text=True, timeout=120)


def test_help_names_them() -> None:
    done = run("--help")
    assert done.returncode == 0
    usage = done.stdout.partition("\n\n")[0]
    assert "[SECTION ...]" in usage
    assert "{" not in usage
    assert f"default all: {SECTIONS}" in " ".join(done.stdout.split())


def test_another_is_refused() -> None:
    done = run("times")
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert last == f"cpu.py: error: times: there is no such section; there are {SECTIONS}"
