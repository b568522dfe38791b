"""The examples, built against the installed package and run."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import library as lib
import pytest

EXAMPLES = lib.ROOT / "examples"
TOOLS = f"{Path(sys.executable).parent}:{os.environ['PATH']}"


def needs(*programs: str) -> None:
    for program in programs:
        if shutil.which(program, path=TOOLS) is None:
            pytest.skip(f"no {program} here")


def run(*command: str | Path, **environment: str) -> str:
    found = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False,
        env=os.environ | {"PATH": TOOLS} | environment,
    )  # fmt: skip
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


PRINTED = {
    "c": ("residual", "OZFP4_INVALID_ARGUMENT: lda: 7 is less than 8, the entries of a line"),
    "cpp": ("overlaps", "Hermitian: 1, the same by rows: 1"),
    "fortran": ("powers", "F(78) = 8944394323791464"),
}


@pytest.mark.parametrize("language", PRINTED)
def test_by_cmake(prefix: Path, tmp_path: Path, language: str) -> None:
    compiler = {"c": "cc", "cpp": "c++", "fortran": "gfortran"}[language]
    needs("cmake", compiler, "ninja")
    name, text = PRINTED[language]
    run("cmake", "-S", EXAMPLES / language, "-B", tmp_path, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", tmp_path)
    assert text in run(tmp_path / name)


def test_by_pkg_config(prefix: Path, tmp_path: Path) -> None:
    needs("make", "cc", "pkg-config")
    folder = next(prefix.glob("lib*/**/pkgconfig"))
    moved = tmp_path / "moved"  # the package may be moved
    shutil.copytree(prefix, moved, symlinks=True)
    there = moved / folder.relative_to(prefix)
    run("make", "-C", EXAMPLES / "c", f"OBJECTS={tmp_path}", PKG_CONFIG_PATH=str(there))
    assert PRINTED["c"][1] in run(tmp_path / "residual", LD_LIBRARY_PATH=str(there.parent))
    assert run("pkg-config", "--modversion", "ozfp4", PKG_CONFIG_PATH=str(there)).strip() == "0.1.0"


@pytest.mark.parametrize(
    ("compiler", "standard"), [("cc", "c99"), ("cc", "c17"), ("c++", "c++11"), ("c++", "c++20")]
)
def test_the_header_by_itself(tmp_path: Path, compiler: str, standard: str) -> None:
    needs(compiler)
    source = tmp_path / f"header.{'c' if compiler == 'cc' else 'cpp'}"
    source.write_text("#include <ozfp4.h>\nozfp4_options options = OZFP4_OPTIONS_INIT;\n")
    run(
        compiler, f"-std={standard}", "-pedantic", "-Wall", "-Wextra", "-Werror", "-I", lib.ROOT / "include", "-c",
        source, "-o", tmp_path / "header.o",
    )  # fmt: skip


@pytest.fixture(scope="session")
def module(prefix: Path) -> str:
    """The Fortran module, as installed."""
    return (prefix / "include" / "ozfp4.f90").read_text()


def test_sizes_of_structures_are_those_of_c(tmp_path: Path, module: str) -> None:
    needs("cc")
    source = tmp_path / "sizes.c"
    source.write_text(
        '#include <ozfp4.h>\n#include <stdio.h>\nint main(void) { printf("%zu %zu %zu", sizeof(ozfp4_options), '
        "sizeof(ozfp4_report), sizeof(ozfp4_plan_info)); return 0; }\n"
    )
    run("cc", "-I", lib.ROOT / "include", source, "-o", tmp_path / "sizes")
    sizes = list(map(int, run(tmp_path / "sizes").split()))
    assert sizes == [ctypes.sizeof(x) for x in (lib.Options, lib.Report, lib.PlanInfo)]
    for name, size in zip(("ozfp4_options", "ozfp4_report", "ozfp4_plan_info"), sizes, strict=True):
        assert f"  type, bind(c) :: {name}\n    integer(c_size_t) :: size = {size}_c_size_t\n" in module


def test_the_fortran_module_has_what_the_header_declares(module: str) -> None:
    for name, given in lib.declared().items():
        assert f" {name}(" in module
        for argument in given:
            assert f":: {argument.rsplit(' ', 1)[-1].lstrip('*')}" in module
