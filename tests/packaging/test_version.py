"""The version comes from git: of a checkout, of what git archives, of a source distribution, of a copy without any of these.

A repository with the project's settings and nothing to build is made for each test; the build backend gives its version.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

pytest.importorskip("scikit_build_core")
pytest.importorskip("setuptools_scm")

ROOT = Path(__file__).parents[2]
FILES = ("pyproject.toml", "README.md", "LICENSE", ".gitattributes", ".git_archival.txt")
if not all((ROOT / name).is_file() for name in FILES) or shutil.which("git") is None:
    pytest.skip("needs git and a checkout", allow_module_level=True)
if "$Format" not in (ROOT / ".git_archival.txt").read_text():
    pytest.skip("an archive of git has its own tag where a checkout has a format", allow_module_level=True)
NEXT = re.search(r'^fallback_version = "(.*)\.dev0"$', (ROOT / "pyproject.toml").read_text(), re.M)
assert NEXT is not None


def run(*command: str, folder: Path) -> str:
    # No settings of the user's git or of a build around this one.
    settings = {
        name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "SETUPTOOLS_SCM_"))
    }
    settings |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(
        command, cwd=folder, env=settings, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def git(folder: Path, *arguments: str) -> str:
    return run("git", "-c", "user.name=a", "-c", "user.email=a@b.c", *arguments, folder=folder)


def version(folder: Path) -> str:
    program = (
        "import sys, scikit_build_core.build as b; "
        "print('made', b.prepare_metadata_for_build_wheel(sys.argv[1], {}))"
    )
    metadata = Path(tempfile.mkdtemp(dir=folder.parent))
    said = run(sys.executable, "-c", program, str(metadata), folder=folder)
    made = metadata / said.splitlines()[-1].removeprefix("made ")
    return str(HeaderParser().parsestr((made / "METADATA").read_text(encoding="utf-8"))["Version"])


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Two commits."""
    folder = tmp_path / "checkout"
    (folder / "src" / "ozfp4").mkdir(parents=True)
    (folder / "src" / "ozfp4" / "__init__.py").touch()
    for name in FILES:
        shutil.copy(ROOT / name, folder)
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=one")
    git(folder, "commit", "--quiet", "--allow-empty", "--message=two")
    return folder


def test_before_the_first_tag(checkout: Path) -> None:
    commit = git(checkout, "rev-parse", "HEAD")[:9]
    assert version(checkout) == f"{NEXT[1]}.dev2+g{commit}"


def test_a_tag_is_a_release(checkout: Path) -> None:
    git(checkout, "tag", "v3.1.4")
    assert version(checkout) == "3.1.4"
    git(checkout, "commit", "--quiet", "--allow-empty", "--message=three")
    assert version(checkout).startswith(f"3.1.5.dev1+g{git(checkout, 'rev-parse', 'HEAD')[:7]}")


def unpack(packed: Path, folder: Path) -> Path:
    folder.mkdir()
    run("tar", "-xf", str(packed), "-C", str(folder), folder=folder)
    return folder


def archive(checkout: Path, folder: Path) -> Path:
    git(checkout, "archive", "--output", str(folder) + ".tar", "HEAD")
    return unpack(Path(f"{folder}.tar"), folder)


def test_an_archive_of_git_has_the_tag(checkout: Path, tmp_path: Path) -> None:
    assert version(archive(checkout, tmp_path / "untagged")) == f"{NEXT[1]}.dev0"
    git(checkout, "tag", "v3.1.4")
    assert version(archive(checkout, tmp_path / "tagged")) == "3.1.4"
    git(checkout, "commit", "--quiet", "--allow-empty", "--message=three")
    later = version(archive(checkout, tmp_path / "later"))
    assert re.fullmatch(r"3\.1\.5\.dev1\+g[0-9a-f]{7,}", later)


def test_a_source_distribution_has_the_version(checkout: Path, tmp_path: Path) -> None:
    git(checkout, "tag", "v3.1.4")
    git(checkout, "commit", "--quiet", "--allow-empty", "--message=three")
    program = "import sys, scikit_build_core.build as b; b.build_sdist(sys.argv[1])"
    run(sys.executable, "-c", program, str(tmp_path / "sdist"), folder=checkout)
    (packed,) = (tmp_path / "sdist").iterdir()
    (folder,) = unpack(packed, tmp_path / "unpacked").iterdir()
    assert version(folder) == version(checkout)
    assert folder.name == f"ozfp4-{version(checkout)}"


def test_a_copy_without_git_still_builds(checkout: Path) -> None:
    shutil.rmtree(checkout / ".git")
    assert version(checkout) == f"{NEXT[1]}.dev0"
    (checkout / ".git_archival.txt").unlink()
    assert version(checkout) == f"{NEXT[1]}.dev0"
