"""The Python in README.md and docs/ runs unchanged, block after block in one namespace a page.

Code that a page leaves to its reader is in a comment, <!-- setup ... -->, and runs at its place. <!-- needs: NAME --> is
for all up to and with the next block, <!-- page needs: NAME --> for the page; NAME is a module, or cuda: a GPU that torch sees.
"""

from __future__ import annotations

import importlib.util
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PART = re.compile(
    r"<!-- setup\n(?P<setup>.*?)\n-->|<!-- needs: (?P<needs>\w+) -->|^```python\n(?P<code>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
PAGE_NEEDS = re.compile(r"<!-- page needs: (\w+) -->")
PAGES = [
    path
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if "\n```python\n" in path.read_text(encoding="utf-8")
]


def is_there(name: str) -> bool:
    if name != "cuda":
        return importlib.util.find_spec(name) is not None
    if not is_there("torch"):
        return False
    import torch

    return bool(torch.cuda.is_available())


def run(text: str, name: str) -> int:
    """Runs the page's code; how many blocks that were."""
    space: dict[str, Any] = {"__name__": name}
    serves, blocks = True, 0
    for part in PART.finditer(text):
        if part["needs"]:
            serves = serves and is_there(part["needs"])
            continue
        if serves:
            line = text.count("\n", 0, part.start()) + 2  # errors name the line of the page
            code = part["setup"] or part["code"]
            exec(compile("\n" * (line - 1) + code, name, "exec"), space)
            blocks += part["code"] is not None
        if part["code"] is not None:
            serves = True
    return blocks


@pytest.fixture(autouse=True)
def logger_as_before() -> Iterator[None]:
    level = logging.getLogger("ozfp4").level
    yield
    logging.getLogger("ozfp4").setLevel(level)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # by torch itself
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).with_suffix("").as_posix())
def test_code_runs(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = path.read_text(encoding="utf-8")
    needed = PAGE_NEEDS.findall(text)
    if missing := [name for name in needed if not is_there(name)]:
        pytest.skip(f"{', '.join(missing)} is not here")
    ran = run(text, str(path.relative_to(ROOT)))
    if not ran:
        pytest.skip("what its code needs is not here")
