"""How much the CUDA gate has to build: by what has passed it before, not by a base commit, which a shallow clone lacks.

    python tools/cuda_scope.py CACHE            # prints all, some or none
    python tools/cuda_scope.py CACHE --passed   # notes that these sources have passed

CACHE is a folder that stays from run to run. It holds empty files, each named by a hash of sources that passed.
.ci/cuda.passed is committed: the hash of `WIDE` and nvcc that last passed for all GPUs with OZFP4_CUDA_GATE=all.
none: the sources of the gate have passed. some: they changed, but `WIDE` is as .ci/cuda.passed has it.
all: anything else, or where OZFP4_CUDA_GATE=all says so.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WIDE = (
    *("csrc/cuda/multiply/tcgen05/**/*", ".ci/cuda", ".ci/cache"),
    *(f"cmake/{name}.cmake" for name in ("cuda", "cutlass", "gpu_targets", "nvcc", "sm100")),
    *(
        "tools/check_cubins.py",
        "tools/count_main_loop.py",
        "tools/check_mma_model.py",
        "tools/check_fences.py",
    ),
    "tools/cuda_scope.py",
)
PASSED = ".ci/cuda.passed"
# These, and what they include.
COMPILED = (
    *("CMakeLists.txt", "cmake/**/*", ".ci/cuda.numbers"),
    *(
        "csrc/arith/**/*",
        "csrc/plan/**/*",
        "csrc/cuda/**/*",
        "csrc/product/**/*",
        "csrc/c_api/**/*",
        "csrc/bindings/cuda/**/*",
    ),
    *("include/**/*", "benchmarks/*.cu*"),
    *("tests/cuda/**/*_check.*", "tests/c_api/cuda_*_check.*", "tests/product/gpu/*"),
)


def files(root: Path, patterns: tuple[str, ...]) -> set[Path]:
    return {path for pattern in patterns for path in root.glob(pattern) if path.is_file()}


def with_included(root: Path, sources: set[Path]) -> set[Path]:
    found, waiting = set[Path](), set(sources)
    while waiting:
        file = waiting.pop()
        found.add(file)
        for name in re.findall(r'^ *# *include "(.+)"', file.read_text(encoding="utf-8"), re.MULTILINE):
            places = (file.parent, root / "csrc", root / "include", root / "tests")
            waiting |= {path for path in (place / name for place in places) if path.is_file()} - found
    return found


def digest(root: Path, paths: set[Path], more: str) -> str:
    """The hash of names and contents, and of `more`."""
    total = hashlib.sha256(more.encode())
    for path in sorted({path.resolve() for path in paths}):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        total.update(f"{path.relative_to(root.resolve())} {content}\n".encode())
    return total.hexdigest()


def digests(root: Path, compiler: str) -> tuple[str, str]:
    """The hashes of all sources of the gate, and of `WIDE`."""
    wide = files(root, WIDE)
    every = wide | with_included(root, files(root, COMPILED))
    return digest(root, every, compiler), digest(root, wide, compiler)


def is_whole_on_demand() -> bool:
    return os.environ.get("OZFP4_CUDA_GATE") == "all"


def scope(root: Path, cache: Path, compiler: str) -> str:
    if is_whole_on_demand():
        return "all"
    every, wide = digests(root, compiler)
    if (cache / f"cuda-passed-{every}").exists():
        return "none"
    passed = root / PASSED
    return "some" if passed.exists() and passed.read_text(encoding="ascii").strip() == wide else "all"


def note(root: Path, cache: Path, compiler: str) -> None:
    every, wide = digests(root, compiler)
    cache.mkdir(parents=True, exist_ok=True)
    (cache / f"cuda-passed-{every}").touch()
    if is_whole_on_demand():
        (root / PASSED).write_text(f"{wide}\n", encoding="ascii")


def nvcc() -> str:
    done = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=True)
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cache", type=Path)
    parser.add_argument("--passed", action="store_true")
    options = parser.parse_args()
    if options.passed:
        note(ROOT, options.cache, nvcc())
    else:
        print(scope(ROOT, options.cache, nvcc()))


if __name__ == "__main__":
    main()
