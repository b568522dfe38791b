"""Docstrings as the reference shows them: examples outside a section of their own become code, as Markdown has no doctests."""

from __future__ import annotations

import re
from typing import Any

import griffe

# Lines from a prompt to the next blank line, and where the section of examples begins, which griffe reads by itself.
EXAMPLE = re.compile(r"(?:^|(?<=\n\n))( *)(>>> .*?)(?=\n\s*\n|\Z)", re.DOTALL)
SECTION = re.compile(r"^Examples\n-+$", re.MULTILINE)


def fenced(text: str) -> str:
    """The docstring with its examples outside the section Examples as fenced blocks."""
    found = SECTION.search(text)
    end = found.start() if found else len(text)
    head = EXAMPLE.sub(lambda example: f"{example[1]}```pycon\n{example[0]}\n{example[1]}```", text[:end])
    return head + text[end:]


class Examples(griffe.Extension):
    """Rewrites every docstring once it is loaded."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
