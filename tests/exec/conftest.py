"""`ozfp4 exec` and the library that it preloads."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import preloaded
import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    if not preloaded.LIBRARY.is_file():
        for item in items:
            if here in item.path.parents:
                item.add_marker(pytest.mark.skip(reason=f"this build has no {preloaded.LIBRARY.name}"))


@pytest.fixture
def compile_c(tmp_path: Path) -> Callable[..., Path]:
    """Compiles a text to `name` in a folder of the test, a library where `name` ends with .so, and gives its path."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")

    def made(name: str, text: str, *further: str | Path) -> Path:
        source = tmp_path / f"{name}.c"
        source.write_text(text)
        kind = ["-shared", "-fPIC"] if name.endswith(".so") else []
        target = tmp_path / name
        command = [compiler, "-O1", *kind, source, "-o", target, *further, f"-Wl,-rpath,{tmp_path}"]
        subprocess.run([str(word) for word in command], check=True)
        return target

    return made
