"""The GPUs of a build, and those that its code runs on by the registry of kernels; by CMake, without nvcc."""

from __future__ import annotations

import shutil
import stat
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CMAKE = shutil.which("cmake")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CMAKE is None, reason="needs cmake")]

SCRIPT = """
cmake_minimum_required(VERSION 3.24)
include({module})
resolve_gpu_targets(targets "{architectures}")
list_held_code(held "${{targets}}")
message("targets=${{targets}}")
message("held=${{held}}")
"""


def run_cmake(folder: Path, architectures: str, gpus: str = "") -> subprocess.CompletedProcess[str]:
    """The output of CMake on a machine with GPUs of these compute capabilities."""
    assert CMAKE is not None
    smi = folder / "nvidia-smi"
    smi.write_text(f"#!/bin/sh\nprintf '{gpus}'\n", encoding="utf-8")
    smi.chmod(smi.stat().st_mode | stat.S_IXUSR)
    script = folder / "targets.cmake"
    script.write_text(
        SCRIPT.format(module=ROOT / "cmake" / "gpu_targets.cmake", architectures=architectures),
        encoding="utf-8",
    )
    command = [CMAKE, f"-DOZFP4_NVIDIA_SMI={smi}", "-P", str(script)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("architectures", "gpus", "targets", "held"),
    [
        ("80;86-real;90a-real;100f-real;120f-real", "", "80;86-real;90a-real;100f-real;120f-real",
         "80;1080;86;-90;100;120"),
        ("all", "9.0\\n", "80;86-real;90a-real;100f-real;120f-real", "80;1080;86;-90;100;120"),
        ("80-virtual", "", "80-virtual", "1080"),
        ("80-real", "", "80-real", "80"),
        ("90", "", "90", "90;1090"),
        ("90a;120f-virtual;103a-real", "", "90a;120f-virtual;103a-real", "-90;120;-103"),
        ("native", "9.0\\n9.0\\n", "90a-real", "-90"),
        ("native", "8.0\\n12.0\\n", "80;120f-real", "80;1080;120"),
        ("native;86-real", "8.9\\n9.0", "86-real;90a-real", "86;-90"),
    ],
    ids=str,
)  # fmt: skip
def test_targets(tmp_path: Path, architectures: str, gpus: str, targets: str, held: str) -> None:
    done = run_cmake(tmp_path, architectures, gpus)
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert f"targets={targets}" in lines
    assert f"held={held}" in lines


@pytest.mark.parametrize("wrong", ["87", "75", "8.0", "all-real", "all-major", "80f", "100x", "900", "sm_80"])
@pytest.mark.parametrize("rest", ["", "80;"], ids=["alone", "after-80"])
def test_what_no_kernel_is_for_fails(tmp_path: Path, wrong: str, rest: str) -> None:
    done = run_cmake(tmp_path, rest + wrong)
    assert done.returncode != 0
    said = " ".join(done.stderr.split())
    assert f"CMAKE_CUDA_ARCHITECTURES names '{wrong}', for which there are no kernels." in said


def test_all_among_others_fails(tmp_path: Path) -> None:
    done = run_cmake(tmp_path, "80;all")
    assert done.returncode != 0
    assert "CMAKE_CUDA_ARCHITECTURES names 'all'" in " ".join(done.stderr.split())


@pytest.mark.parametrize("gpus", ["", "7.5\\n"], ids=["no-gpu", "too-old"])
def test_native_without_a_gpu_fails(tmp_path: Path, gpus: str) -> None:
    done = run_cmake(tmp_path, "native", gpus)
    assert done.returncode != 0
    assert "CMAKE_CUDA_ARCHITECTURES is 'native', and nvidia-smi shows no GPU" in " ".join(
        done.stderr.split()
    )
