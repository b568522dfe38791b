"""The site: all pages in the navigation, all public names in the reference, figures of GPUs as docs/data has them."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path
from types import ModuleType

import pytest

import ozfp4
from ozfp4 import linalg, stages, testing

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"


def documented() -> set[str]:
    lines = "\n".join(page.read_text(encoding="utf-8") for page in REFERENCE.glob("*.md")).splitlines()
    return {line.removeprefix("::: ") for line in lines if line.startswith("::: ")}


def distributed_names() -> list[str]:
    """Read, as importing it needs torch."""
    tree = ast.parse((ROOT / "src" / "ozfp4" / "distributed" / "__init__.py").read_text(encoding="utf-8"))
    (names,) = (ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign))
    assert "matmul" in names
    return names


def test_every_public_name_is_in_the_reference() -> None:
    names = {f"ozfp4.{name}" for name in ozfp4.__all__ if not name.startswith("__")} - {"ozfp4.linalg"}
    names |= {f"ozfp4.linalg.{name}" for name in linalg.__all__}
    names |= {f"ozfp4.distributed.{name}" for name in distributed_names()}
    assert documented() == names | {"ozfp4.testing"}


def test_the_version_is_in_the_reference() -> None:
    assert "`ozfp4.__version__`" in (REFERENCE / "machine.md").read_text(encoding="utf-8")


def test_every_variable_of_the_environment_is_in_the_reference() -> None:
    read = {
        "csrc/cpu/runtime/environment.cpp": r'text_of\("(OZFP4_\w+)"\)',
        "csrc/exec/settings.cpp": r'name == "(?!ROOT)(\w+)"',  # ROOT is of `ozfp4 exec` itself
        "src/ozfp4/_support/environment.py": r'environ\.get\("(\w+)"\)',
    }
    names = [
        name for file, call in read.items() for name in re.findall(call, (ROOT / file).read_text("utf-8"))
    ]
    assert len(names) == 16
    page = (REFERENCE / "environment.md").read_text(encoding="utf-8")
    assert [name for name in names if f"{name}`" not in page] == []


@pytest.mark.parametrize("module", [ozfp4, linalg, stages, testing], ids=lambda module: module.__name__)
def test_every_public_name_has_a_docstring(module: ModuleType) -> None:
    mine = [name for name in vars(module) if getattr(vars(module)[name], "__module__", "") == module.__name__]
    names = getattr(module, "__all__", [name for name in mine if not name.startswith("_")])
    made = [name for name in names if callable(getattr(module, name))]
    assert made
    assert [name for name in made if not (getattr(module, name).__doc__ or "").strip()] == []


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
    for page in (ROOT / "docs").rglob("*.md"):
        assert f" {page.relative_to(ROOT / 'docs').as_posix()}\n" in navigation
    assert "- notebooks/*.ipynb\n" in navigation


def test_exponents_and_indices_are_raised_and_lowered() -> None:
    changed = runpy.run_path(str(ROOT / "tools" / "docs_site" / "indices.py"))["with_indices"]
    assert changed("<p>2^-(s_i + 1) C_ij ≤ 2^(c_a), Σ_{k≤n} 2^0.5.</p>") == (
        "<p>2<sup>−(s<sub>i</sub> + 1)</sup> C<sub>ij</sub> ≤ 2<sup>c<sub>a</sub></sup>, Σ<sub>k≤n</sub> 2<sup>0.5</sup>.</p>"
    )
    verbatim = "<p>at_most sm_120 <code>x_i</code> a ^ b</p>"
    assert changed(verbatim) == verbatim


NEEDS_FIGURES = pytest.mark.skipif(
    not (ROOT / "docs" / "figures").is_dir(), reason="a source distribution holds no figures"
)


@NEEDS_FIGURES
def test_pages_agree_with_the_data() -> None:
    assert runpy.run_path(str(ROOT / "tools" / "device_tables.py"))["main"](["--check"]) == 0


def test_what_is_modelled_is_what_the_model_gives() -> None:
    tables = runpy.run_path(str(ROOT / "tools" / "device_tables.py"))
    assert tables["model"]() == tables["read"]("modelled")


@NEEDS_FIGURES
def test_text_of_figures_has_nine_pixels_where_a_page_has_400() -> None:
    for path in (ROOT / "docs" / "figures").rglob("*.svg"):
        svg = path.read_text(encoding="utf-8")
        width = float(re.findall(r'width="([\d.]+)pt"', svg)[0])
        sizes = [float(size) for size in re.findall(r"font(?:-size)?: (?:\w+ )?([\d.]+)px", svg)]
        assert min(sizes) * 356 / width >= 9, path  # what margins leave of 400


@NEEDS_FIGURES
def test_every_figure_is_on_a_page() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    drawn = [
        path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs" / "figures").rglob("*.svg")
    ]
    assert [name for name in drawn if f"{name})" not in text] == []
