"""Programs in C: their floating-point mode changes no product."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import library as lib
import numpy as np
import pytest

import ozfp4

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent


def run(library: ctypes.CDLL, source: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    compiler = shutil.which("cc") or pytest.skip("no C compiler here")
    folder, program = Path(library._name).parent, tmp_path / "program"
    subprocess.run(
        [compiler, "-O1", HERE / source, "-I", lib.HEADER.parent, "-L", folder, "-lozfp4", "-lm", "-lpthread",
         f"-Wl,-rpath,{folder}", "-o", program],
        check=True,
    )  # fmt: skip
    return subprocess.run([program], capture_output=True, text=True, check=False)


def test_modes(library: ctypes.CDLL, tmp_path: Path) -> None:
    done = run(library, "modes.c", tmp_path)
    assert (done.returncode, done.stdout) == (0, "0 differ\n"), done.stderr


@pytest.mark.parametrize("backend", ["auto", "int8", "fp4", "fp64"])
def test_python_where_the_thread_flushes_subnormal_numbers(backend: str) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((40, 64)) * 2.0**-1035, rng.standard_normal((64, 30))
    expected = ozfp4.matmul(a, b, backend=backend)
    if not torch.set_flush_denormal(True):
        pytest.skip("not on this processor")
    try:
        found = ozfp4.matmul(a, b, backend=backend)
    finally:
        torch.set_flush_denormal(False)
    assert expected.tobytes() == found.tobytes()
