"""csrc/product/threshold.hpp: from which extent on products gain, by its tables and by the file that calibration keeps."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ozfp4 import _core

DTYPES = ("float32", "float64", "complex64", "complex128")
LITTLE_FP64 = [None, 512, None, 256]


def of(device: str, capability: int = 0, is_correct: bool = False) -> list[int | None]:
    return [_core.threshold(device, dtype, capability, is_correct) for dtype in DTYPES]


@pytest.fixture
def file(tmp_path: Path, variables: Callable[..., None]) -> Path:
    variables(OZFP4_CACHE_DIR=str(tmp_path))
    return tmp_path / "calibration"


@pytest.mark.parametrize(
    ("name", "capability", "expected"),
    [
        ("NVIDIA H100 80GB HBM3", 90, [2048, 3072, 1024, 2048]),
        ("NVIDIA H200", 90, [2048, 3072, 1024, 2048]),
        ("NVIDIA GH200 480GB", 90, [2048, 3072, 1024, 2048]),
        ("NVIDIA H20", 90, [None] * 4),
        ("NVIDIA A100-SXM4-80GB", 80, [None] * 4),
        ("NVIDIA B200", 100, [None] * 4),
        ("NVIDIA GeForce RTX 3090", 86, LITTLE_FP64),
        ("NVIDIA GeForce RTX 4090", 89, LITTLE_FP64),
        ("NVIDIA B300", 103, LITTLE_FP64),
        ("NVIDIA RTX PRO 6000 Blackwell", 120, LITTLE_FP64),
        ("NVIDIA GB10", 121, LITTLE_FP64),
        ("of a later generation", 130, [None] * 4),
    ],
)
def test_gpus(name: str, capability: int, expected: list[int | None], file: Path) -> None:
    assert of(name, capability) == expected
    assert of(name, capability, True) == [None if x is None else 2 * x for x in expected]


def test_a_cpu(file: Path, variables: Callable[..., None]) -> None:
    has_amx = "amx" in dict(_core.byte_kernels()).values()
    assert of("") == [None, 2048 if has_amx else None, None, None]
    variables(OZFP4_CPU_KERNEL="sgemm")
    assert of("") == [None] * 4


def test_what_is_kept_comes_first(file: Path, variables: Callable[..., None]) -> None:
    assert _core.measured_file() == str(file)
    cpu = _core.cpu_name()
    lines = [
        f"{cpu}\tfloat64\t700",
        f"{cpu}\tfloat64\t{600 * '5'}",  # no figure, however long
        f"{cpu}\tfloat64\t640",  # the later one
        f"{cpu}\tcomplex128\tnever",
        "NVIDIA H200\tfloat64\tnever",
        "NVIDIA H200\tfloat32\t1",
        # None of these is a line of the format.
        "NVIDIA H200\tcomplex64\t0", "NVIDIA H200\tcomplex64\t-5", "NVIDIA H200\tcomplex64\t1e3",
        "NVIDIA H200\tcomplex64\t9999999999999999999", "NVIDIA H200\tcomplex64", "NVIDIA H200", "", "\t\t\t",
        "NVIDIA H200\tint8\t5", "NVIDIA H200 \tcomplex64\t5", "NVIDIA H200\tcomplex64\t5\t6",
    ]  # fmt: skip
    file.write_text("\n".join(lines) + "\nNVIDIA H200\tcomplex64\t5")  # the last one has no end
    variables(OZFP4_CACHE_DIR=str(file.parent))  # which is read again
    assert of("")[1::2] == [640, None]
    assert of("NVIDIA H200", 90) == [1, None, 1024, 2048]
    assert of("NVIDIA H100", 90) == [2048, 3072, 1024, 2048]


@pytest.mark.skipif(os.name == "nt", reason="folders of Unix")
def test_the_folder_is_that_of_all_findings(variables: Callable[..., None]) -> None:
    cache = "Library/Caches" if sys.platform == "darwin" else ".cache"
    for settings, folder in (
        ({"OZFP4_CACHE_DIR": "/a/b"}, "/a/b"),
        ({"OZFP4_CACHE_DIR": "", "XDG_CACHE_HOME": "/c"}, "/c/ozfp4"),
        ({"OZFP4_CACHE_DIR": None, "XDG_CACHE_HOME": "", "HOME": "/d"}, f"/d/{cache}/ozfp4"),
        ({"OZFP4_CACHE_DIR": None, "XDG_CACHE_HOME": "", "HOME": ""}, None),
    ):
        variables(**settings)
        assert _core.measured_file() == (f"{folder}/calibration" if folder else "")


def test_a_missing_or_unreadable_file_says_nothing(file: Path, variables: Callable[..., None]) -> None:
    file.mkdir()
    variables(OZFP4_CACHE_DIR=str(file.parent))
    assert of("NVIDIA H200", 90) == [2048, 3072, 1024, 2048]
