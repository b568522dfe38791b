"""A notebook as a page of the site in Markdown, with its pictures next to it: it looks and is searched and checked as all
pages are."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import nbformat

HEADING = re.compile(r"^# (.+)$", re.MULTILINE)
CAPTION = re.compile(r"\*(Figure \d+)\.\*\s*(.*?[.:;])(?:\s|$)", re.DOTALL)
ANSI_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
Pictures = dict[str, bytes]


def title_of(path: Path) -> str:
    """The first heading, in plain text: the navigation shows neither formulas nor Markdown."""
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown" and (found := HEADING.search(cell.source)):
            return re.sub(r"[$`*\\{}]", "", found[1])
    raise SystemExit(f"{path}: no heading names the notebook")


def _fenced(text: str, language: str) -> str:
    text = ANSI_COLOUR.sub("", text).rstrip("\n")
    return f"```{language}\n{text}\n```"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else line for line in text.split("\n"))


def _caption(cells: list[Any], index: int) -> str:
    """The description of a figure in the Markdown behind the cell: the text for those who do not see it."""
    for cell in cells[index + 1 : index + 3]:
        if cell.cell_type == "markdown" and (found := CAPTION.search(cell.source)):
            words = re.sub(r"[$`*\\\[\]{}|<>]", "", found[2])
            return f"{found[1]}: {' '.join(words.split())}"
    return "Figure of the cell above"


def _output(output: Any, name: str, alternative: str, pictures: Pictures) -> str:
    """One output of a cell; a picture goes to `pictures` under a name that begins with `name`."""
    if output.output_type == "stream":
        return _fenced(output.text, "text")
    if output.output_type == "error":
        return _fenced("\n".join(output.traceback), "text")
    data = output.data
    for kind, extension in (("image/svg+xml", "svg"), ("image/png", "png")):
        if kind in data:
            file = f"{name}-{len(pictures) + 1}.{extension}"
            pictures[file] = data[kind].encode() if extension == "svg" else base64.b64decode(data[kind])
            return f"![{alternative}]({file})"
    if "text/html" in data:
        return f'<div class="output" markdown="0">\n{data["text/html"]}\n</div>'
    if "text/markdown" in data:
        return str(data["text/markdown"])
    return _fenced(data.get("text/plain", ""), "text")


def page_of(path: Path) -> tuple[str, Pictures]:
    """The page in Markdown, and the pictures that it shows by their names."""
    cells = nbformat.read(path, as_version=4).cells
    parts: list[str] = []
    pictures: Pictures = {}
    for index, cell in enumerate(cells):
        if cell.cell_type == "markdown":
            parts.append(cell.source)
        elif cell.cell_type == "code":
            code = _fenced(cell.source, "python")
            if cell.metadata.get("jupyter", {}).get("source_hidden"):
                code = f'??? quote "Code of the figure"\n\n{_indented(code)}'
            if cell.source.strip():
                parts.append(code)
            caption = _caption(cells, index)
            parts += [_output(output, path.stem, caption, pictures) for output in cell.outputs]
    note = f'\n\n!!! note ""\n    This page is the notebook `notebooks/{path.name}` with the outputs that it was stored with.'
    parts[0] += note
    return "\n\n".join(parts) + "\n", pictures
