"""Products leave the threads of NumPy's and SciPy's BLAS alone; ozfp4's number of threads changes no bit."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg.blas  # noqa: F401  its BLAS is loaded

import ozfp4
from ozfp4.testing import assert_same_bits
from support import PATHS, chosen, operands


def blas_threads() -> dict[str, int]:
    """The number of threads of each BLAS of the process, by its file."""
    threadpoolctl = pytest.importorskip("threadpoolctl")
    return {
        pool["filepath"]: pool["num_threads"]
        for pool in threadpoolctl.threadpool_info()
        if pool["user_api"] == "blas"
    }


@pytest.fixture
def three_threads() -> Iterator[None]:
    """Each BLAS has three threads, the core has four."""
    threadpoolctl = pytest.importorskip("threadpoolctl")
    with threadpoolctl.threadpool_limits(3, user_api="blas"):
        if not blas_threads() or set(blas_threads().values()) != {3}:
            pytest.skip("no BLAS here has threads of its own")
        ozfp4.set_num_threads(4)
        yield
        ozfp4.set_num_threads(None)


A, B = operands("phi8", 700, 300, 650)
SOME = [PATHS[0], *(pytest.param(path, marks=pytest.mark.slow) for path in PATHS[1:])]


@pytest.mark.usefixtures("three_threads")
def test_their_numbers_stay_during_a_product() -> None:
    seen: list[dict[str, int]] = []
    with ozfp4.progress(lambda _: seen.append(blas_threads())):
        ozfp4.matmul(A, B, backend="fp64")
    assert seen
    assert all(set(threads.values()) == {3} for threads in seen)


@pytest.mark.parametrize(
    "shape",
    [(1, 5000, 1), (1, 3, 3000), (3000, 7, 1), (513, 20, 1025), (2000, 1, 3), (5, 700, 5), (129, 2, 4000)],
)
@pytest.mark.parametrize("path", SOME, ids=str)
def test_shapes_of_tiles(shape: tuple[int, int, int], path: tuple[str, str]) -> None:
    m, k, n = shape
    a, b = operands("phi8", m, k, n)
    out = np.full((m, n), np.nan)
    parts = [0.0]
    try:
        ozfp4.set_num_threads(4)
        with ozfp4.progress(parts.append):
            chosen.matmul(a, b, **path._asdict(), accuracy="scaled", out=out)
        assert parts == sorted(parts)
        assert parts[-1] == 1
        ozfp4.set_num_threads(1)
        assert_same_bits(chosen.matmul(a, b, **path._asdict(), accuracy="scaled"), out)
    finally:
        ozfp4.set_num_threads(None)


CONSTRUCTED = """
extern int PyGILState_Ensure(void);
extern void PyGILState_Release(int);
extern int PyRun_SimpleString(const char*);
__attribute__((constructor)) static void multiply(void) {
  const int state = PyGILState_Ensure();
  PyRun_SimpleString("import ozfp4; ozfp4.set_num_threads(4); ozfp4.matmul(x, x, backend='fp64')");
  PyGILState_Release(state);
}
"""


@pytest.mark.slow
def test_products_within_a_librarys_constructor(tmp_path: Path) -> None:
    """Its thread has the dynamic linker's lock, for which those that help must not wait."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    (tmp_path / "constructed.c").write_text(CONSTRUCTED)
    library = tmp_path / "constructed.so"
    subprocess.run([compiler, "-shared", "-fPIC", tmp_path / "constructed.c", "-o", library], check=True)
    code = f"""
import ctypes, signal, numpy as np
x = np.random.default_rng(0).standard_normal((400, 400))
signal.alarm(20)
ctypes.PyDLL({str(library)!r})
"""
    for _ in range(4):
        run = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code], check=False, timeout=60, capture_output=True
        )
        assert run.returncode == 0, run.stderr
