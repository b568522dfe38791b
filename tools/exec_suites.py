"""Run the tests of other packages under `ozfp4 exec --always`: none may fail that passes without.

    python tools/exec_suites.py [numpy.linalg scipy.linalg scipy.sparse.linalg] [torch.linalg] [FOLDER] [--workers N]

A package brings its tests, which are those of PyTest's --pyargs; torch.linalg's are torch's own samples, compared as torch does
(tools/torch_linalg_samples.py), on a GPU where there is one. A folder holds the sources of NVIDIA's gemm_grading, LAPACK or
FFLAS-FFPACK, which are built in its folder build, or tests for PyTest, such as those of CuPy or array-api-tests.
Needs pytest, with pytest-xdist for more than one worker, and hypothesis. If tests fail, all are run again without ozfp4; those
that pass then are the findings, and the exit status is 1.

Where the folders come from (git clone --recurse-submodules https://github.com/...), and what they need:

    cupy/cupy, the folders of the tests of solvers, products, norms and eigenvalues: a GPU, CuPy
    data-apis/array-api-tests at 55fcc601, array_api_tests/test_linalg.py: its requirements.txt, and
        ARRAY_API_TESTS_MODULE=numpy or array_api_strict
    NVIDIA/CUDALibrarySamples at 34377293, cuBLAS/Emulation/gemm_grading: CMake, a BLAS, CUDA 13.0.2 with cuBLAS, also for a CPU
    Reference-LAPACK/lapack at 51b34947: CMake, gfortran
    linbox-team/fflas-ffpack at 175ca42e: autoconf, automake, libtool, Givaro, GMP, OpenBLAS
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

PACKAGES = ("numpy.linalg", "scipy.linalg", "scipy.sparse.linalg")
SAMPLES = Path(__file__).with_name("torch_linalg_samples.py")
EVERY = "float32,float64,complex64,complex128"
# The programs of FFLAS-FFPACK that multiply most: each takes a compiler up to a minute.
FFLAS = "test-fgemm test-ftrsm test-fsyrk test-lu test-det test-echelon test-charpoly test-invert-check test-fgesv"

# Runs the tests behind the words of a command, [] or ozfp4 exec's: those that fail, and a line that sums up.
Run = Callable[[list[str]], tuple[list[str], str]]


def output(command: list[str], folder: Path, statuses: tuple[int, ...] = (0,)) -> str:
    """The output of a command, which may end with these statuses alone."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode not in statuses:
        raise SystemExit(
            f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    return done.stdout or done.stderr


def with_cmake(sources: Path, workers: int, *options: str) -> Path:
    """The folder in which these sources are built."""
    build = sources / "build"
    output(["cmake", "-S", str(sources), "-B", str(build), "-DCMAKE_BUILD_TYPE=Release", *options], sources)
    output(["cmake", "--build", str(build), "--parallel", str(workers)], sources)
    return build


# ---- PyTest ------------------------------------------------------------------------------------------------


def pytest_failures(written: str) -> tuple[list[str], str]:
    lines = written.splitlines()
    if not lines:
        raise SystemExit("pytest: it wrote nothing")
    return re.findall(r"^(?:FAILED|ERROR) (\S+)", written, re.M), lines[-1]


def with_pytest(package: str, workers: int, folder: Path) -> Run:
    path = SAMPLES if package == "torch.linalg" else Path(package)
    settings = folder / "pytest.ini"  # none of this project's
    settings.write_text("[pytest]\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest"]
    command += [str(path.resolve())] if path.exists() else ["--pyargs", package]
    command += ["-n", str(workers)] if workers > 1 else []
    command += ["-q", "-rfE", "-p", "no:cacheprovider", "-c", str(settings), "--rootdir", str(folder)]
    return lambda before: pytest_failures(output([*before, *command], folder, (0, 1)))


# ---- NVIDIA's gemm_grading -----------------------------------------------------------------------------------


def grading_failures(written: str) -> tuple[list[str], int]:
    """The sizes that do not pass for conventional, and a growth of errors that is not linear; and how many were graded."""
    rows = re.findall(r"^ *(\d+) \| (.*?) +\| +(?:\x1b\[\d+m)?(Safe|Unsafe)", written, re.M)
    slopes = re.findall(r"has slope (\S+)\.$", written, re.M)
    failed = [f"{size}: {found}" for size, found, status in rows if status != "Safe"]
    failed += [f"errors grow by the power {slope}" for slope in slopes if not float(slope) <= 1]  # NaN, too
    return failed, len(rows) + len(slopes)


def grading(sources: Path, workers: int) -> Run:
    build = with_cmake(sources, workers)
    routines = ["-d", "-d -z", *(["-c", "-c -z"] if shutil.which("nvidia-smi") else [])]

    def run(before: list[str]) -> tuple[list[str], str]:
        failed, graded = [], 0
        for program in ("test_blas3", "grade_blas3"):
            for routine in routines:
                written = output([*before, str(build / program), *routine.split()], build, (0, 1))
                found, count = grading_failures(written)
                if count == 0:
                    raise SystemExit(f"{program} {routine}: it graded nothing\n{written[-2000:]}")
                failed += [f"{program} {routine}: {what}" for what in found]
                graded += count
        return failed, f"{len(failed)} failed of {graded} grades"

    return run


# ---- LAPACK's testers ----------------------------------------------------------------------------------------


def lapack_failures(written: str) -> tuple[list[str], int]:
    """The lines of one tester that count failures, and how many checks it made."""
    failed = re.findall(r"^ *(.*(?:\d+ +out of +\d+|Error in \w+|test FAILED).*?) *$", written, re.M)
    checks = re.findall(r"(\d+) tests run\)|out of +(\d+)|number of examples tested *= *(\d+)", written)
    return failed, sum(int("".join(numbers)) for numbers in checks)


def lapack(sources: Path, workers: int) -> Run:
    # A shared library, with its own BLAS under symbols that others may define.
    build = with_cmake(
        sources, workers, "-DBUILD_SHARED_LIBS=ON", "-DBUILD_TESTING=ON", "-DBUILD_INDEX64_EXT_API=OFF"
    )
    command = ["ctest", "--test-dir", str(build), "--tests-regex", "^LAPACK-", "--parallel", str(workers)]

    def run(before: list[str]) -> tuple[list[str], str]:
        for path in (build / "TESTING").glob("*.out"):
            path.unlink()  # of a run before
        # A tester that ends with an error, which counts for none of its checks.
        failed = re.findall(r"^\s+\d+ - (\S+ \(.*\))", output([*before, *command], build, (0, 8)), re.M)
        checks = 0
        for path in sorted((build / "TESTING").glob("*.out")):
            found, count = lapack_failures(path.read_text(encoding="utf-8"))
            failed += [f"{path.name}: {line}" for line in found]
            checks += count
        return failed, f"{len(failed)} failed, {checks} checks"

    return run


# ---- FFLAS-FFPACK --------------------------------------------------------------------------------------------


def automake_failures(written: str) -> tuple[list[str], str]:
    verdicts = re.findall(r"^(PASS|FAIL|ERROR): (\S+)", written, re.M)
    failed = [name for verdict, name in verdicts if verdict != "PASS"]
    return failed, f"{len(failed)} failed of {len(verdicts)} programs"


def fflas(sources: Path, workers: int) -> Run:
    build = sources / "build"
    build.mkdir(exist_ok=True)
    if not (build / "Makefile").exists():
        output([str(sources / "autogen.sh")], build)
    output(["make", "-C", "tests", "-j", str(workers), *FFLAS.split()], build)
    command = ["make", "-C", "tests", "check", f"TESTS={FFLAS}"]
    return lambda before: automake_failures(output([*before, *command], build, (0, 2)))


# ---- All -----------------------------------------------------------------------------------------------------

# By a file that such sources have.
SOURCES = {"test_blas3.cpp": grading, "lapack_testing.py": lapack, "fflas-ffpack/fflas-ffpack.h": fflas}


def check(package: str, workers: int, folder: Path) -> list[str]:
    """Tests of a package that ozfp4 makes fail."""
    path = Path(package).resolve()
    of_sources = next((make for name, make in SOURCES.items() if (path / name).exists()), None)
    run = of_sources(path, workers) if of_sources else with_pytest(package, workers, folder)
    report = folder / "report.json"
    report.unlink(missing_ok=True)  # of the package before, which would be added to
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
    failed, last = run(before)
    caught: Counter[str] = Counter()
    for line in report.read_text(encoding="utf-8").splitlines() if report.exists() else ():
        caught.update({name: row["caught"] for name, row in json.loads(line)["by_routine"].items()})
    print(f"{package}: {last}; by ozfp4: {dict(caught)}", flush=True)
    if caught.total() == 0:
        raise SystemExit(f"{package}: nothing was caught: its BLAS is not reached")
    plain = set(run([])[0]) if failed else set()
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
            found += check(package, arguments.workers, Path(folder))
    for name in found:
        print(f"fails with ozfp4 alone: {name}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
