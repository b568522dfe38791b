"""`ozfp4 exec` and the library that it preloads."""

from __future__ import annotations

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
def report(tmp_path: Path) -> Path:
    return tmp_path / "report"


@pytest.fixture
def compile_c(tmp_path: Path) -> Callable[..., Path]:
    """Compiles one of the programs to `target` in a folder of the test, a library where that ends with .so; gives its path."""
    compiler = preloaded.compiler("cc", "gcc")

    def made(program: str, target: str | None = None, *further: str | Path) -> Path:
        file = tmp_path / (target or program)
        kind = ["-shared", "-fPIC"] if file.suffix == ".so" else []
        source = preloaded.PROGRAMS / f"{program}.c"
        command = [compiler, "-O1", "-D_GNU_SOURCE", *kind, source, "-o", file, *further]
        subprocess.run([*map(str, command), f"-Wl,-rpath,{tmp_path}"], check=True)
        return file

    return made
