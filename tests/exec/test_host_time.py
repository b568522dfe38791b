"""System calls, locks and look-ups of a call that exec leaves, counted, as clocks vary on a machine that others share; against
libraries that return at once (benchmarks/exec_host)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import preloaded
import pytest
from preloaded import processes

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def stand_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import exec_host
    finally:
        sys.path.remove(str(BENCHMARKS))
    preloaded.compiler("c++", "g++")
    folder = tmp_path / "stand_ins"
    folder.mkdir()
    exec_host.build(folder)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(folder))
    return folder


@pytest.mark.slow
def test_what_a_call_that_is_left_asks_of_the_system(
    stand_ins: Path, report: Path, compile_c: Callable[..., Path]
) -> None:
    flags = ["-fno-builtin", "-rdynamic", stand_ins / "libstand_ins.so", "-ldl", "-pthread"]
    program = compile_c("counts", None, *flags)
    done = preloaded.run([program], report=report)
    assert (done.returncode, done.stderr) == (0, "")
    found = {name: tuple(map(int, counts)) for name, *counts in map(str.split, done.stdout.splitlines())}
    # Two readings of a clock in one of 16 calls; no lock, memory or environment and no question to the dynamic linker.
    assert {name: counts[1:] for name, counts in found.items()} == dict.fromkeys(found, (0, 0, 0, 0))
    assert all(124 <= counts[0] <= 126 for counts in found.values()), found
    (process,) = processes(report)
    assert (process["caught"], process["left"]) == (0, 6 * 21000)


@pytest.mark.nightly
def test_which_calls_the_benchmark_finds_caught(tmp_path: Path) -> None:
    command = [sys.executable, str(BENCHMARKS / "exec_host.py"), "--repeats", "1", "-o", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "exec_host.json").read_text())["rows"]
    caught = {
        mode: {row["call"] for row in rows if row[f"{mode}, caught"]} for mode in ("plain", "exec", "always")
    }
    assert caught["plain"] == set()
    assert caught["exec"] == {"cublasDgemm 4096"}
    assert len(caught["always"]) == 6
