"""Hook of the documentation's builder: the notebooks, with the outputs that they were stored with, become pages of the site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from nbconvert import HTMLExporter

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"


def on_files(files: Files, config: Any) -> Files:
    """Add notebooks/NAME.html for every notebook."""
    exporter = HTMLExporter(template_name="lab")
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        page, _ = exporter.from_filename(str(path))
        files.append(File.generated(config, f"notebooks/{path.stem}.html", content=page))
    return files
