"""The commit that heads results: of a checkout, of an exported tree, of neither."""

from pathlib import Path

import pytest

from ozfp4.bench import provenance


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(provenance, "__file__", str(tmp_path / "provenance.py"))
    return tmp_path


def test_an_exported_tree_knows_its_commit(folder: Path) -> None:
    (folder / "archival.txt").write_text("abc1234\n")
    assert provenance.commit() == "abc1234"


def test_outside_a_checkout_nothing_is_known(folder: Path) -> None:
    (folder / "archival.txt").write_text("$Format:%h$\n")
    assert provenance.commit() is None


def test_git_archive_fills_in_the_commit() -> None:
    root = Path(__file__).parents[2]
    written = (root / "src/ozfp4/bench/archival.txt").read_text().strip()
    attributes = (root / ".gitattributes").read_text()
    assert "src/ozfp4/bench/archival.txt export-subst" in attributes
    assert written == "$Format:%h$" or not written.startswith("$")
