"""The site: all pages in the navigation, all public names in the reference; what becomes of formulas, notebooks, docstrings."""

from __future__ import annotations

import ast
import shutil
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


@pytest.fixture
def site_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools" / "docs_site"))
    monkeypatch.syspath_prepend(str(ROOT / "tools"))


@pytest.mark.usefixtures("site_tools")
def test_formulas_become_mathml() -> None:
    pytest.importorskip("latex2mathml")
    from formulas import with_mathml

    page = r'<p>a <span class="arithmatex">\(x &lt; 2^k\)</span></p><div class="arithmatex">\[\sum_i \bigl(x_i\bigr)\]</div>'
    made = with_mathml(page, "page.md")
    assert made.count("<math") == 2
    assert "&#x02211;" in made
    assert "arithmatex" not in made
    assert "big" not in made
    assert '<mo lspace="0.17em" rspace="0.17em">log</mo><mi>p</mi>' in with_mathml(
        r'<span class="arithmatex">\(\log p\)</span>', "page.md"
    )
    with pytest.raises(SystemExit, match=r"page.md: \\nonsense in the formula x \\nonsense"):
        with_mathml(r'<span class="arithmatex">\(x \nonsense\)</span>', "page.md")


@pytest.mark.usefixtures("site_tools")
def test_a_notebook_becomes_a_page(tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    from notebooks import page_of, title_of

    v4 = nbformat.v4
    plot = v4.new_code_cell("plot()", metadata={"jupyter": {"source_hidden": True}})
    plot.outputs = [v4.new_output("display_data", {"image/png": "aGk="})]
    plain = v4.new_code_cell("1 + 1")
    plain.outputs = [
        v4.new_output("stream", text="\x1b[31mred\x1b[0m\n"),
        v4.new_output("execute_result", {"text/plain": "2", "text/html": "<b>2</b>"}),
    ]
    cells = [
        v4.new_markdown_cell("# A *title* of $2^{64}$\n\ntext"),
        plot,
        v4.new_markdown_cell("*Figure 1.* What $x$ is. More."),
        plain,
    ]
    nbformat.write(v4.new_notebook(cells=cells), tmp_path / "01_a.ipynb")
    text, pictures = page_of(tmp_path / "01_a.ipynb")
    assert title_of(tmp_path / "01_a.ipynb") == "A title of 2^64"
    assert pictures == {"01_a-1.png": b"hi"}
    assert '??? quote "Code of the figure"\n\n    ```python\n    plot()\n    ```' in text
    assert "![Figure 1: What x is.](01_a-1.png)" in text
    assert "```text\nred\n```" in text
    assert "<b>2</b>" in text


@pytest.mark.usefixtures("site_tools")
def test_examples_of_docstrings_become_code() -> None:
    pytest.importorskip("griffe")
    from docstrings import fenced

    assert fenced("Head.\n\n>>> f(1)\n2\n\nMore.") == "Head.\n\n```pycon\n>>> f(1)\n2\n```\n\nMore."
    section = "Head.\n\nExamples\n--------\n>>> f(1)\n2"
    assert fenced(section) == section


@pytest.mark.usefixtures("site_tools")
def test_the_reference_has_the_defaults_of_the_signature() -> None:
    griffe = pytest.importorskip("griffe")
    extensions = griffe.load_extensions(ROOT / "tools" / "docs_site" / "docstrings.py")
    package = griffe.load(
        "ozfp4", search_paths=[ROOT / "src"], docstring_parser="numpy", extensions=extensions
    )
    [section] = [
        s for s in package["gemm"].docstring.parsed if s.kind is griffe.DocstringSectionKind.parameters
    ]
    shown = {parameter.name: parameter.default for parameter in section.value}
    assert (shown["alpha"], shown["beta"], shown["scheme"]) == (None, "0.0", "'II'")
    assert (shown["backend"], shown["accuracy"], shown["trans_a"]) == ("'auto'", "None", "False")


@pytest.mark.usefixtures("site_tools")
def test_links_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    from check_site import broken_links, is_foreign, main

    (tmp_path / "a").mkdir()
    (tmp_path / "index.html").write_text(
        '<p id="here"></p><a href="a/b.html#there">x</a><a href="#here">x</a><a href="#gone">x</a>'
        '<img src="no.png"><a href="https://elsewhere.org/">x</a>'
    )
    (tmp_path / "a" / "b.html").write_text('<a id="there" href="../index.html">x</a><a href="c.html">x</a>')
    assert broken_links(tmp_path) == [
        "index.html: #gone leads to no anchor", "index.html: no.png leads nowhere", "a/b.html: c.html leads nowhere"
    ]  # fmt: skip
    assert is_foreign("https://elsewhere.org/x.js", "http://127.0.0.1:1/")
    assert not is_foreign("http://127.0.0.1:1/x.js", "http://127.0.0.1:1/")
    assert main(["--site", str(tmp_path / "a" / "none")]) == 2


@pytest.mark.usefixtures("site_tools")
def test_pages_that_are_wrong_are_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("playwright")
    from check_site import main

    if shutil.which("chromium") is None:
        pytest.skip("chromium is not here")
    style = "<style>@media (prefers-color-scheme: dark) { body { background: #000 } } body { background: #fff }</style>"
    (tmp_path / "wide.html").write_text(f"{style}<div style='width: 900px'>wide</div>")
    (tmp_path / "loud.html").write_text(
        "<link rel='icon' href='data:,'><body style='background: #fff'><script>nothing()</script>"
    )
    (tmp_path / "away.html").write_text(
        "<body style='background: #fff'><script src='http://localhost:1/x.js'></script>"
    )
    assert main(["--site", str(tmp_path)]) == 1
    wrong = capsys.readouterr().err
    assert "wide.html: light, 400 pixels: scrolls sideways by" in wrong
    assert "wide.html: light, 1280" not in wrong
    assert "loud.html: error: nothing is not defined" in wrong
    assert "loud.html: dark, 400 pixels: the background has brightness 255 of 255" in wrong
    assert "away.html: asks http://localhost:1/x.js" in wrong
