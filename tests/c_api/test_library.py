"""The library as a file: its symbols, its version, its BLAS, its threads."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import library as lib
import numpy as np
import pytest
from fakes import SLOW_BLIS, WRONG, fake_blas

from ozfp4 import _core

pytestmark = pytest.mark.slow

FIND = """
import ctypes, os, sys
sys.path.insert(0, sys.argv[2])
import library as lib, numpy as np
library = lib.load(sys.argv[1])
one, c = np.full((1, 1), 3.0), np.zeros((1, 1))
status = library.ozfp4_dgemm(lib.ROW, lib.NONE, lib.NONE, 1, 1, 1, 1.0, one.ctypes.data, 1, one.ctypes.data, 1, 0.0,
                             c.ctypes.data, 1, None)
name = ctypes.c_char_p()
if status == lib.OK:
    library.ozfp4_blas_name(ctypes.addressof(name))
print(status, c[0, 0], name.value.decode() if name.value else lib.error(library))
"""


def find(library: ctypes.CDLL, **environment: str) -> tuple[int, float, str]:
    """Status, product and BLAS or error of a process of its own."""
    found = subprocess.run(
        [sys.executable, "-c", FIND, library._name, str(Path(__file__).parent)],
        capture_output=True, text=True, check=True, env=os.environ | {"OZFP4_CPU_KERNEL": "sgemm"} | environment,
    )  # fmt: skip
    status, product, text = found.stdout.strip().split(" ", 2)
    return int(status), float(product), text


def exported(library: ctypes.CDLL) -> set[str]:
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", library._name], capture_output=True, text=True, check=True
    ).stdout
    return {line.split()[2].split("@")[0] for line in listed.splitlines() if line.split()[1] != "A"}


def test_symbols_are_those_of_the_header(library: ctypes.CDLL) -> None:
    if shutil.which("nm") is None:
        pytest.skip("no nm here")
    names = set(lib.declared())
    assert exported(library) == names
    in_map = re.findall(r"^\s+(ozfp4_\w+);$", (lib.ROOT / "cmake" / "ozfp4.map").read_text(), flags=re.M)
    assert sorted(in_map) == sorted(names)
    assert len(names) == 64


def test_names_carry_the_version(library: ctypes.CDLL) -> None:
    """That of the map, for what is linked to it: a later library has this node, too, or is refused."""
    if shutil.which("nm") is None:
        pytest.skip("no nm here")
    node = re.search(r"^(OZFP4_[\d.]+) \{", (lib.ROOT / "cmake" / "ozfp4.map").read_text(), flags=re.M)
    assert node is not None
    assert library.ozfp4_version_string().decode().startswith(node.group(1).removeprefix("OZFP4_") + ".")
    command = ["nm", "-D", "--defined-only", "--with-symbol-versions", library._name]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = [line.split()[2] for line in listed.splitlines() if line.split()[1] == "T"]
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


def test_nothing_of_python_is_needed(library: ctypes.CDLL) -> None:
    needed = subprocess.run(["ldd", library._name], capture_output=True, text=True, check=True).stdout
    assert "python" not in needed
    assert "blas" not in needed  # found when it is needed


def test_a_blas_is_found_or_asked_for(library: ctypes.CDLL, tmp_path: Path) -> None:
    status, product, text = find(library, OZFP4_BLAS=str(tmp_path / "libnone.so"))
    assert (status, product) == (lib.NO_BLAS, 0.0)
    assert text.startswith(f"OZFP4_BLAS: {tmp_path}/libnone.so: cannot open shared object file")
    status, product, text = find(library, OZFP4_BLAS=library._name)
    assert (status, product) == (lib.NO_BLAS, 0.0)
    assert "has neither dgemm_ and sgemm_ nor dgemm_64_ and sgemm_64_; OZFP4_CPU_KERNEL=portable" in text
    status, product, text = find(library, OZFP4_BLAS="")
    if status == lib.OK:
        assert product == 9.0
        assert "blas" in text or "mkl" in text or "blis" in text
    else:
        assert text.startswith("OZFP4_BLAS: is not set, and there is none of libopenblas.so.0")


def test_an_int8_unit_needs_no_blas(library: ctypes.CDLL, tmp_path: Path) -> None:
    missing = str(tmp_path / "libnone.so")
    for _, setting in _core.byte_kernels():
        status, product, text = find(library, OZFP4_BLAS=missing, OZFP4_CPU_KERNEL=setting)
        assert (status, product) == (lib.OK, 9.0)
        assert missing in text  # what the name of the BLAS says, or the product
    status, _, text = find(library, OZFP4_CPU_KERNEL="none")
    assert status == lib.INVALID
    assert text.startswith("OZFP4_CPU_KERNEL: 'none' is none of")


WITHOUT = """
import ctypes, os, sys
sys.path.insert(0, sys.argv[2])
import library as lib, numpy as np
library = lib.load(sys.argv[1])
rng = np.random.default_rng(1)
for n in (1, 4, 40, 520):
    a, b, c = rng.integers(-999, 999, (n, n)).astype(float), rng.integers(-999, 999, (n, n)).astype(float), np.empty((n, n))
    for accuracy in (0, 1, 2, 3) if n < 100 else (0,):
        options = lib.options(accuracy=accuracy)
        status = library.ozfp4_dgemm(lib.ROW, lib.NONE, lib.NONE, n, n, n, 1.0, a.ctypes.data, n, b.ctypes.data, n, 0.0,
                                     c.ctypes.data, n, ctypes.byref(options))
        assert status == lib.OK, (n, accuracy, lib.error(library))
        assert np.array_equal(c, a @ b)
n, z = 4, a[:4, :4] + 1j * b[:4, :4]
one, zero, found = np.array([1 + 2j]), np.array([0j]), np.empty((n, n), complex)
status = library.ozfp4_zgemm(lib.ROW, lib.NONE, lib.CONJ, n, n, n, one.ctypes.data, z.ctypes.data, n, z.ctypes.data, n,
                             zero.ctypes.data, found.ctypes.data, n, None)
assert status == lib.OK, lib.error(library)
assert np.array_equal(found, (1 + 2j) * (z @ z.conj().T))
options = lib.options(backend=lib.BACKENDS["fp64"])
c[:] = 7
status = library.ozfp4_dgemm(lib.ROW, lib.NONE, lib.NONE, 520, 520, 520, 1.0, a.ctypes.data, 520, b.ctypes.data, 520, 0.0,
                             c.ctypes.data, 520, ctypes.byref(options))
print(status, np.all(c == 7), lib.error(library))
"""


@pytest.mark.parametrize("kernel", ["", "portable"])
def test_products_that_need_no_blas(library: ctypes.CDLL, tmp_path: Path, kernel: str) -> None:
    """None of any usual name is right: words make what they serve, or what is asked for, and only planes of FP64 need one."""
    names = (
        "openblas.so.0 openblas.so mkl_rt.so.2 mkl_rt.so blis.so.4 blis.so flexiblas.so.3 blas.so.3 blas.so"
    )
    for name in names.split():
        fake_blas(tmp_path / f"lib{name}", wrong=WRONG)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, library._name, str(Path(__file__).parent)], capture_output=True, text=True,
        env=os.environ | {"OZFP4_CPU_KERNEL": kernel, "OZFP4_BLAS": "", "LD_LIBRARY_PATH": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    status, unwritten, text = done.stdout.strip().split(" ", 2)
    assert (int(status), unwritten) == (lib.NO_BLAS, "True")
    assert "OZFP4_BLAS: is not set" in text
    assert "OZFP4_CPU_KERNEL=portable makes products without one, but for OZFP4_BACKEND_FP64" in text


@pytest.mark.parametrize(("integer", "suffix"), [("int32_t", "_"), ("int64_t", "_64_"), ("int64_t", "_")])
def test_a_blas_of_either_integers_is_tried_first(
    library: ctypes.CDLL, tmp_path: Path, integer: str, suffix: str
) -> None:
    for wrong in ("", WRONG):
        built = fake_blas(tmp_path / f"libfake{len(wrong)}.so", integer, suffix, wrong)
        status, product, text = find(library, OZFP4_BLAS=str(built))
        if wrong:
            assert (status, product) == (lib.NO_BLAS, 0.0)
            assert text.startswith(f"OZFP4_BLAS: {built}: dgemm is wrong in entry (")
        else:
            assert (status, product, text) == (lib.OK, 9.0, str(built))


def test_a_blas_that_is_wrong_is_passed_over(library: ctypes.CDLL, tmp_path: Path) -> None:
    for name, wrong in (("libopenblas.so.0", WRONG), ("libmkl_rt.so.2", "")):
        fake_blas(tmp_path / name, wrong=wrong)
    status, product, text = find(library, LD_LIBRARY_PATH=str(tmp_path), OZFP4_BLAS="")
    assert (status, product) == (lib.OK, 9.0), text
    assert text in ("libopenblas.so", "libmkl_rt.so.2")


# How many threads BLIS has after the first products of eight threads, and what they say.
AT_ONCE = """
import ctypes, os, sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
sys.path.insert(0, sys.argv[2])
import library as lib, numpy as np
library, together = lib.load(sys.argv[1]), Barrier(8)
x = np.ones((70, 70))

def product(_):
    c = np.zeros((70, 70))
    together.wait()
    lines = (x.ctypes.data, 70)
    status = library.ozfp4_dgemm(lib.ROW, lib.NONE, lib.NONE, 70, 70, 70, 1.0, *lines, *lines, 0.0, c.ctypes.data, 70, None)
    return status == lib.OK and (c == 70).all()

with ThreadPoolExecutor(8) as pool:
    print(all(pool.map(product, range(8))), ctypes.CDLL(os.environ["OZFP4_BLAS"]).number())
"""


def test_first_products_of_several_threads_leave_blis_its_number(
    library: ctypes.CDLL, tmp_path: Path
) -> None:
    """Whether its number is the process's is told by setting it."""
    blas = fake_blas(tmp_path / "libslow.so", threads=SLOW_BLIS)
    done = subprocess.run(
        [sys.executable, "-c", AT_ONCE, library._name, str(Path(__file__).parent)], capture_output=True, text=True,
        env=os.environ | {"OZFP4_CPU_KERNEL": "sgemm", "OZFP4_BLAS": str(blas)},
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("True 3\n", 0), done.stderr


def test_threads(library: ctypes.CDLL) -> None:
    count = ctypes.c_int()
    assert library.ozfp4_set_num_threads(3) == lib.OK
    assert library.ozfp4_get_num_threads(ctypes.addressof(count)) == lib.OK
    assert count.value == 3
    assert library.ozfp4_set_num_threads(0) == lib.OK


def test_the_environment_counts_when_it_is_read(library: ctypes.CDLL) -> None:
    count = ctypes.c_int()

    def threads() -> int:
        assert library.ozfp4_get_num_threads(ctypes.addressof(count)) == lib.OK
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
            given = (lib.ROW, lib.NONE, lib.NONE, 40, 30, 90, 1.0, a.ctypes.data, 90, b.ctypes.data, 30)
            assert library.ozfp4_dgemm(*given, 0.0, c.ctypes.data, 30, None) == lib.OK
        results[number] = c

    threads = [threading.Thread(target=product, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 6
    assert all(c.tobytes() == results[0].tobytes() for c in results.values())


def test_a_build_without_cuda_says_so(library: ctypes.CDLL) -> None:
    if library.ozfp4_has_cuda():
        pytest.skip("this build has CUDA")
    given = (lib.ROW, lib.NONE, lib.NONE, 1, 1, 1, 1.0, None, 1, None, 1, 0.0, None, 1, None, 0, None, None)
    asked = (1, lib.ROW, lib.NONE, lib.NONE, 1, 1, 1, None, None, 1, None, 1, None, None, 1, None, None)
    for status in (library.ozfp4_cuda_dgemm(*given), library.ozfp4_cuda_workspace_size_gemm(*asked)):
        assert status == lib.NO_DEVICE
        assert lib.error(library) == "cuda: this build of libozfp4 has no CUDA (OZFP4_CUDA=ON builds it)"
