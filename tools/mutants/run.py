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

# OZFP4_MUTANT is the number of the mutant that runs; at 0 none does, and those that are reached are noted in a file.
CPP_SWITCH = r"""#pragma once
#include <cstdio>
#include <cstdlib>
#include <type_traits>

namespace ozfp4_mutants {
inline int read_number() {
  const char* text = std::getenv("OZFP4_MUTANT");
  return text ? std::atoi(text) : -1;
}
inline const int number = read_number();
[[gnu::cold, gnu::noinline]] inline bool note(int n) {
  static bool noted[1 << 16] = {};
  if (noted[n]) return false;
  noted[n] = true;
  const char* path = std::getenv("OZFP4_MUTANTS_REACHED");
  if (std::FILE* file = path ? std::fopen(path, "a") : nullptr) {
    std::fprintf(file, "%d\n", n);
    std::fclose(file);
  }
  return false;
}
}  // namespace ozfp4_mutants

inline bool ozfp4_mutant(int n) {
  return ozfp4_mutants::number == n || (ozfp4_mutants::number == 0 && ozfp4_mutants::note(n));
}
// In functions that the compiler evaluates as well: there the original stands.
constexpr bool ozfp4_mutant_late(int n) { return __builtin_is_constant_evaluated() ? false : ozfp4_mutant(n); }
"""
PYTHON_SWITCH = r"""import os

_number, _noted = int(os.environ.get("OZFP4_MUTANT", "-1")), set()


def on(n):
    if _number == 0 and n not in _noted:
        _noted.add(n)
        with open(os.environ["OZFP4_MUTANTS_REACHED"], "a") as file:
            file.write(f"{n}\n")
    return n == _number
"""
CONFIGURE = (
    "cmake -G Ninja -DOZFP4_TESTING=ON -DOZFP4_LIBRARY=ON -DOZFP4_CUDA=OFF -DCMAKE_EXPORT_COMPILE_COMMANDS=ON"
)
CTEST = "ctest --no-tests=error --stop-on-failure --output-on-failure --test-dir"
PYTEST = ["-m", "pytest", "-m", "not nightly", "-x", "-v", "--tb=short", "-p", "no:cacheprovider"]


def words(file: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", file)) - {"tests", "test", "src", "ozfp4", "csrc", "py", "cpp", "hpp"}


@dataclass(frozen=True)
class Outcome:
    killed_by: str  # a test, or "" where all pass
    seconds: float


class Suite:
    """The tests of a tree in a separate folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.tree, self.build = folder, folder / "tree", folder / "build"
        self.seconds: dict[str, float] = {}  # of each file of tests
        self.switch, self.logs = folder / "switch", folder / "logs"
        for made in (self.switch, self.logs):
            made.mkdir(exist_ok=True)
        (self.switch / "ozfp4_mutant.hpp").write_text(CPP_SWITCH)
        self.environment = {**os.environ, "PYTHONPATH": str(self.tree / "src"), "PYTHONUNBUFFERED": "1"}
        self.environment["OZFP4_MUTANTS_REACHED"] = str(folder / "reached")
        self.environment |= {"OZFP4_LIBRARY_BUILD": str(self.build), "OPENBLAS_NUM_THREADS": "2"}

    def configure(self) -> None:
        # Next to the package: tests start processes that look nowhere else.
        (self.tree / "src" / "ozfp4_mutant.py").write_text(PYTHON_SWITCH)
        ask = [sys.executable, "-m", "pybind11", "--cmakedir"]
        pybind11 = subprocess.run(ask, check=True, capture_output=True, text=True).stdout.strip()
        command = [*CONFIGURE.split(), "-S", self.tree, "-B", self.build, f"-Dpybind11_DIR={pybind11}"]
        command += [f"-DCMAKE_CXX_FLAGS=-w -include {self.switch}/ozfp4_mutant.hpp"]
        subprocess.run(
            [*command, f"-DPython_EXECUTABLE={sys.executable}"], check=True, stdout=subprocess.DEVNULL
        )

    def compile(self, jobs: int) -> str:
        """The errors of the compiler, "" without one; the extension modules then are in the tree."""
        command = ["cmake", "--build", self.build, f"-j{jobs}", "--", "-k", "0"]
        said = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        if said.returncode:
            return said.stdout
        for module in self.build.glob("*.so"):
            (self.tree / "src" / "ozfp4" / module.name).write_bytes(module.read_bytes())
        return ""

    def measure(self) -> float:
        """Runs everything without a mutant, which must pass; the seconds."""
        report = self.folder / "base.xml"
        outcome = self.run(0, "", 7200, f"--junitxml={report}", "--maxfail=0")
        if outcome.killed_by:
            raise SystemExit(f"without a mutant: {outcome.killed_by} fails; see {self.logs}/0.log")
        self.read_times(report)
        return outcome.seconds

    def read_times(self, report: Path) -> None:
        seconds: dict[str, float] = defaultdict(float)
        for case in ElementTree.parse(report).iter("testcase"):
            parts = (case.get("classname") or case.get("name", "")).split(".")  # skipped whole: a name alone
            files = ["/".join(parts[:length]) + ".py" for length in range(1, len(parts) + 1)]
            file = next(file for file in files if (self.tree / file).is_file())
            seconds[file] += float(case.get("time", 0))
        self.seconds = dict(seconds)

    def reached(self) -> set[int]:
        """The mutants with code that some test ran in `measure`."""
        noted = self.folder / "reached"
        return {int(number) for number in noted.read_text().split()} if noted.exists() else set()

    def run(self, number: int, mutated: str, limit: float, *arguments: str) -> Outcome:
        """The suite until a test fails: CTest, then the files of tests named most like the mutated one, the quick first."""
        log = self.logs / f"{number}.log"
        log.unlink(missing_ok=True)
        environment = {**self.environment, "OZFP4_MUTANT": str(number)}
        order = {file: (-len(words(file) & words(mutated)), time) for file, time in self.seconds.items()}
        files = sorted(order, key=order.__getitem__)
        pytest = [sys.executable, *PYTEST, *arguments, *files]
        start, killed_by = time.monotonic(), ""
        for command in ([*CTEST.split(), str(self.build)], pytest):
            status = self._wait(command, environment, log, limit - (time.monotonic() - start))
            if status != 0:
                name = self._failed(log.read_text(errors="replace"))
                killed_by = name if status is not None else f"timeout in {name}"
                break
        return Outcome(killed_by, time.monotonic() - start)

    def _wait(self, command: list[str], environment: dict[str, str], log: Path, limit: float) -> int | None:
        """Exit status of a command that writes to the log; None where it outran the limit."""
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
        """The test that failed, or the last that began."""
        patterns = (r"^(?:FAILED|ERROR) (\S+)", r"^(tests/\S+)", r"Test\s+#\d+: (\S+)")
        found = [re.findall(pattern, log, re.M) for pattern in patterns]
        return found[0][0] if found[0] else next((names[-1] for names in found[1:] if names), "start")
