"""tools/run_notebooks.py --write stores no figures of a tree with changes, and then none at all."""

from __future__ import annotations

import copy
import sys
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import run_notebooks  # noqa: E402


@pytest.mark.parametrize("commit", ["112f153", "112f153-dirty"])
def test_figures_of_changes_are_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commit: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def execute(notebook: Any, folder: Path, timeout: float) -> Any:
        fresh = copy.deepcopy(notebook)
        text = f"cpu, commit {commit}" if "measure" in fresh.cells[0].source else "5"
        fresh.cells[0].outputs = [nbformat.v4.new_output("stream", name="stdout", text=text)]
        return fresh

    monkeypatch.setattr(run_notebooks, "execute", execute)
    files = [tmp_path / "a.ipynb", tmp_path / "b.ipynb"]
    for path, source in zip(files, ("2 + 3", "measure()"), strict=True):
        nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)]), path)
    before = [path.read_bytes() for path in files]
    clean = not commit.endswith("dirty")
    assert run_notebooks.main(["--write", str(tmp_path)]) == (0 if clean else 1)
    assert ([path.read_bytes() for path in files] != before) == clean
    if not clean:
        assert f"{files[1]}: not written, it shows figures of {commit}" in capsys.readouterr().err
