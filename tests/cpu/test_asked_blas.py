"""OZFP4_BLAS names the library whose dgemm and sgemm multiply, in place of SciPy's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fakes import BLIS, MKL, STAYS, WRONG, fake_blas

pytestmark = pytest.mark.slow

PROGRAM = """
import ctypes, os, sys
import numpy as np
import ozfp4
from ozfp4.testing import assert_same_bits, exact_matmul
a, b = np.random.default_rng(0).standard_normal((2, 70, 70))
for backend in ("fp64", "int8"):
    try:
        c = ozfp4.matmul(a, b, backend=backend, accuracy="scaled")
    except ValueError as error:
        sys.exit(str(error))
    assert_same_bits(c, exact_matmul(a, b))
print(ctypes.c_int.in_dll(ctypes.CDLL(os.environ["OZFP4_BLAS"]), "calls").value)
"""


def run(blas: Path) -> subprocess.CompletedProcess[str]:
    settings = {"OZFP4_BLAS": str(blas), "OZFP4_CPU_KERNEL": "sgemm", "OZFP4_NUM_THREADS": "2"}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM], env={**os.environ, **settings}, capture_output=True, text=True
    )


@pytest.mark.parametrize(("integer", "suffix"), [("int32_t", "_"), ("int64_t", "_64_"), ("int64_t", "_")])
def test_it_multiplies(tmp_path: Path, integer: str, suffix: str) -> None:
    done = run(fake_blas(tmp_path / "libfake.so", integer, suffix))
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 15  # of which some are its examination


def test_what_does_not_serve_is_an_error_with_its_name(tmp_path: Path) -> None:
    wrong = fake_blas(tmp_path / "libwrong.so", wrong=WRONG)
    assert run(wrong).stderr.startswith(f"OZFP4_BLAS: {wrong}: dgemm is wrong in entry (")
    missing = tmp_path / "libnone.so"
    assert run(missing).stderr.startswith(f"OZFP4_BLAS: {missing}: cannot open shared object file")


# How many threads the library has for a product, at most; at how many of its products another one was at it; what it has then.
THREADS = """
import ctypes, os
import numpy as np
import ozfp4
from ozfp4.testing import assert_same_bits, exact_matmul
a, b = np.random.default_rng(0).standard_normal((2, 200, 200))
library = ctypes.CDLL(os.environ["OZFP4_BLAS"])
ozfp4.matmul(np.eye(2), np.eye(2), backend="fp64")
largest, together = (ctypes.c_int.in_dll(library, name) for name in ("largest", "together"))
largest.value = together.value = 0
assert_same_bits(ozfp4.matmul(a, b, backend="fp64", accuracy="scaled"), exact_matmul(a, b))
print(largest.value, together.value > 0, library.number())
"""


@pytest.mark.parametrize(
    ("code", "said", "expected"),
    [
        (BLIS.format(kind="", number=3), {}, "1 True 3"),
        (BLIS.format(kind="__thread", number=3), {}, "1 True 3"),
        (BLIS.format(kind="", number=-1), {}, "1 True -1"),  # nobody told it one
        (BLIS.format(kind="", number=1), {}, "1 False 1"),
        (
            BLIS.format(kind="", number=3),
            {"BLIS_JC_NT": "2"},
            "3 False 3",
        ),  # the number of threads means nothing
        (MKL.format(most=64), {}, "1 True 3"),
        (MKL.format(most=1), {}, "1 True 1"),  # sequential
    ],
    ids=["blis", "blis-local", "blis-untold", "blis-one", "blis-loops", "mkl", "mkl-sequential"],
)
def test_ours_multiply_where_its_threads_are_told_to_be_one(
    tmp_path: Path, code: str, said: dict[str, str], expected: str
) -> None:
    blas = fake_blas(tmp_path / "libfake.so", threads=code + STAYS)
    settings = {"OZFP4_BLAS": str(blas), "OZFP4_NUM_THREADS": "4", **said}
    done = subprocess.run(
        [sys.executable, "-c", THREADS], env={**os.environ, **settings}, capture_output=True, text=True
    )
    assert (done.stdout.strip(), done.returncode) == (expected, 0), done.stderr
