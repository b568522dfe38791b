"""OZFP4_BLAS names the library whose dgemm and sgemm multiply, in place of SciPy's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fakes import WRONG, fake_blas

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
