"""Changes the code in many places, one at a time, and sees whether the tests notice.

    python tools/mutate.py [--count 40] [--seed 1] [--jobs 2] [--only 3,17] [--out mutants.json] [--keep FOLDER]

Blind: all lines of src/ozfp4, and of those files of csrc that a build for the CPU with OZFP4_TESTING compiles or includes, are
put in a seeded random order. Lines that do not run, or cannot be mutated at all, are left out. Each line in turn gets one
mutation, first its kind drawn, then one of that kind. The kinds are an operator, comparison, constant, condition, min or max,
the order of arguments, a returned value, or a dropped statement. Texts, comments and what the compiler evaluates are left
alone. A mutant that does not compile gives way to the next line.

All mutants are in one build, in a copy of the tree: `(mutant ? changed : original)`, picked by the environment variable
OZFP4_MUTANT. The suite must pass without one. Then it runs for each mutant as `make test-all` does, until a test fails: the
files of tests named like the mutated one first, then the quickest. Three times the time of the whole suite is failure as
well. A mutant with code that no test runs survives at once.

Needs CMake, Ninja, a compiler and, in the Python that runs it, pybind11 and what the tests need. CI does not run it.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from mutants import cpp, python
from mutants.mutation import Mutation, apply
from mutants.run import Outcome, Suite

ROOT = Path(__file__).resolve().parents[1]


@dataclass
class Mutant:
    number: int
    file: str
    line: int
    mutation: Mutation
    late: bool = False  # its function is evaluated by the compiler too

    @property
    def switch(self) -> str:
        if self.file.endswith(".py"):
            return f'__import__("ozfp4_mutant").on({self.number})'
        return f"ozfp4_mutant{'_late' if self.late else ''}({self.number})"


def compiled_files(build: Path, tree: Path) -> list[Path]:
    """The files of csrc that the build compiles, and those that they include."""
    commands = json.loads((build / "compile_commands.json").read_text())
    found, waiting = set(), {Path(command["file"]) for command in commands}
    while waiting:
        file = waiting.pop()
        found.add(file)
        includes = re.findall(r'^#include "(.+)"', file.read_text(), re.M)
        waiting |= {tree / "csrc" / name for name in includes if (tree / "csrc" / name).is_file()} - found
    return sorted(file for file in found if tree / "csrc" in file.parents)


def sequence(files: list[Path], tree: Path, seed: int) -> Iterator[tuple[str, int, Mutation]]:
    """One mutation a line, the lines in random order."""
    at_line: dict[tuple[str, int], list[Mutation]] = defaultdict(list)
    for file in files:
        text = file.read_text()
        for mutation in (python if file.suffix == ".py" else cpp).candidates(text):
            at_line[str(file.relative_to(tree)), text.count("\n", 0, mutation.start) + 1].append(mutation)
    draw = random.Random(seed)
    for file_name, line in draw.sample(sorted(at_line), len(at_line)):
        mutations = at_line[file_name, line]
        kind = draw.choice(sorted({mutation.kind for mutation in mutations}))
        yield file_name, line, draw.choice([mutation for mutation in mutations if mutation.kind == kind])


class Mutants:
    """The mutants of a tree, kept at their number while some give way to others."""

    def __init__(self, suite: Suite, tries: Iterator[tuple[str, int, Mutation]], count: int) -> None:
        self.suite, self.tries, self.list = suite, tries, list[Mutant]()
        self.originals: dict[str, str] = {}
        for number in range(1, count + 1):
            self.list.append(self.next(number))

    def next(self, number: int) -> Mutant:
        for file, line, mutation in self.tries:
            beside = [m.mutation for m in self.list if m.file == file and m.number != number]
            if any(mutation.start < other.end and other.start < mutation.end for other in beside):
                continue
            mutant = Mutant(number, file, line, mutation)
            if not file.endswith(".py") or self.is_python(mutant):
                return mutant
        raise SystemExit("no line is left")

    def is_python(self, mutant: Mutant) -> bool:
        try:
            compile(
                apply(self.original(mutant.file), [(mutant.mutation, mutant.switch)]), mutant.file, "exec"
            )
        except SyntaxError:
            return False
        return True

    def original(self, file: str) -> str:
        return self.originals.setdefault(file, (self.suite.tree / file).read_text())

    def write(self) -> None:
        files = {mutant.file for mutant in self.list} | set(self.originals)
        for file in files:
            here = [(mutant.mutation, mutant.switch) for mutant in self.list if mutant.file == file]
            text = apply(self.original(file), here)
            if text != (path := self.suite.tree / file).read_text():
                path.write_text(text)

    def build(self, jobs: int) -> None:
        """Replaces what the compiler refuses until it refuses nothing."""
        self.write()
        while said := self.suite.compile(jobs):
            errors = [line for line in said.splitlines() if "error:" in line]
            refused = [m for m in self.list if self.is_named(m, errors)] or [
                m for m in self.list if self.is_named(m, said.splitlines())
            ]
            if not refused:
                raise SystemExit(f"the build fails, by no mutant's line:\n{said}")
            for mutant in refused:
                is_late = not mutant.late and any(
                    "ozfp4_mutant" in line and "constexpr" in line for line in said.splitlines()
                )
                if is_late:
                    mutant.late = True
                else:
                    self.list[mutant.number - 1] = self.next(mutant.number)
            print(f"the compiler refuses {len(refused)}", flush=True)
            self.write()

    def is_named(self, mutant: Mutant, lines: list[str]) -> bool:
        text = self.original(mutant.file)
        last = mutant.line + text.count("\n", mutant.mutation.start, mutant.mutation.end)
        named = (re.search(re.escape(mutant.file) + r":(\d+):", line) for line in lines)
        return any(match and mutant.line <= int(match[1]) <= last for match in named)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="suites at a time, and compilers")
    parser.add_argument("--only", default="", help="numbers of the mutants to run")
    parser.add_argument("--out", type=Path, help="write the table as JSON")
    parser.add_argument("--keep", type=Path, help="a new folder to work in, which stays")
    parser.add_argument("--list", action="store_true", help="build and list, run nothing")
    options = parser.parse_args()

    folder = options.keep or Path(tempfile.mkdtemp(prefix="ozfp4-mutants-"))
    folder.mkdir(exist_ok=True)
    suite = Suite(folder.resolve())
    leave = shutil.ignore_patterns(
        ".git", ".venv", "build", "dist", "*.so", "__pycache__", ".*_cache", ".hypothesis"
    )
    shutil.copytree(ROOT, suite.tree, ignore=leave)
    suite.configure()
    files = sorted((suite.tree / "src" / "ozfp4").rglob("*.py")) + compiled_files(suite.build, suite.tree)
    mutants = Mutants(suite, sequence(files, suite.tree, options.seed), options.count)
    mutants.build(options.jobs)
    for mutant in mutants.list:
        print(
            f"{mutant.number:3} {mutant.file}:{mutant.line}  {mutant.mutation.kind}: {mutant.mutation.change}"
        )
    if options.list:
        return

    seconds = suite.measure()
    print(f"without a mutant all pass in {seconds:.0f} s", flush=True)
    reached = suite.reached()
    chosen = {int(number) for number in options.only.split(",") if number} or {
        mutant.number for mutant in mutants.list
    }

    def run(mutant: Mutant) -> tuple[Mutant, Outcome]:
        is_reached = mutant.number in reached
        outcome = suite.run(mutant.number, mutant.file, 3 * seconds) if is_reached else Outcome("", 0)
        fate = "SURVIVED" if is_reached else "SURVIVED: no test runs the line"
        fate = f"killed by {outcome.killed_by}" if outcome.killed_by else fate
        print(f"{mutant.number:3} {mutant.file}:{mutant.line}  {fate}  {outcome.seconds:.0f} s", flush=True)
        return mutant, outcome

    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(run, [mutant for mutant in mutants.list if mutant.number in chosen]))
    killed = sum(bool(outcome.killed_by) for _, outcome in results)
    print(f"{killed} of {len(results)} killed")
    if options.out:
        rows = [
            {
                "number": m.number,
                "file": m.file,
                "line": m.line,
                "kind": m.mutation.kind,
                "change": m.mutation.change,
                **asdict(o),
            }
            for m, o in results
        ]
        options.out.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
    if not options.keep:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
