"""The floating-point mode of the program changes no bit."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import library as lib
import pytest

import ozfp4

HERE = Path(__file__).parent


def test_modes(library: ctypes.CDLL, tmp_path: Path) -> None:
    compiler = shutil.which("cc") or pytest.skip("no C compiler here")
    folder, program = Path(library._name).parent, tmp_path / "modes"
    subprocess.run(
        [compiler, "-O1", HERE / "modes.c", "-I", lib.HEADER.parent, "-L", folder, "-lozfp4", "-lm", f"-Wl,-rpath,{folder}",
         "-o", program],
        check=True,
    )  # fmt: skip
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    if "OZFP4_BLAS" in done.stderr:
        pytest.skip("no BLAS here")
    assert (done.returncode, done.stdout) == (0, "0 differ\n"), done.stderr


def test_subnormal_numbers_where_the_thread_flushes_them() -> None:
    torch = pytest.importorskip("torch")
    smallest = torch.full((3, 3), 5e-324, dtype=torch.float64).numpy()
    three = torch.full((3, 3), 3.0, dtype=torch.float64).numpy()
    expected = ozfp4.matmul(smallest, three)
    if not torch.set_flush_denormal(True):
        pytest.skip("not on this processor")
    try:
        found = ozfp4.matmul(smallest, three)
    finally:
        torch.set_flush_denormal(False)
    assert expected.tobytes() == found.tobytes()
    assert expected[0, 0] == 9 * 5e-324
