"""Links, their anchors and names of files in the pages of the root, docs/ and notebooks/README.md lead somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
if not (ROOT / "notebooks").is_dir():
    pytest.skip("a source distribution holds no notebooks", allow_module_level=True)
PAGES = [*sorted(ROOT.glob("*.md")), ROOT / "notebooks" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
ANCHORED = re.compile(r"\]\(([^)#:\s]*)#([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
NAMED = re.compile(r"`((?:csrc|src|tools|tests|benchmarks|docs|notebooks|cmake|\.ci)/[\w./*-]+)`")


def targets(page: Path) -> Iterator[Path]:
    text = page.read_text(encoding="utf-8")
    for link in LINK.findall(text):
        if not link.startswith(("http:", "https:")):
            # The site makes pages of the notebooks.
            made = re.fullmatch(r"(?:\.\./)*(notebooks/\w+)\.md", link)
            yield ROOT / f"{made[1]}.ipynb" if made else page.parent / link
    yield from (ROOT / name for name in NAMED.findall(text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_a_page_names_exists(page: Path) -> None:
    missing = [
        str(t.relative_to(ROOT)) for t in targets(page) if not t.exists() and not list(t.parent.glob(t.name))
    ]
    assert missing == []


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as Python-Markdown names them."""
    plain = (
        re.sub(r"[^\w\s-]", "", heading).strip().lower()
        for heading in HEADING.findall(page.read_text(encoding="utf-8"))
    )
    return {re.sub(r"[-\s]+", "-", heading) for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_anchors_of_links_are_headings(page: Path) -> None:
    links = ANCHORED.findall(page.read_text(encoding="utf-8"))
    # Pages that are made of docstrings have the names of what they describe as anchors.
    missing = [
        f"{target.name}#{anchor}"
        for name, anchor in links
        for target in [page.parent / name if name else page]
        if target.is_file()
        and "\n::: " not in target.read_text(encoding="utf-8")
        and anchor not in anchors(target)
    ]
    assert missing == []


def test_every_notebook_is_in_the_list_of_notebooks() -> None:
    contents = (ROOT / "notebooks" / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in (ROOT / "notebooks").glob("*.ipynb") if path.name not in contents] == []
