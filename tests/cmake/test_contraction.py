"""Headers that need products rounded do not compile where the compiler may contract them with sums (round_products)."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MACRO = "OZFP4_ROUNDS_PRODUCTS"
GUARD = "arith/exact/double_dot.hpp"
# A product or a sum of double_dot.hpp, or an error of one.
NEEDS = re.compile(r"\b(dot_product|dot_plus|error_of_sum|error_of_product|add_pair)\s*[<(]")


def headers() -> list[str]:
    found = [
        str(path.relative_to(ROOT / "csrc"))
        for path in sorted((ROOT / "csrc" / "arith").rglob("*.hpp"))
        if NEEDS.search(path.read_text(encoding="utf-8"))
    ]
    assert GUARD in found
    return found


@cache
def compiler() -> str:
    name = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if name is None:
        pytest.skip("no C++ compiler")
    return name


def preprocess(header: str, *options: str) -> str | None:
    """The preprocessor's error for the header; None if it has none."""
    command = [
        compiler(),
        "-std=c++17",
        "-E",
        "-I",
        str(ROOT / "csrc"),
        "-include",
        header,
        *options,
        "-x",
        "c++",
        "-",
    ]
    done = subprocess.run(command, input="", capture_output=True, text=True)
    return None if done.returncode == 0 else done.stderr


@pytest.mark.parametrize("header", headers())
def test_a_header_wants_the_flag(header: str) -> None:
    complaint = preprocess(header)
    assert complaint is not None, "the header is taken by a compiler that contracts"
    assert "round_products" in complaint
    assert preprocess(header, f"-D{MACRO}") is None


def test_the_macro_never_stands_without_the_flag() -> None:
    files = [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake")]
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    naming = [line for line in lines if f"-D{MACRO}" in line]
    assert len(naming) == 2, "one for C++ and one for the host's compiler below nvcc"
    assert all("-ffp-contract=off" in line for line in naming)
    assert [line for line in lines if "-ffp-contract" in line] == naming
