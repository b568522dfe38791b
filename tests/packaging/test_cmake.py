"""The build names in a sentence what it lacks, and finds the headers of CUTLASS where build isolation hides what is installed.

nvcc and pip are fakes, or have nothing but a folder to download from: no test compiles or reaches the network.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATH = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
CMAKE = shutil.which("cmake", path=PATH)
HEADER = "cutlass_library/source/include/cutlass/cutlass.h"
WHEEL = "nvidia_cutlass-4.2.0.0-py3-none-any.whl"

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CMAKE is None, reason="no cmake")]


def cmake(*arguments: str, **environment: str) -> tuple[int, str]:
    """Exit status and, in one line, the output of CMake."""
    done = subprocess.run(
        [str(CMAKE), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PATH": PATH, **environment},
    )
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def program(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


# ---- nvcc ----------------------------------------------------------------------------------------------------------


def fake_nvcc(folder: Path, release: str) -> Path:
    says = f"Cuda compilation tools, release {release}, V{release}.131"
    return program(
        folder / "nvcc", f"#!/bin/sh\necho 'nvcc: NVIDIA (R) Cuda compiler driver'\necho '{says}'\n"
    )


@pytest.mark.parametrize(
    ("release", "good"), [("12.9", False), ("13.0", True), ("13.1", True), ("20.0", True)]
)
def test_which_nvcc_will_do(tmp_path: Path, release: str, good: bool) -> None:
    script = tmp_path / "check.cmake"
    script.write_text(
        f'include({ROOT}/cmake/nvcc.cmake)\ncheck_nvcc("{fake_nvcc(tmp_path, release)}")\n', encoding="utf-8"
    )
    status, text = cmake("-P", str(script))
    assert (status == 0) == good
    assert ("CUDA 12.9" in text) == (not good)


# ---- The CPU's loops -----------------------------------------------------------------------------------------------


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the levels are those of x86-64")
@pytest.mark.parametrize(
    ("compiler", "flags", "warns"),
    [("g++", "", False), ("clang++", "", True), ("clang++", "-march=x86-64-v3", False)],
)
def test_a_compiler_that_makes_slow_loops_is_named(
    tmp_path: Path, compiler: str, flags: str, warns: bool
) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    status, text = cmake(
        "-S", str(ROOT), "-B", str(tmp_path / "build"), "-DOZFP4_CUDA=OFF", "-DOZFP4_PYTHON=OFF",
        f"-DCMAKE_CXX_COMPILER={compiler}", f"-DCMAKE_CXX_FLAGS={flags}",
    )  # fmt: skip
    assert status == 0, text
    assert ("compiles the loops for SSE2 alone" in text) == warns
    assert ("-march=native" in text) == warns


# ---- CUTLASS -------------------------------------------------------------------------------------------------------


def find_cutlass(
    tmp_path: Path, python: str | Path, include: str = "", **environment: str
) -> tuple[int, str]:
    script = tmp_path / "find.cmake"
    script.write_text(
        f'cmake_minimum_required(VERSION 3.24)\nset(OZFP4_CUTLASS_INCLUDE "{include}")\ninclude({ROOT}/cmake/cutlass.cmake)\n'
        f'find_cutlass(found "{python}" "{tmp_path}/download")\nmessage(STATUS "found ${{found}}")\n',
        encoding="utf-8",
    )
    return cmake("-P", str(script), **environment)


def wheel(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(HEADER, "// a header\n")
        archive.writestr("cutlass_library/library.py", "")
    return path


def fake_python(tmp_path: Path) -> Path:
    """An interpreter without cutlass_library. Its pip "downloads" a wheel into the last argument and notes all arguments."""
    made = wheel(tmp_path / WHEEL)
    return program(
        tmp_path / "python",
        f'#!/bin/sh\n[ "$1" = -c ] && exit 0\necho "$@" >> {tmp_path}/asked\n'
        f'for last; do :; done\ncp {made} "$last"\n',
    )


def test_headers_are_downloaded_once(tmp_path: Path) -> None:
    python = fake_python(tmp_path)
    for _ in range(2):
        status, text = find_cutlass(tmp_path, python)
        assert status == 0, text
        assert f"found {tmp_path}/download/cutlass_library/source/include" in text
    assert (tmp_path / "download" / HEADER).is_file()
    assert not (tmp_path / "download/cutlass_library/library.py").exists()  # headers alone
    (asked,) = (tmp_path / "asked").read_text(encoding="utf-8").splitlines()
    assert asked.startswith("-m pip ")
    assert {"download", "--no-deps", "--require-hashes"} <= set(asked.split())


def test_another_wheel_of_the_same_name_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("pip")
    wheel(tmp_path / WHEEL)
    with zipfile.ZipFile(tmp_path / WHEEL, "a") as archive:
        about = "nvidia_cutlass-4.2.0.0.dist-info/"
        archive.writestr(
            f"{about}METADATA", "Metadata-Version: 2.1\nName: nvidia-cutlass\nVersion: 4.2.0.0\n"
        )
        archive.writestr(f"{about}WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    # An interpreter that has pip and not cutlass_library, as in an isolated build.
    python = program(tmp_path / "python", f'#!/bin/sh\n[ "$1" = -c ] && exit 0\nexec {sys.executable} "$@"\n')
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path), "PIP_CONFIG_FILE": os.devnull}
    status, text = find_cutlass(tmp_path, python, **offline)
    assert status != 0
    assert "DO NOT MATCH THE HASHES" in text
    assert "set OZFP4_CUTLASS_INCLUDE" in text
    assert not (tmp_path / "download" / HEADER).exists()


def test_a_folder_that_is_named_is_taken_or_refused(tmp_path: Path) -> None:
    (tmp_path / "cutlass").mkdir()
    status, text = find_cutlass(tmp_path, "/bin/false", str(tmp_path))
    assert status != 0
    assert f"'{tmp_path}/cutlass/cutlass.h' is not there" in text
    (tmp_path / "cutlass" / "cutlass.h").touch()
    status, text = find_cutlass(tmp_path, "/bin/false", str(tmp_path))
    assert status == 0
    assert f"found {tmp_path}" in text
