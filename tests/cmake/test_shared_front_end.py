"""Sources that are compiled once for GPUs of 8.0 and 8.6 (cmake/gpu_targets.cmake) have the same code for both."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
CUDA = (ROOT / "cmake" / "cuda.cmake").read_text(encoding="utf-8")
CONDITION = re.compile(r"^ *# *(?:el)?if\b(.*__CUDA_ARCH.*)$", re.MULTILINE)


def sources(library: str) -> list[str]:
    listed = re.search(rf'add_(?:library|cuda_part)\({library} (?:STATIC|"[^"]*")\s([^)]*)\)', CUDA)
    assert listed, library
    return re.findall(r"\S+\.cu\b", listed[1])


@cache
def included(file: Path) -> frozenset[Path]:
    """The file, and what it includes from csrc."""
    found = {file}
    for name in re.findall(r'^#include "(.*)"', file.read_text(encoding="utf-8"), re.MULTILINE):
        path = ROOT / "csrc" / name
        assert path.exists(), f"{file}: {name}"
        found |= included(path)
    return frozenset(found)


def conditions(library: str, more: tuple[str, ...] = ()) -> Iterator[tuple[Path, str]]:
    files = {path for source in (*sources(library), *more) for path in included(ROOT / source)}
    for path in sorted(files):
        for condition in CONDITION.findall(path.read_text(encoding="utf-8")):
            yield path, condition.strip()


def holds(condition: str, architecture: int) -> bool:
    """The condition's value for code of this architecture, without features that only one architecture has."""
    text = re.sub(r"//.*", "", condition)
    text = re.sub(r"defined\(__CUDA_ARCH__\)", "True", text)
    text = re.sub(r"defined\(__CUDA_ARCH_FEAT_\w+\)", "False", text)
    text = re.sub(r"\b__CUDA_ARCH__\b", str(architecture), text)
    text = re.sub(r"\bOZFP4_IS_SM90_CODE\b", "False", text)
    text = text.replace("&&", " and ").replace("||", " or ")
    text = re.sub(r"!(?!=)", " not ", text)
    assert set(re.findall(r"[A-Za-z_]\w*", text)) <= {"True", "False", "and", "or", "not"}, condition
    return bool(eval(text.strip()))


BYTES = "csrc/cuda/multiply/mma_sync/launch.cu"


def test_conditions() -> None:
    found = list(conditions("ozfp4_cuda", (BYTES,)))
    assert found, "no condition was read"
    for path, condition in found:
        assert holds(condition, 800) == holds(condition, 860), f"{path}: {condition}"


def test_which_libraries_share() -> None:
    shared = re.findall(r"^share_front_end\((\w+)\)", CUDA, re.MULTILINE)
    assert shared == ["ozfp4_cuda", "kernel_mma_copy"]


def test_a_condition_between_them_is_told() -> None:
    assert holds("defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 860  // these", 860)
    assert not holds("defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 860", 890)
    shaped = [condition for _, condition in conditions("ozfp4_cuda_shaped")]
    assert any(holds(each, 800) != holds(each, 860) for each in shaped), "the two libraries could be one"
