"""Pages promise what the code beside them does: correct rounding and residuals stand beside accuracy="correct"."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import ozfp4

sys.path.insert(0, str(Path(__file__).parent))

from test_code_in_pages import PAGES, PART, ROOT, run

# What a comment says of a line that only accuracy="correct" or enclose keeps.
OF_CORRECT = re.compile(r"rounded once|correctly rounded|real (number|product)|next to the real|lost|cancel")
KEEPS_IT = re.compile(r'accuracy="correct"|enclose|np\.|linalg\.|stages\.|matmul_mod')
# Of the default these are not true; its promise is the bound of an FP64 sum.
UNTRUE = re.compile(
    r"every entry is right|no entry worse|(as good|accurate) as (an? )?(FP64 |float64 )?(sum|product)"
    r"|half (a|the) products?'? time"
)
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
TEXTS = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CITATION.cff")),
    *(
        path
        for folder in ("docs", "include", "examples", "src/ozfp4")
        for path in sorted((ROOT / folder).rglob("*"))
    ),
    *NOTEBOOKS,
]


def commented_code() -> Iterator[tuple[str, str]]:
    """Every line of a page's Python that has a comment, with the page."""
    for path in PAGES:
        for part in PART.finditer(path.read_text(encoding="utf-8")):
            for line in (part["code"] or "").splitlines():
                if "#" in line and not line.strip().startswith(("#", "assert")):
                    yield path.relative_to(ROOT).as_posix(), line


def test_code_that_is_said_to_round_once_asks_for_it() -> None:
    wrong = [
        f"{page}: {line}"
        for page, line in commented_code()
        if OF_CORRECT.search(line.split("#", 1)[1]) and not KEEPS_IT.search(line.split("#", 1)[0])
    ]
    assert not wrong, "\n".join(wrong)


def test_no_text_promises_more_of_the_default_than_its_bound() -> None:
    wrong = []
    for path in TEXTS:
        if path.suffix in (".md", ".cff", ".h", ".f90", ".py", ".pyi", ".c", ".cpp", ".ipynb"):
            text = re.sub(r"\s*\n[\s*#/]*", " ", path.read_text(encoding="utf-8"))
            wrong += [f"{path.relative_to(ROOT)}: {match[0]}" for match in UNTRUE.finditer(text)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", ["README.md", "docs/index.md"])
def test_the_first_example_holds_on_a_cpu(name: str) -> None:
    pytest.importorskip("torch")
    text = (ROOT / name).read_text(encoding="utf-8").replace("<!-- needs: cuda -->", "", 1)
    begin = text.index("```python")
    first = text[begin : text.index("\n```\n", begin) + 5]
    assert "assert" in first
    small = first.replace('device="cuda"', 'device="cpu"').replace("8192", "300")
    assert run(small, name) == 1


def test_what_a_page_says_of_the_identity() -> None:
    """docs/accuracy.md, Limits: an FP64 product with the identity is exact, the default is off by up to n u |x|."""
    n = 1024
    x = np.random.default_rng(0).standard_normal((8, n))
    default = ozfp4.matmul(x, np.eye(n))
    assert (ozfp4.matmul(x, np.eye(n), accuracy="correct") == x).all()
    assert (abs(default - x) <= n * 2.0**-53 * abs(x)).all()
    assert 0.6 < (default != x).mean() < 0.8
    assert 64 <= (abs(default - x) / np.spacing(abs(x))).max() <= 128


def test_what_a_page_says_of_the_memory_of_a_prepared_operand() -> None:
    """docs/how-to/prepare.md: 56 bytes an entry with fp64, and the copy's 8."""
    x = np.random.default_rng(0).standard_normal((1000, 1000))
    assert ozfp4.prepare(x, "right", backend="fp64").nbytes == (56 + 8) * x.size


def test_the_sample_of_a_report_has_the_fields_of_one() -> None:
    text = (ROOT / "docs/tutorials/numpy.md").read_text(encoding="utf-8")
    sample = re.findall(r"^    (\w+) {2,}\S", text, re.MULTILINE)
    _, report = ozfp4.matmul(np.ones((2, 2)), np.ones((2, 2)), report=True)
    assert sample == re.findall(r"^(\w+) ", str(report), re.MULTILINE)[: len(sample)]
    assert len(sample) >= 5


def test_notebooks_ask_for_what_their_residuals_promise() -> None:
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        for text in ("".join(cell["source"]) for cell in cells):
            for call in re.findall(r"gemm\(-1,[^`\n]*\)", text):
                assert 'accuracy="correct"' in call or "accuracy" in text, f"{path.name}: {call}"
