"""The library as a file: its symbols, its version, its threads."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import library as lib
import numpy as np
import pytest

import ozfp4
from ozfp4 import _core

pytestmark = pytest.mark.slow


def multiply_by(library: ctypes.CDLL, kernel: str) -> subprocess.CompletedProcess[str]:
    """Products by a separate process."""
    return subprocess.run(
        [sys.executable, str(Path(__file__).parent / "programs" / "exact_products.py"), library._name],
        capture_output=True, text=True, env=os.environ | {"OZFP4_CPU_KERNEL": kernel},
    )  # fmt: skip


# A name that a library with kernels exports for the program that tests them.
PRIVATE = "ozfp4_cuda_selftest"


def exported(library: ctypes.CDLL) -> set[str]:
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", library._name], capture_output=True, text=True, check=True
    ).stdout
    names = {line.split()[2].split("@")[0] for line in listed.splitlines() if line.split()[1] != "A"}
    return names - {PRIVATE}


def test_symbols_are_those_of_the_header(library: ctypes.CDLL) -> None:
    if shutil.which("nm") is None:
        pytest.skip("no nm here")
    names = set(lib.declared())
    assert exported(library) == names
    in_map = re.findall(r"^\s+(ozfp4_\w+);$", (lib.ROOT / "cmake" / "ozfp4.map").read_text(), flags=re.M)
    assert sorted(in_map) == sorted(names)
    assert len(names) == 60


def test_names_carry_the_version(library: ctypes.CDLL) -> None:
    """That of the map, for what is linked to it: a later library has this node, too, or is refused."""
    if shutil.which("nm") is None:
        pytest.skip("no nm here")
    node = re.search(r"^(OZFP4_[\d.]+) \{", (lib.ROOT / "cmake" / "ozfp4.map").read_text(), flags=re.M)
    assert node is not None
    assert library.ozfp4_version_string().decode().startswith(node.group(1).removeprefix("OZFP4_") + ".")
    command = ["nm", "-D", "--defined-only", "--with-symbol-versions", library._name]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = [
        line.split()[2] for line in listed.splitlines() if line.split()[1] == "T" and PRIVATE not in line
    ]
    assert sorted(names) == sorted(f"{name}@@{node.group(1)}" for name in lib.declared())


def test_every_function_is_in_the_reference() -> None:
    page = (lib.ROOT / "docs" / "reference" / "c.md").read_text()
    assert [name for name in lib.declared() if f"`{name}`" not in page] == []


def test_versions_agree(library: ctypes.CDLL) -> None:
    text = library.ozfp4_version_string().decode()
    major, minor, patch = map(int, text.split("."))
    assert library.ozfp4_version() == 10000 * major + 100 * minor + patch
    path = Path(library._name).resolve()
    assert path.name == f"libozfp4.so.{text}"
    # The package's, before its first tag.
    declared = re.search(r'fallback_version = "([\d.]+?)\.dev0"', (lib.ROOT / "pyproject.toml").read_text())
    assert declared is not None
    assert declared.group(1) == text


@pytest.mark.parametrize("calls", ["host"], indirect=True)  # reports are for it
def test_measured_rates_choose_the_backend(
    library: ctypes.CDLL, gemm: Callable[..., lib.Array], tmp_path: Path
) -> None:
    a, report = np.ones((9, 9)), lib.new_report()
    asked = lib.options(report=ctypes.pointer(report))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OZFP4_CACHE_DIR", str(tmp_path))
        patch.setenv("OZFP4_CPU_KERNEL", "sgemm")
        ozfp4.read_environment()
        for rate, backend in ((None, "fp64"), (10**15, "int8")):
            if rate is not None:
                Path(_core.measured_file()).write_text(f"{_core.rates_device()}\tint8\t{rate}\n")
            assert library.ozfp4_read_environment() == lib.OK
            assert (gemm(1.0, a, a, asked=asked) == 9).all()
            assert report.backend == lib.BACKENDS[backend]
    ozfp4.read_environment()
    assert library.ozfp4_read_environment() == lib.OK  # as it is for other tests


def test_nothing_of_python_is_needed(library: ctypes.CDLL) -> None:
    needed = subprocess.run(["ldd", library._name], capture_output=True, text=True, check=True).stdout
    assert "python" not in needed
    assert "blas" not in needed


@pytest.mark.parametrize("kernel", ["", "sgemm", *(setting for _, setting in _core.byte_kernels())])
def test_every_kernel_is_exact(library: ctypes.CDLL, kernel: str) -> None:
    done = multiply_by(library, kernel)
    assert done.returncode == 0, done.stderr


def test_a_kernel_that_is_none_is_refused(library: ctypes.CDLL) -> None:
    assert multiply_by(library, "none").stderr.startswith(
        f"{lib.INVALID} OZFP4_CPU_KERNEL: 'none' is none of"
    )


def test_threads(library: ctypes.CDLL) -> None:
    count = ctypes.c_int()
    assert library.ozfp4_set_num_threads(3) == lib.OK
    assert library.ozfp4_get_num_threads(count) == lib.OK
    assert count.value == 3
    assert library.ozfp4_set_num_threads(0) == lib.OK


def test_the_environment_counts_when_it_is_read(library: ctypes.CDLL) -> None:
    count = ctypes.c_int()

    def threads() -> int:
        assert library.ozfp4_get_num_threads(count) == lib.OK
        return count.value

    assert library.ozfp4_read_environment() == lib.OK
    before = threads()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OZFP4_NUM_THREADS", str(before + 2))
        assert threads() == before
        assert library.ozfp4_read_environment() == lib.OK
        assert threads() == before + 2
    assert library.ozfp4_read_environment() == lib.OK
    assert threads() == before


def test_products_of_several_threads_at_once(library: ctypes.CDLL) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((40, 90)), rng.standard_normal((90, 30))
    results: dict[int, Any] = {}

    def product(number: int) -> None:
        c = np.empty((40, 30))
        for _ in range(20):
            c[...] = np.nan
            given = (lib.ROW, lib.NONE, lib.NONE, 40, 30, 90, 1.0, a, 90, b, 30)
            assert library.ozfp4_dgemm(*given, 0.0, c, 30, None) == lib.OK
        results[number] = c

    threads = [threading.Thread(target=product, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 6
    assert all(c.tobytes() == results[0].tobytes() for c in results.values())


def test_a_build_without_cuda_says_so(library: ctypes.CDLL) -> None:
    """It has the same functions, which convert their arguments."""
    if library.ozfp4_has_cuda():
        pytest.skip("this build has CUDA")
    x = np.ones(1)
    extents, size = (lib.ROW, lib.NONE, lib.NONE, 1, 1, 1), ctypes.c_int64(-1)
    statuses = (
        library.ozfp4_cuda_dgemm(*extents, 1.0, x, 1, x, 1, 0.0, x, 1, None, 0, None, None),
        library.ozfp4_cuda_workspace_size_gemm(1, *extents, x, None, 1, None, 1, x, None, 1, None, size),
        library.ozfp4_cuda_dgram(lib.ROW, lib.NONE, 1, 1, x, 1, x, 1, None, 0, None, None),
        library.ozfp4_cuda_igemm(*extents, 1, 8, x, 1, 8, x, 1, 0, 8, x, 1, None, 0, None, None),
        library.ozfp4_cuda_prepare(1, lib.LEFT, lib.ROW, lib.NONE, 1, 1, x, 1, None, 0, None, None, x),
    )
    assert set(statuses) == {lib.NO_DEVICE}
    assert size.value == -1
    assert lib.error(library) == "cuda: this build has no CUDA (OZFP4_CUDA=ON builds it)"
    assert library.ozfp4_cuda_dgemm(*extents, 1.0, x, 0, x, 1, 0.0, x, 1, None, 0, None, None) == lib.INVALID
    assert lib.error(library).startswith("lda: 0 is less than 1")
