"""Three kinds of tests: unmarked ones, slow ones and nightly ones; who runs which."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MARKERS = {"slow", "nightly"}


def made(target: str) -> str:
    """The command by which `make` runs pytest."""
    if shutil.which("make") is None:
        pytest.skip("no make")
    done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=True)
    (command,) = (line for line in done.stdout.splitlines() if "-m pytest" in line)
    return command.split("-m pytest", 1)[1]


def test_make_test_leaves_out_the_marked_ones(pytestconfig: pytest.Config) -> None:
    assert " -m " not in made("test")
    options = pytestconfig.getini("addopts")
    assert options[options.index("-m") + 1] == "not slow and not nightly"


def test_make_test_all_leaves_out_the_nightly_ones() -> None:
    assert ' -m "not nightly"' in made("test-all")


def test_no_other_marker_picks_tests() -> None:
    usual = "parametrize|skipif|skip|xfail|usefixtures|filterwarnings"
    for file in (ROOT / "tests").rglob("*.py"):
        used = set(re.findall(r"\bpytest\.mark\.(\w+)", file.read_text(encoding="utf-8")))
        assert {name for name in used if not re.fullmatch(usual, name)} <= MARKERS, file
