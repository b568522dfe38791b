"""Products have the BLAS take one thread where ours multiply, and set its number again whatever happens."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import cython_blas

import ozfp4
from ozfp4.testing import PATHS, assert_same_bits, operands


def openblas() -> tuple[Callable[[], int], Callable[[int], None]]:
    """The number of threads of SciPy's OpenBLAS: how to ask for it, and how to set it."""
    library = ctypes.CDLL(cython_blas.__file__)
    for prefix in ("", "scipy_"):
        for suffix in ("", "64_", "_64"):
            names = [
                f"{prefix}openblas_{verb}{suffix}"
                for verb in ("get_parallel", "get_num_threads", "set_num_threads")
            ]
            if all(hasattr(library, name) for name in names) and getattr(library, names[0])() == 1:
                return getattr(library, names[1]), getattr(library, names[2])
    pytest.skip("SciPy's BLAS is no OpenBLAS with threads of its own")


@pytest.fixture
def get_threads() -> Iterator[Callable[[], int]]:
    """OpenBLAS is set to three threads, the core to four."""
    get, set_ = openblas()
    before = get()
    set_(3)
    ozfp4.set_num_threads(4)
    yield get
    ozfp4.set_num_threads(None)
    set_(before)


A, B = operands("phi8", 700, 300, 650)
SOME = [PATHS[0], *(pytest.param(path, marks=pytest.mark.slow) for path in PATHS[1:])]


def test_one_thread_meanwhile(get_threads: Callable[[], int]) -> None:
    seen: list[int] = []
    ozfp4.matmul(A, B, backend="fp64", progress=lambda _: seen.append(get_threads()))
    assert set(seen) == {1}
    assert get_threads() == 3


def test_set_again_after_an_exception(get_threads: Callable[[], int]) -> None:
    def stop(_: float) -> None:
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        ozfp4.matmul(A, B, backend="fp64", progress=stop)
    assert get_threads() == 3


@pytest.mark.slow
def test_set_again_after_many_at_once(get_threads: Callable[[], int]) -> None:
    expected = ozfp4.matmul(A, B, backend="fp64")
    with ThreadPoolExecutor(6) as pool:
        for c in pool.map(lambda _: ozfp4.matmul(A, B, backend="fp64"), range(30)):
            assert_same_bits(c, expected)
    assert get_threads() == 3


def test_what_somebody_sets_meanwhile_stays(get_threads: Callable[[], int]) -> None:
    _, set_ = openblas()
    ozfp4.matmul(A, B, backend="fp64", progress=lambda _: set_(2))
    assert get_threads() == 2


@pytest.mark.parametrize("path", SOME, ids=str)
@pytest.mark.parametrize(("ours", "its"), [(1, 1), (1, 3), (3, 1), (2, 3), (64, 3)])
def test_numbers_change_no_bit(
    path: tuple[str, str], ours: int, its: int, get_threads: Callable[[], int]
) -> None:
    a, b = operands("whole-range", 270, 65, 290)
    expected = ozfp4.matmul(a, b, **path._asdict(), accuracy="scaled")
    _, set_ = openblas()
    set_(its)
    ozfp4.set_num_threads(ours)
    assert_same_bits(ozfp4.matmul(a, b, **path._asdict(), accuracy="scaled"), expected)
    assert get_threads() == its


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape",
    [(1, 5000, 1), (1, 3, 3000), (3000, 7, 1), (513, 20, 1025), (2000, 1, 3), (5, 700, 5), (129, 2, 4000)],
)
@pytest.mark.parametrize("path", PATHS, ids=str)
def test_shapes_of_tiles(
    shape: tuple[int, int, int], path: tuple[str, str], get_threads: Callable[[], int]
) -> None:
    m, k, n = shape
    a, b = operands("phi8", m, k, n)
    out = np.full((m, n), np.nan)
    parts = [0.0]
    ozfp4.matmul(a, b, **path._asdict(), out=out, progress=parts.append, accuracy="scaled")
    assert parts == sorted(parts)
    assert parts[-1] == 1
    ozfp4.set_num_threads(1)
    openblas()[1](1)
    assert_same_bits(ozfp4.matmul(a, b, **path._asdict(), accuracy="scaled"), out)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("generations", [1, 2])
def test_a_child_forked_meanwhile_sets_it_again(generations: int) -> None:
    """Or a child of a child that has made no product."""
    openblas()
    code = """
import os, sys, warnings
sys.path.insert(0, sys.argv[1])
import numpy as np
from test_blas_threads import A, B, openblas
import ozfp4
warnings.simplefilter("ignore")
get, set_ = openblas()
set_(3)
ozfp4.set_num_threads(4)
expected = ozfp4.matmul(A, B, backend="fp64").tobytes()
children = []
def fork(_):
    if not children:
        children.append(os.fork())
        if children[0] == 0:
            if sys.argv[2] == "2":
                child = os.fork()
                if child != 0:
                    os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            assert get() == 1
            right = ozfp4.matmul(A, B, backend="fp64").tobytes() == expected
            os._exit(0 if right and get() == 3 else 1)
assert ozfp4.matmul(A, B, backend="fp64", progress=fork).tobytes() == expected
assert get() == 3
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]))
"""
    here = os.path.dirname(__file__)
    run = subprocess.run(
        [sys.executable, "-c", code, here, str(generations)], check=False, timeout=120, capture_output=True
    )
    assert run.returncode == 0, run.stderr


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
