"""The commit that heads results: of a checkout, of an exported tree, of neither."""

from pathlib import Path

import pytest

from ozfp4._measure import machine


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(machine, "__file__", str(tmp_path / "machine.py"))
    return tmp_path


def test_an_exported_tree_knows_its_commit(folder: Path) -> None:
    (folder / "archival.txt").write_text("abc1234\n")
    assert machine.commit() == "abc1234"


def test_outside_a_checkout_nothing_is_known(folder: Path) -> None:
    (folder / "archival.txt").write_text("$Format:%h$\n")
    assert machine.commit() is None


def test_git_archive_fills_in_the_commit() -> None:
    root = Path(__file__).parents[2]
    written = (root / "src/ozfp4/_measure/archival.txt").read_text().strip()
    attributes = (root / ".gitattributes").read_text()
    assert "src/ozfp4/_measure/archival.txt export-subst" in attributes
    assert written == "$Format:%h$" or not written.startswith("$")
