"""Hooks of the documentation's builder: pages from outside docs/, formulas as MathML, links where docstrings name a function."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from formulas import with_mathml
from indices import with_indices
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from notebooks import page_of, title_of

ROOT = Path(__file__).resolve().parents[2]
# Pages of the root, under the names that they have in the site.
OF_ROOT = {"index.md": "README.md", "changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}
# A link from a page of the root to a page of docs/, to a notebook or to another page of the root.
TO_DOCS = re.compile(r"\]\(docs/")
TO_NOTEBOOK = re.compile(r"\]\((notebooks/\w+)\.ipynb")
# A role of Sphinx in a docstring, as Markdown leaves it.
ROLE = re.compile(r":(?:func|class|meth|attr|mod|data):<code>~?([\w.]+)</code>")


def on_config(config: Any) -> Any:
    """Replace a pattern of notebooks in the navigation by the notebooks that it finds."""

    def expand(entry: Any) -> list[Any]:
        if isinstance(entry, str) and entry.endswith("*.ipynb"):
            found = sorted(ROOT.glob(entry))
            return [{title_of(path): path.relative_to(ROOT).with_suffix(".md").as_posix()} for path in found]
        if isinstance(entry, dict):
            return [
                {name: [new for old in below for new in expand(old)] if isinstance(below, list) else below}
                for name, below in entry.items()
            ]
        return [entry]

    config["nav"] = [new for old in config["nav"] for new in expand(old)]
    return config


@event_priority(100)
def on_files(files: Files, config: Any) -> Files:
    """Add the pages of the root, and a page for every notebook with the outputs that it was stored with."""
    for name, source in OF_ROOT.items():
        text = TO_NOTEBOOK.sub(r"](\1.md", TO_DOCS.sub("](", (ROOT / source).read_text(encoding="utf-8")))
        for page, other in OF_ROOT.items():
            text = text.replace(f"]({other}", f"]({page}")
        files.append(File.generated(config, name, content=text))
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        text, pictures = page_of(path)
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=text))
        for name, content in pictures.items():
            files.append(File.generated(config, f"notebooks/{name}", content=content))
    return files


def on_page_content(html: str, page: Page, config: Any, files: Files) -> str:
    """Formulas become MathML, which browsers draw by themselves; exponents are raised; roles become links."""
    html = ROLE.sub(r'<autoref identifier="\1" optional><code>\1</code></autoref>', html)
    return with_indices(with_mathml(html, page.file.src_uri))
