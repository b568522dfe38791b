"""Builds the tree that holds the mutants, and runs its suite with one of them or none."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

CPP_SWITCH = """#pragma once
#include <cstdio>
#include <cstdlib>
#include <type_traits>

namespace ozfp4_mutants {
inline int read_number() {
  const char* text = std::getenv("OZFP4_MUTANT");
  return text ? std::atoi(text) : 0;
}
inline const int number = read_number();
[[gnu::cold, gnu::noinline]] inline bool reached() {
  static const bool written = [] {
    const char* path = std::getenv("OZFP4_MUTANT_REACHED");
    std::FILE* file = path ? std::fopen(path, "a") : nullptr;
    if (file) std::fclose(file);
    return true;
  }();
  return written;
}
}  // namespace ozfp4_mutants

inline bool ozfp4_mutant(int n) { return ozfp4_mutants::number == n && ozfp4_mutants::reached(); }
// In functions that the compiler evaluates as well: there the original stands.
constexpr bool ozfp4_mutant_late(int n) { return __builtin_is_constant_evaluated() ? false : ozfp4_mutant(n); }
"""
PYTHON_SWITCH = """import os

_number = int(os.environ.get("OZFP4_MUTANT", "0"))


def on(n):
    if n != _number:
        return False
    if "OZFP4_MUTANT_REACHED" in os.environ:
        open(os.environ["OZFP4_MUTANT_REACHED"], "a").close()
    return True
"""


def words(file: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", file)) - {"tests", "test", "src", "ozfp4", "csrc", "py", "cpp", "hpp"}


@dataclass(frozen=True)
class Outcome:
    killed_by: str  # a test, or "" where all pass
    reached: bool  # the mutated code ran
    seconds: float


class Suite:
    """The tests of a tree in a folder of its own, the quickest files first once their times are known."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.tree, self.build = folder, folder / "tree", folder / "build"
        self.seconds: dict[str, float] = {}  # of each file of tests
        switch = folder / "switch"
        switch.mkdir(exist_ok=True)
        (switch / "ozfp4_mutant.hpp").write_text(CPP_SWITCH)
        (switch / "ozfp4_mutant.py").write_text(PYTHON_SWITCH)
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join((str(self.tree / "src"), str(switch))),
        }
        self.environment.pop("OZFP4_MUTANT", None)

    def configure(self) -> None:
        pybind11 = subprocess.run(
            [sys.executable, "-m", "pybind11", "--cmakedir"], check=True, capture_output=True, text=True
        )
        command = [
            "cmake",
            "-S",
            self.tree,
            "-B",
            self.build,
            "-G",
            "Ninja",
            "-DOZFP4_TESTING=ON",
            "-DOZFP4_CUDA=OFF",
        ]
        command += [f"-DCMAKE_CXX_FLAGS=-w -include {self.folder / 'switch' / 'ozfp4_mutant.hpp'}"]
        command += [f"-Dpybind11_DIR={pybind11.stdout.strip()}", f"-DPython_EXECUTABLE={sys.executable}"]
        command += ["-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def compile(self, jobs: int) -> str:
        """What the compiler says where it fails, "" where it does not; the extension modules then stand in the tree."""
        command = ["cmake", "--build", self.build, f"-j{jobs}", "--", "-k", "0"]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        if done.returncode:
            return done.stdout
        for module in self.build.glob("*.so"):
            (self.tree / "src" / "ozfp4" / module.name).write_bytes(module.read_bytes())
        return ""

    def measure(self) -> float:
        """Runs everything without a mutant, which must pass; the seconds."""
        report = self.folder / "base.xml"
        outcome = self.run(0, "", 7200, f"--junitxml={report}", "--maxfail=0")
        if outcome.killed_by:
            raise SystemExit(
                f"without a mutant: {outcome.killed_by} fails; see {self.folder / 'logs' / '0.log'}"
            )
        self.read_times(report)
        return outcome.seconds

    def read_times(self, report: Path) -> None:
        times: dict[str, float] = defaultdict(float)
        for case in ElementTree.parse(report).iter("testcase"):
            parts = (case.get("classname") or case.get("name", "")).split(".")  # skipped whole: a name alone
            file = next(
                "/".join(parts[:i]) + ".py" for i in range(len(parts), 0, -1) if self._is_test(parts[:i])
            )
            times[file] += float(case.get("time", 0))
        self.seconds = dict(times)

    def _is_test(self, parts: list[str]) -> bool:
        return (self.tree / ("/".join(parts) + ".py")).is_file()

    def run(self, number: int, mutated: str, limit: float, *arguments: str) -> Outcome:
        """The whole suite until a test fails: CTest, then the files of tests named most like the mutated one, the quick first."""
        logs = self.folder / "logs"
        logs.mkdir(exist_ok=True)
        log, mark = logs / f"{number}.log", logs / f"{number}.reached"
        environment = {**self.environment, "OZFP4_MUTANT": str(number), "OZFP4_MUTANT_REACHED": str(mark)}
        files = sorted(
            self.seconds, key=lambda file: (-len(words(file) & words(mutated)), self.seconds[file])
        )
        commands = [
            ["ctest", "--test-dir", str(self.build), "--no-tests=error", "--stop-on-failure"],
            [
                sys.executable,
                "-m",
                "pytest",
                "-x",
                "-v",
                "--tb=short",
                "-p",
                "no:cacheprovider",
                *arguments,
                *files,
            ],
        ]
        start, killed_by = time.monotonic(), ""
        for command in commands:
            status = self._wait(command, environment, log, limit - (time.monotonic() - start))
            if status != 0:
                name = self._failed(log.read_text(errors="replace"))
                killed_by = name if status is not None else f"timeout in {name}"
                break
        return Outcome(killed_by, mark.exists(), time.monotonic() - start)

    def _wait(self, command: list[str], environment: dict[str, str], log: Path, limit: float) -> int | None:
        """Exit status of a command that may write to the log only; None where it outran the limit."""
        with log.open("a") as out:
            process = subprocess.Popen(
                command, cwd=self.tree, env=environment, stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip
            try:
                return process.wait(max(1.0, limit))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return None

    @staticmethod
    def _failed(log: str) -> str:
        failed = (
            re.findall(r"^(?:FAILED|ERROR) (\S+)", log, re.M) or re.findall(r"^(tests/\S+)", log, re.M)[-1:]
        )
        failed = failed or re.findall(r"Test\s+#\d+: (\S+)", log)[-1:]
        return failed[0] if failed else "start"
