"""The files of a source distribution, and the wheels to build, by their names."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SETTINGS = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
PYTHONS = re.findall(r'"Programming Language :: Python :: 3\.(\d+)"', SETTINGS)
MAX_BYTES = 3_100_000
BUILT = ("csrc/", "cmake/", "src/", "tests/", "tools/", "examples/", "benchmarks/")  # and CMakeLists.txt


def run(*command: str) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def tracked() -> list[str]:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("needs git and a checkout")
    return run("git", "ls-files").splitlines()


def test_a_source_distribution_holds_what_is_built_and_tested(tmp_path: Path) -> None:
    for name in ("scikit_build_core", "setuptools_scm"):
        pytest.importorskip(name)
    run(sys.executable, "-c", f"import scikit_build_core.build as b; b.build_sdist({str(tmp_path)!r})")
    (packed,) = tmp_path.iterdir()
    with tarfile.open(packed) as file:
        held = {name.partition("/")[2] for name in file.getnames()}
    wanted = [name for name in tracked() if name.startswith(BUILT) or "/" not in name]
    missing = {name for name in wanted if (ROOT / name).is_file()} - held
    assert missing <= {".git_archival.txt"}  # PKG-INFO has the version
    assert "PKG-INFO" in held
    unwanted = [
        name
        for name in held
        if name.startswith(("build/", "dist/", "notebooks/", ".ci/", "docs/figures/", "notes/", ".venv/"))
        or name.endswith((".so", ".pyc", ".whl"))
    ]
    assert unwanted == []
    assert packed.stat().st_size < MAX_BYTES


def test_the_pythons_agree() -> None:
    assert PYTHONS == ["10", "11", "12", "13"]
    assert f'requires-python = ">=3.{PYTHONS[0]}"' in SETTINGS
    wheels = " ".join(f"cp3{minor}-*" for minor in PYTHONS)
    assert f'\nbuild = "{wheels}"\n' in SETTINGS
    assert f"for v in {' '.join(PYTHONS)}; do" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_build_requirements_agree() -> None:
    """`make` installs them into its environment, which is no isolated one."""
    requires = re.search(r"^requires = \[(.*)\]", SETTINGS, re.M)
    assert requires is not None
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for requirement in re.findall(r'"(.*?)"', requires[1]):
        assert requirement == "pip" or f"'{requirement}'" in makefile, requirement


@pytest.mark.skipif(find_spec("cibuildwheel") is None, reason="no cibuildwheel")
def test_cibuildwheel_builds_one_wheel_for_each_python() -> None:
    made = run(sys.executable, "-m", "cibuildwheel", "--print-build-identifiers", "--platform", "linux", ".")
    assert made.split() == [f"cp3{minor}-manylinux_x86_64" for minor in PYTHONS]
