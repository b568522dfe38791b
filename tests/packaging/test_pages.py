"""CHANGELOG.md has the version of the project's settings, and names what the package has."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

import ozfp4

version = pytest.importorskip("packaging.version")
ROOT = Path(__file__).parents[2]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def setting(name: str) -> str:
    found = re.search(rf'^{name} = "?(.*?)"?$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.M)
    assert found is not None
    return found[1]


def headings() -> list[tuple[str, str]]:
    """(version, what stands behind it) of the headings of CHANGELOG.md."""
    return re.findall(r"^## (\S+) \((.*)\)$", CHANGELOG, re.MULTILINE)


def test_the_newest_heading_is_the_version_that_is_to_come() -> None:
    newest, when = headings()[0]
    assert setting("fallback_version") == f"{newest}.dev0"
    assert when == "unreleased" or re.fullmatch(r"\d{4}-\d\d-\d\d", when)
    here = version.Version(ozfp4.__version__)
    assert here <= version.Version(newest)
    assert when != "unreleased" or here != version.Version(newest)  # a tag is a release


def test_headings_fall() -> None:
    numbers = [version.Version(number) for number, _ in headings()]
    assert numbers == sorted(set(numbers), reverse=True)
    assert len(numbers) == len(re.findall(r"^## ", CHANGELOG, re.MULTILINE))


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`ozfp4\.([\w.]+)", CHANGELOG))))
def test_what_the_changelog_names_is_there(name: str) -> None:
    found = ozfp4
    if name.startswith("distributed"):  # in no namespace before it is imported, which needs torch
        pytest.importorskip("torch")
        import_module("ozfp4.distributed")
    for part in name.split("."):
        found = getattr(found, part)
