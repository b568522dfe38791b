"""Programs in C++ that call cuBLAS and cuSOLVER on a GPU, with the library before them and without.

They need libozfp4_cuda, or libozfp4 with CUDA, next to libozfp4_blas, the headers and libraries of CUDA 13, and a GPU."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import preloaded
import pytest
from preloaded import processes

PROGRAMS = Path(__file__).with_name("programs")
# Folders of CUDA's wheels, which torch and CuPy bring, and of an installed toolkit.
FOLDERS = [
    *(Path(folder) / "nvidia" / "cu13" for folder in sys.path),
    *(Path(x) / "nvidia" / part for x in sys.path for part in ("cublas", "cusolver", "cuda_runtime")),
    Path("/usr/local/cuda"),
]
CUBLAS = ("libcudart.so.13", "libcublas.so.13")
CUSOLVER = ("libcudart.so.13", "libcusolver.so.12")
Build = Callable[..., Path]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compiles one of the programs, linked with these libraries and no others."""
    compiler = preloaded.compiler("c++", "g++")
    headers = [folder / "include" for folder in FOLDERS if (folder / "include").is_dir()]
    found = [folder / lib for folder in FOLDERS for lib in ("lib", "lib64") if (folder / lib).is_dir()]
    kernels = ("libozfp4_cuda.so", "libozfp4.so.0")
    if not any(preloaded.LIBRARY.with_name(name).is_file() for name in kernels):
        pytest.skip("no library with CUDA")
    if not any((folder / "cublas_v2.h").is_file() for folder in headers):
        pytest.skip("no cublas_v2.h")

    def made(name: str, libraries: Iterable[str]) -> Path:
        for library in libraries:
            if not any((folder / library).is_file() for folder in found):
                pytest.skip(f"no {library}")
        target = tmp_path_factory.mktemp(name) / name
        command = [compiler, "-std=gnu++17", "-O2", PROGRAMS / f"{name}.cpp", "-o", target]
        command += [word for folder in headers for word in ("-I", folder)]
        command += [word for folder in found for word in ("-L", folder, f"-Wl,-rpath,{folder}")]
        command += [f"-l:{library}" for library in libraries]
        subprocess.run([str(word) for word in command], check=True)
        return target

    return made


def finished(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode == 77:
        pytest.skip("no GPU")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def caught(report: Path) -> dict[str, int]:
    """Calls by routine, of those that ozfp4 served."""
    (process,) = processes(report)
    assert process["verified"]["wrong"] == 0
    found: dict[str, int] = {}
    for row in process["rows"]:
        if row["caught"]:
            found[row["routine"]] = found.get(row["routine"], 0) + row["calls"]
    return found


@pytest.fixture(scope="module")
def calls(build: Build) -> Path:
    program = build("cublas_calls", CUBLAS)
    finished(subprocess.run([program], capture_output=True, text=True, timeout=300))  # cuBLAS itself
    return program


@pytest.mark.parametrize("accuracy", ["scaled", "standard", "correct"])
def test_products_of_cublas(calls: Path, accuracy: str, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"mode": "always", "accuracy": accuracy, "verify": 2000}
    report = tmp_path / "report.json"
    said = finished(preloaded.run([calls, accuracy], report=report, **settings))
    assert said.endswith(" 0 failed\n")
    served = caught(report)
    for letter in "DZ":
        assert served[f"cublas{letter}gemm_v2"] >= 100
        assert served[f"cublas{letter}gemmStridedBatched"] == 1
    (process,) = processes(report)
    assert sum(row["calls"] for row in process["rows"] if "on the device" in row["why"]) == 2
    assert served["cublasGemmEx"] == served["cublasGemmStridedBatchedEx"] == 2


def test_a_million_products_keep_nothing(calls: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    finished(preloaded.run([calls, "long"], report=report, mode="always"))
    assert caught(report) == {"cublasDgemm_v2": 1_001_000}


@pytest.fixture(scope="module")
def factorisations(build: Build) -> Path:
    program = build("cusolver_calls", CUSOLVER)
    finished(subprocess.run([program], capture_output=True, text=True, timeout=300))
    return program


@pytest.mark.parametrize("name", ["getrf", "potrf", "geqrf", "syevd"])
def test_factorisations_of_cusolver(factorisations: Path, name: str, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    said = finished(preloaded.run([factorisations, name], report=report, mode="always", verify=200))
    assert said.endswith("1 passed, 0 failed\n")
    if (
        name == "potrf" and not report.exists()
    ):  # cuSOLVER 12 makes its products itself, by no routine of cuBLAS
        return
    assert sum(caught(report).values()) >= 1
