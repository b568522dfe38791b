"""System calls, locks and look-ups of a call that exec leaves, counted, as clocks vary on a machine that others share; against
libraries that return at once (benchmarks/exec_host)."""

from __future__ import annotations

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
def test_system_calls_of_a_call_that_is_left(
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
