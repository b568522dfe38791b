"""The host's time of `ozfp4 exec` for a call that it leaves, and for one that goes to ozfp4, without launches and products.
BLAS, cuBLAS, the driver and ozfp4's kernels are stand-ins that return at once (exec_host/stand_ins.cpp).

    python benchmarks/exec_host.py [--repeats N] [-o FOLDER]

Nanoseconds a call of exec_host/program.cpp: plain, under exec in the default mode, and under `--always`, alternately, each in a
separate process. Columns: the least and the median of bursts of calls, and the median of calls with other data in the core's
caches; each is the least of several processes. On the CPU calls that go to ozfp4 multiply. Needs a C++ compiler, but no GPU.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from common import experiment
from common.experiment import Row

SOURCES = Path(__file__).with_name("exec_host")
NAMES = ("libcublas.so.13", "libcuda.so.1", "libozfp4.so.0")
EXEC = [sys.executable, "-m", "ozfp4", "exec"]
MODES = {"plain": [], "exec": [*EXEC, "--"], "always": [*EXEC, "--always", "--"]}
KEYS = ("least", "median", "cold", "caught")  # caught: products that went to ozfp4's stand-in
Times = dict[str, list[float]]  # by kind of call


def build(folder: Path) -> Path:
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        raise SystemExit("there is no C++ compiler, neither c++ nor g++")
    common = [compiler, "-std=c++17", "-O2"]
    library, program = folder / "libstand_ins.so", folder / "program"
    subprocess.run([*common, "-shared", "-fPIC", SOURCES / "stand_ins.cpp", "-o", library], check=True)
    for name in NAMES:
        (folder / name).symlink_to(library)
    subprocess.run(
        [*common, SOURCES / "program.cpp", library, f"-Wl,-rpath,{folder}", "-o", program], check=True
    )
    return program


def run(program: Path, before: list[str]) -> Times:
    places = os.pathsep.join(x for x in (str(program.parent), os.environ.get("LD_LIBRARY_PATH")) if x)
    done = subprocess.run(
        [*before, program],
        env={**os.environ, "LD_LIBRARY_PATH": places},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode or done.stderr:
        raise SystemExit(f"{' '.join(map(str, before))}: {done.stderr[-2000:]}")
    lines = (line.split("\t") for line in done.stdout.splitlines())
    return {name: [float(x) for x in numbers] for name, *numbers in lines}


def least_of(runs: list[Times], name: str) -> dict[str, float]:
    return dict(zip(KEYS, map(min, zip(*(each[name] for each in runs), strict=True)), strict=True))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--repeats", type=int, default=5, help="processes of each kind")
    experiment.add_output_arguments(parser, figures=False)


def rows(repeats: int) -> Iterator[Row]:
    found: dict[str, list[Times]] = {mode: [] for mode in MODES}
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        for _ in range(repeats):
            for mode, before in MODES.items():
                found[mode].append(run(program, before))
    for name in found["plain"][0]:
        best = {mode: least_of(runs, name) for mode, runs in found.items()}
        row: Row = {"call": name, **{f"{mode}, {key}": best[mode][key] for mode in MODES for key in KEYS}}
        more = {mode: best[mode]["median"] - best["plain"]["median"] for mode in ("exec", "always")}
        yield row | {f"{mode}, more": round(taken, 1) for mode, taken in more.items()}


def run_all(options: argparse.Namespace) -> int:
    experiment.collect(options, "exec_host", "Nanoseconds a call", "cpu", rows(options.repeats))
    return 0


main = experiment.program(__file__, __doc__, add_arguments, run_all)

if __name__ == "__main__":
    sys.exit(main())
