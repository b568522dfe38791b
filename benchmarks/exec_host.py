"""What `ozfp4 exec` costs the host of a call that it leaves, and of one that goes to ozfp4, where launches and products take
nothing: BLAS, cuBLAS, the driver and ozfp4's kernels are stand-ins that return at once (exec_host/stand_ins.cpp).

    python benchmarks/exec_host.py [--repeats N] [--out FILE]

Nanoseconds a call, of the program exec_host/program.cpp plain, under exec in the default mode, and under `--always`, in turns,
each in a process of its own: of bursts of calls the least and the median one, and the median of calls that find a core's caches
full of something else; of several processes the least of each. On the CPU what goes to ozfp4 is multiplied. No GPU is needed,
but a C++ compiler.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ozfp4.measure.machine import describe, sentence

SOURCES = Path(__file__).with_name("exec_host")
NAMES = ("libcublas.so.13", "libcuda.so.1", "libozfp4.so.0")
EXEC = [sys.executable, "-m", "ozfp4", "exec"]
MODES = {"plain": [], "exec": [*EXEC, "--"], "always": [*EXEC, "--always", "--"]}
Times = dict[
    str, list[float]
]  # by kind of call: least, median, median of cold calls, products that went to ozfp4's stand-in


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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=5, help="processes of each kind")
    parser.add_argument("--out", metavar="FILE")
    arguments = parser.parse_args()
    machine = describe("cpu")
    print(sentence(machine))
    found: dict[str, list[Times]] = {mode: [] for mode in MODES}
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        for _ in range(arguments.repeats):
            for mode, before in MODES.items():
                found[mode].append(run(program, before))
    rows = []
    heads = [*MODES, "left, more", "always, more"]
    print(f"{'':40}" + "".join(f"{head:>18}" for head in heads))
    for name in found["plain"][0]:
        best = {
            mode: [min(x) for x in zip(*(each[name] for each in runs), strict=True)]
            for mode, runs in found.items()
        }
        more = [
            [x - y for x, y in zip(best[mode], best["plain"], strict=True)] for mode in ("exec", "always")
        ]
        cells = [" ".join(f"{x:.0f}" for x in times[:3]) for times in (*best.values(), *more)]
        is_caught = best["exec"][3] > 0
        print(f"{name:40}" + "".join(f"{cell:>18}" for cell in cells) + " caught" * is_caught, flush=True)
        keys = ("least", "median", "cold", "caught")
        rows.append(
            {"call": name, **{mode: dict(zip(keys, times, strict=True)) for mode, times in best.items()}}
        )
    if arguments.out:
        Path(arguments.out).write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
