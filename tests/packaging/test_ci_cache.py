"""What CI keeps from run to run: objects of the compilers, and what has passed the CUDA gate."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import cuda_scope  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (ROOT / ".ci").is_dir(), reason="a source distribution is without .ci"),
]


# ---- Objects


def in_shell(commands: str, folder: Path, **variables: str) -> str:
    own = ("CCACHE", "OZFP4_CI", "CMAKE", "XDG_CACHE")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    done = subprocess.run(
        ["bash", "-euc", f". {ROOT}/.ci/cache\n{commands}"],
        cwd=folder, env=environment | variables, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({}, "home/.cache/ozfp4-ci"),
        ({"XDG_CACHE_HOME": "xdg"}, "xdg/ozfp4-ci"),
        ({"OZFP4_CI_CACHE": "own"}, "own"),
    ],
    ids=["home", "xdg", "named"],
)
def test_the_folder_lies_outside_the_checkout(variables: dict[str, str], folder: str, tmp_path: Path) -> None:
    given = {name: str(tmp_path / value) for name, value in variables.items()}
    found = in_shell("echo $OZFP4_CI_CACHE ${CCACHE_DIR:-}", tmp_path, HOME=str(tmp_path / "home"), **given)
    kept, *objects = found.split()
    assert kept == str(tmp_path / folder)
    assert objects == ([f"{kept}/ccache"] if shutil.which("ccache") else [])


TARGETS = "'--generate-code=arch=compute_80,code=[compute_80,sm_80]' '--generate-code=arch=compute_90a,code=[sm_90a]'"


@pytest.mark.parametrize(
    ("compiler", "suffix", "condition"),
    [
        ("g++", "cpp", "1"),
        (f"nvcc {TARGETS}", "cu", "defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900"),
    ],
    ids=["g++", "nvcc"],
)
def test_another_checkout_finds_the_objects_of_the_same_headers(
    compiler: str, suffix: str, condition: str, tmp_path: Path
) -> None:
    for program in (compiler.split()[0], "ccache"):
        if shutil.which(program) is None:
            pytest.skip(f"no {program}")

    def compiled(checkout: str, number: int) -> tuple[bytes, int]:
        """The object, and how many objects came from the cache so far."""
        folder = tmp_path / checkout / "build"
        folder.mkdir(parents=True, exist_ok=True)
        header, source = folder.parent / "number.hpp", folder.parent / f"source.{suffix}"
        header.write_text(f"#define NUMBER {number}\n", encoding="utf-8")
        source.write_text(
            f'#if {condition}\n#include "number.hpp"\n#else\n#define NUMBER 0\n#endif\n'
            + ("__global__ " if suffix == "cu" else "")
            + "void write(int* x) { *x = NUMBER; }\n",
            encoding="utf-8",
        )
        for path in (header, source):
            os.utime(path, (1e9, 1e9))  # ccache does not trust files that are as new as the compilation
        (folder / "o").unlink(missing_ok=True)
        counts = in_shell(
            f"cd build; ccache {compiler} -MD -MT o -MF o.d -c {source} -o o >&2; ccache --print-stats",
            folder.parent,
            OZFP4_CI_CACHE=str(tmp_path / "cache"),
        )
        (hits,) = (int(x.split()[1]) for x in counts.splitlines() if x.startswith("direct_cache_hit"))
        return (folder / "o").read_bytes(), hits

    first, hits = compiled("one", 1)
    assert hits == 0
    assert compiled("other", 1) == (first, 1)
    changed, hits = compiled("other", 2)
    assert hits == 1
    assert changed != first


# ---- The CUDA gate


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("OZFP4_CUDA_GATE", raising=False)
    for pattern in (*cuda_scope.WIDE, *cuda_scope.COMPILED):
        assert list(ROOT.glob(pattern)), pattern
    for folder in ("csrc", "cmake", "include", ".ci", "tools"):
        shutil.copytree(ROOT / folder, tmp_path / "checkout" / folder)
    (tmp_path / "checkout" / cuda_scope.PASSED).unlink(missing_ok=True)
    return tmp_path / "checkout"


def note_all(checkout: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as context:
        context.setenv("OZFP4_CUDA_GATE", "all")
        cuda_scope.note(checkout, cache, "nvcc 1")


def append(file: Path) -> None:
    file.write_text(file.read_text(encoding="utf-8") + "\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ("csrc/cuda/multiply/tcgen05/cost.cpp", "all"),
        ("cmake/cuda.cmake", "all"),
        (".ci/cuda", "all"),
        ("tools/check_cubins.py", "all"),
        (".ci/cuda.numbers", "some"),
        ("cmake/checks.cmake", "some"),
        ("csrc/cuda/scale/scale.cu", "some"),
        ("csrc/arith/fold.hpp", "some"),
        ("csrc/c_api/gemm.cpp", "some"),
        ("csrc/cpu/matmul.hpp", "some"),  # which csrc/cuda includes
        ("csrc/cpu/matmul.cpp", "none"),
        ("csrc/exec/decide.cpp", "none"),
        (".ci/run", "none"),
    ],
)
def test_the_gate_builds_what_a_change_touches(
    changed: str, expected: str, checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    assert cuda_scope.scope(checkout, cache, "nvcc 1") == "all"
    note_all(checkout, cache, monkeypatch)
    assert cuda_scope.scope(checkout, cache, "nvcc 1") == "none"
    assert cuda_scope.scope(checkout, cache, "nvcc 2") == "all"
    assert cuda_scope.scope(checkout, tmp_path / "new", "nvcc 1") == "some"
    before = (checkout / changed).read_text(encoding="utf-8")
    append(checkout / changed)
    assert cuda_scope.scope(checkout, cache, "nvcc 1") == expected
    if expected != "none":
        cuda_scope.note(checkout, cache, "nvcc 1")
        assert cuda_scope.scope(checkout, cache, "nvcc 1") == "none"
    (checkout / changed).write_text(before, encoding="utf-8")
    assert cuda_scope.scope(checkout, cache, "nvcc 1") == "none"


def test_what_passed_for_some_gpus_has_not_passed_for_all(checkout: Path, tmp_path: Path) -> None:
    cuda_scope.note(checkout, tmp_path / "cache", "nvcc 1")
    append(checkout / "csrc/cuda/scale/scale.cu")
    assert cuda_scope.scope(checkout, tmp_path / "cache", "nvcc 1") == "all"


def test_everything_is_built_on_demand(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note_all(checkout, tmp_path / "cache", monkeypatch)
    monkeypatch.setenv("OZFP4_CUDA_GATE", "all")
    assert cuda_scope.scope(checkout, tmp_path / "cache", "nvcc 1") == "all"
