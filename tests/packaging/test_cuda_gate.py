"""The CUDA gate of CI builds what a change touches, by what has passed it before."""

from __future__ import annotations

import shutil
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
