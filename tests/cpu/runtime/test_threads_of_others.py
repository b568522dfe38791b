"""Products leave the threads of NumPy's and SciPy's BLAS alone; numbers of ours change no bit."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg.blas  # noqa: F401  its BLAS is loaded

import ozfp4
from ozfp4.testing import assert_same_bits
from support import PATHS, chosen, operands


def blas_threads() -> dict[str, int]:
    """What each BLAS of the process has for a product, by its file."""
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


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("limit", [1, 2])
def test_limits_that_another_thread_sets_and_takes_back_meanwhile(limit: int) -> None:
    """Entered before, or amid, a product and left amid it, or after: the numbers are what they were."""
    from threadpoolctl import threadpool_limits

    before = blas_threads()
    runs, may_go, is_over = threading.Event(), threading.Event(), threading.Event()

    def wait(_: float) -> None:
        runs.set()
        may_go.wait(60)

    def multiply() -> None:
        with ozfp4.progress(wait):
            ozfp4.matmul(A, B, backend="fp64")
        is_over.set()

    for amid_at_the_start in (True, False):
        for amid_at_the_end in (True, False):
            for event in (runs, may_go, is_over):
                event.clear()
            thread = threading.Thread(target=multiply)
            if amid_at_the_start:
                thread.start()
                assert runs.wait(60)
            with threadpool_limits(limit, user_api="blas"):
                if not amid_at_the_start:
                    thread.start()
                    assert runs.wait(60)
                assert set(blas_threads().values()) == {limit}
                if not amid_at_the_end:
                    may_go.set()
                    assert is_over.wait(60)
            may_go.set()
            thread.join()
            assert blas_threads() == before


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS, ids=str)
def test_numbers_change_no_bit(path: tuple[str, str]) -> None:
    a, b = operands("whole-range", 270, 65, 290)
    expected = chosen.matmul(a, b, **path._asdict(), accuracy="scaled")
    try:
        for threads in (1, 3, 64):
            ozfp4.set_num_threads(threads)
            assert_same_bits(chosen.matmul(a, b, **path._asdict(), accuracy="scaled"), expected)
    finally:
        ozfp4.set_num_threads(None)


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
