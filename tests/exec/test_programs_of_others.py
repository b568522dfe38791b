"""Test programs of others run as ever: Netlib's of the level-3 BLAS (tools/exec_suites.py has larger ones)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from preloaded import processes, run

EVERY = "float32,float64,complex64,complex128"


def netlib() -> Path:
    """The folder with xblat3d and its input: OZFP4_BLAS_TESTS, or that of Debian's package libblas-test."""
    given = os.environ.get("OZFP4_BLAS_TESTS")
    folders = [Path(given)] if given else list(Path("/usr/lib").glob("*/blas"))
    found = next((folder for folder in folders if (folder / "xblat3d").exists()), None)
    if found is None:
        pytest.skip("no xblat3d: apt-get install libblas-test, or name its folder in OZFP4_BLAS_TESTS")
    return found


@pytest.mark.parametrize("letter", "sdcz")
@pytest.mark.parametrize("interface", ["fortran", "cblas"])
def test_netlibs_level_3(
    interface: str, letter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = netlib()
    if interface == "cblas" and not (folder / "libblas.so.3").exists():
        pytest.skip("the programs for CBLAS need names of Netlib's own library")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}")
    program, given = (
        (f"xblat3{letter}", f"{letter}blat3.in")
        if interface == "fortran"
        else (f"x{letter}cblat3", f"{letter}in3")
    )
    done = run(
        ["sh", "-c", f"exec {folder / program} < {folder / given}"],
        mode="always",
        dtypes=EVERY,
        report=tmp_path / "report",
    )
    written = done.stdout + "".join(path.read_text() for path in tmp_path.glob("*.out"))
    assert done.returncode == 0
    assert "FAIL" not in written
    (process,) = processes(tmp_path / "report")
    for name in ("gemm", "syrk", *(("herk",) if letter in "cz" else ())):
        passed = [line for line in written.splitlines() if "PASSED" in line and name in line.lower()]
        # Error exits; column-major, row-major.
        assert len(passed) == (2 if interface == "fortran" else 3), written
        assert any(row["caught"] and name in row["routine"] for row in process["rows"])
    # With alpha 0 and with nothing to multiply they are the BLAS's.
    assert process["caught"] >= 6000
    assert {row["why"] for row in process["rows"] if not row["caught"]} <= {
        "nothing to multiply", "arguments that BLAS refuses, or that this BLAS alone knows",
    }  # fmt: skip
