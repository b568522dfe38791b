"""tools/run_notebooks.py --write stores no figures of a tree with changes, and then none at all; a notebook may need packages."""

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


@pytest.mark.parametrize(("needs", "executed"), [(["sys"], 1), (["sys", "no_such_package"], 0)])
def test_a_notebook_is_left_out_where_a_package_is_missing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    needs: list[str],
    executed: int,
) -> None:
    taken = []
    monkeypatch.setattr(run_notebooks, "execute", lambda notebook, *_: taken.append(1) or notebook)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1")], metadata={"needs": needs})
    nbformat.write(notebook, tmp_path / "a.ipynb")
    before = (tmp_path / "a.ipynb").read_bytes()
    assert run_notebooks.main(["--write", str(tmp_path)]) == 0
    assert len(taken) == executed
    said = "a.ipynb: left out, as no_such_package is not installed" in capsys.readouterr().out
    assert said == (executed == 0)
    if said:
        assert (tmp_path / "a.ipynb").read_bytes() == before
