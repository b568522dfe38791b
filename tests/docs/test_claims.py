"""Claims of pages hold for their code: a claim of correct rounding or of residuals needs accuracy="correct" next to it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import ozfp4

sys.path.insert(0, str(Path(__file__).parent))

from test_code_in_pages import ROOT, run


@pytest.mark.parametrize("name", ["README.md"])
def test_the_first_example_holds_on_a_cpu(name: str) -> None:
    pytest.importorskip("torch")
    text = (ROOT / name).read_text(encoding="utf-8").replace("<!-- needs: cuda -->", "", 1)
    begin = text.index("```python")
    first = text[begin : text.index("\n```\n", begin) + 5]
    assert "assert" in first
    small = first.replace('device="cuda"', 'device="cpu"').replace("8192", "300")
    assert run(small, name) == 1


def test_what_pages_say_of_the_identity() -> None:
    """README.md, docs/start/first-steps.md: the identity, a permutation and a diagonal matrix do what they do in FP64."""
    n = 1024
    x = np.random.default_rng(0).standard_normal((8, n))
    d = np.random.default_rng(1).standard_normal(n)
    for accuracy in ("standard", "correct"):
        assert (ozfp4.matmul(x, np.eye(n), accuracy=accuracy) == x).all()
        assert (ozfp4.matmul(x, np.eye(n)[:, ::-1], accuracy=accuracy) == x[:, ::-1]).all()
        assert (ozfp4.matmul(x, np.diag(d), accuracy=accuracy) == x * d).all()


def test_what_a_page_says_of_normal_operands() -> None:
    """docs/inside/accuracy.md, Limits: less than one entry of a hundred is farther from the real product than NumPy's."""
    n = 1024
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((20, n)), rng.standard_normal((n, 20))
    correct = ozfp4.matmul(a, b, accuracy="correct")
    left = ozfp4.gemm(-1, a, b, 1, correct, accuracy="correct")
    worse = abs((ozfp4.matmul(a, b) - correct) + left) > abs((a @ b - correct) + left)
    assert worse.mean() < 0.01


def test_what_a_page_says_of_the_memory_of_a_prepared_operand() -> None:
    """docs/guide/products.md: 48 bytes an entry with fp64, and the copy's 8."""
    x = np.random.default_rng(0).standard_normal((1000, 1000))
    assert ozfp4.prepare(x, "right", backend="fp64").nbytes == (48 + 8) * x.size


@pytest.mark.parametrize("page", ["docs/guide/did-it-run.md", "docs/guide/numpy.md"])
def test_the_sample_of_a_report_has_the_fields_of_one(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    sample = re.findall(r"^    (\w+) {2,}\S", text, re.MULTILINE)
    _, report = ozfp4.matmul(np.ones((2, 2)), np.ones((2, 2)), report=True)
    assert sample == re.findall(r"^(\w+) ", str(report), re.MULTILINE)[: len(sample)]
    assert len(sample) >= 5
