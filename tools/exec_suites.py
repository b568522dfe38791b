"""Run the tests of other packages under `ozfp4 exec --always`: none may fail that passes without.

    python tools/exec_suites.py [numpy.linalg scipy.linalg scipy.sparse.linalg] [torch.linalg] [FOLDER] [--workers N]

A package brings its tests, which are those of PyTest's --pyargs; torch.linalg's are torch's own samples, compared as torch does
(tools/torch_linalg_samples.py), on a GPU where there is one; a folder is one of tests, of CuPy's sources for instance. Needs
pytest, with pytest-xdist for more than one worker, and hypothesis. Where tests fail, all are run again without ozfp4; those that
pass then are the findings, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGES = ("numpy.linalg", "scipy.linalg", "scipy.sparse.linalg")
SAMPLES = Path(__file__).with_name("torch_linalg_samples.py")
EVERY = "float32,float64,complex64,complex128"


def tests(arguments: list[str], folder: str) -> tuple[list[str], str]:
    """What fails of a run of pytest, and its last line."""
    settings = Path(folder) / "pytest.ini"  # none of this project's
    settings.write_text("[pytest]\n", encoding="utf-8")
    command = [*arguments, "-q", "-rfE", "-p", "no:cacheprovider", "-c", str(settings), "--rootdir", folder]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    lines = done.stdout.splitlines() or [done.stderr]
    if done.returncode not in (0, 1):
        raise SystemExit(
            f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    return re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.M), lines[-1]


def check(package: str, workers: int, folder: str) -> list[str]:
    """Tests of a package that ozfp4 makes fail."""
    report = Path(folder) / "report.json"
    report.unlink(missing_ok=True)  # of the package before, which would be added to
    path = SAMPLES if package == "torch.linalg" else Path(package)
    python = [
        sys.executable,
        "-m",
        "pytest",
        *([str(path.resolve())] if path.exists() else ["--pyargs", package]),
        *(["-n", str(workers)] if workers > 1 else []),
    ]
    before = [
        sys.executable,
        "-m",
        "ozfp4",
        "exec",
        "--always",
        "--dtypes",
        EVERY,
        "--report",
        str(report),
        "--",
    ]
    failed, last = tests([*before, *python], folder)
    processes = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    caught = sum(process["caught"] for process in processes)
    print(f"{package}: {last}; {caught} products by ozfp4", flush=True)
    if caught == 0:
        raise SystemExit(f"{package}: nothing was caught: its BLAS is not reached")
    plain = set(tests(python, folder)[0]) if failed else set()
    return [name for name in failed if name not in plain]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("packages", nargs="*", default=PACKAGES)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for package in arguments.packages:
            found += check(package, arguments.workers, folder)
    for name in found:
        print(f"fails with ozfp4 alone: {name}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
