"""Prose of pages, notebooks, docstrings, include/*.h and comments: short sentences, plain beginnings, standard words.

tests/docs/prose_exceptions.txt has the findings that are left, by file and kind. They only become fewer:
    python tests/docs/test_prose.py FILE...     prints the findings of these files
    python tests/docs/test_prose.py --write     lowers the numbers, and refuses to raise one
"""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXCEPTIONS = Path(__file__).with_name("prose_exceptions.txt")
HEAD = "# Findings that are left, by file and kind; test_prose.py --write lowers the numbers.\n"
SENTENCE_WORDS, README_LINES, SITE_WORDS = 30, 150, 30_000

PATHS = re.compile(
    r"(?:README|CONTRIBUTING|CHANGELOG)\.md|docs/.*\.md|notebooks/.*\.ipynb|include/.*\.h"
    r"|(?:src|tools|tests)/.*\.py|(?:csrc|tests)/.*\.(?:[ch]pp|cuh?)"
)
PROGRAM = (
    "backends? block BLAS calls? compiler CPUs? cuBLAS devices? dispatch dispatcher functions? GPUs? handles? hosts? interpreter "
    "kernels? lanes? launch launches library libraries loader modules? NumPy ozfp4 pipelines? planners? plans? process processes "
    "products? programs? Python queries query ranks? routines? runtime stages? streams? system threads? torch units? warps? CODE"
).replace(" ", "|")
SPEAKS = "asks?|asked|says?|said|tells?|told|knows?|knew|thinks?|thought|learns?"
FINDINGS = {
    "beginning": re.compile(r"^(?:Of|What|Those|Whose|Where it) (?:\S+ ){3,}.*[^?]$"),
    "person": re.compile(
        rf"\b(?:{PROGRAM}) (?:(?:alone|also|never|then) )?(?:{SPEAKS})\b|\b(?:it|that|which) (?:asks|knows|thinks)\b",
        re.IGNORECASE,
    ),
    "word": re.compile(
        r"\b(?:beside|whose|nobody|somebody|ours|stands? for|as (?:it|they) stands?|serves?|in turns|of its own|in place of)\b",
        re.IGNORECASE,
    ),
}
STRING = r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'"
PARTS_OF_PYTHON = re.compile(rf'""".*?"""|#[^\n]*|{STRING}', re.DOTALL)
PARTS_OF_C = re.compile(rf"//[^\n]*|/\*.*?\*/|{STRING}", re.DOTALL)
FENCE = re.compile(r"```|~~~|\$\$|>>>")
ITEM = re.compile(r"(?:[-*+]|\d+[.)])\s+")
HEADING = re.compile(r"#+ |[-=~*]{3,}$")
ABBREVIATION = re.compile(r"\b(e\.g|i\.e|cf|vs|al|Fig|no)\.(?= )")
END = re.compile(r"(?<=[.?!])[\"')*_]*\s+(?=\S)")


def blocks(text: str) -> Iterator[str]:
    """Paragraphs, items of lists, cells of tables and headings; no code."""
    block: list[str] = []
    column, end_of_code, in_list = 0, "", False
    for line in [*textwrap.dedent(text).splitlines(), ""]:
        text, indent = line.strip(), len(line) - len(line.lstrip())
        if end_of_code:
            if text.startswith(end_of_code) or text == end_of_code.strip():
                end_of_code = ""
            continue
        fence = FENCE.match(text)
        item = ITEM.match(text)
        code = indent >= 4 and not block and not in_list
        no_prose = not text or fence or code or text[0] == "|" or HEADING.match(text)
        if no_prose or item or indent != column:
            yield " ".join(block)
            block = []
        if fence and not (len(text) > len(fence[0]) and text.endswith(fence[0])):
            end_of_code = "\n" if fence[0] == ">>>" else fence[0]
        elif text.startswith(("|", "# ", "##")):
            yield from re.split(r"(?<!\\)\|", text.lstrip("#"))
        elif not no_prose:
            in_list = bool(item) or (in_list and (bool(block) or indent > 0))
            column = column if block else indent + (item.end() if item else 0)
            block.append(text[item.end() :] if item else text)


def sentences(text: str) -> Iterator[str]:
    text = re.sub(r"<!--.*?-->", lambda comment: "\n" * comment[0].count("\n"), text, flags=re.DOTALL)
    for block in blocks(text):
        plain = re.sub(r"``.+?``|:\w+:`[^`]*`|`[^`]*`|\$[^$]+\$", "CODE", block)
        plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)|</?[a-zA-Z][^>]*>|\*\*", r"\1", plain)
        yield from filter(None, map(str.strip, END.split(ABBREVIATION.sub(r"\1", plain))))


def source_texts(source: str, parts: re.Pattern[str]) -> Iterator[str]:
    """Docstrings, /* comments */, and comments of consecutive lines at one column as one text."""
    run: list[str] = []
    next_of_run = (0, 0)
    for part in parts.finditer(source):
        begin = source.rfind("\n", 0, part.start()) + 1
        if part[0].startswith('"""'):
            if source[max(0, part.start() - 200) : part.start()].rstrip()[-1:] in ("", ":"):
                yield inspect.cleandoc(part[0][3:-3])
        elif part[0].startswith("/*"):
            yield re.sub(r"^ *\*", "", part[0][2:-2].strip(" *"), flags=re.MULTILINE)
        elif part[0].startswith(("//", "#")):
            line, column = source.count("\n", 0, begin), part.start() - begin
            if (line, column) != next_of_run or source[begin : part.start()].strip():
                yield "\n".join(run)
                run = []
            run.append(part[0].lstrip("/<#!:"))
            next_of_run = (line + 1, column)
    yield "\n".join(run)


def texts(path: Path) -> Iterator[str]:
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        yield from (
            "".join(cell["source"]) for cell in json.loads(source)["cells"] if cell["cell_type"] == "markdown"
        )
    elif path.suffix == ".md":
        yield source
    else:
        yield from source_texts(source, PARTS_OF_PYTHON if path.suffix == ".py" else PARTS_OF_C)


def findings(path: Path) -> Iterator[tuple[str, str]]:
    for sentence in (sentence for text in texts(path) for sentence in sentences(text)):
        if sum(bool(re.search(r"\w", word)) for word in sentence.split()) > SENTENCE_WORDS:
            yield "long", sentence
        yield from (
            (kind, sentence) for kind, pattern in FINDINGS.items() for _ in pattern.finditer(sentence)
        )


def files() -> list[str]:
    if not (ROOT / ".git").exists():
        pytest.skip("a source distribution holds no list of its files")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.splitlines() if PATHS.fullmatch(name) and (ROOT / name).is_file()]


def found() -> Counter[tuple[str, str]]:
    return Counter((name, kind) for name in files() for kind, _ in findings(ROOT / name))


def allowed() -> Counter[tuple[str, str]]:
    numbers: Counter[tuple[str, str]] = Counter()
    for line in EXCEPTIONS.read_text(encoding="utf-8").splitlines()[1:] if EXCEPTIONS.exists() else []:
        name, *counts = line.split()
        numbers.update({(name, kind): int(number) for kind, number in (count.split("=") for count in counts)})
    return numbers


def written(numbers: Counter[tuple[str, str]]) -> str:
    names = sorted({name for name, _ in numbers})
    kinds = ("long", *FINDINGS)
    return "".join(
        " ".join([name, *(f"{kind}={numbers[name, kind]}" for kind in kinds if numbers[name, kind])]) + "\n"
        for name in names
    )


def test_findings_are_those_of_the_exceptions() -> None:
    now, before = found(), allowed()
    more = [f"{name}: {kind} {before[name, kind]} -> {now[name, kind]}" for name, kind in now - before]
    fewer = [f"{name}: {kind} {before[name, kind]} -> {now[name, kind]}" for name, kind in before - now]
    assert not more, "python tests/docs/test_prose.py FILE prints the sentences"
    assert not fewer, "python tests/docs/test_prose.py --write lowers the numbers"


W = "word "


@pytest.mark.parametrize(
    ("name", "text", "kinds"),
    [
        ("page.md", f"| {W * 20} | {W * 20} |\n- {W * 20}\n- {W * 20}", []),
        ("page.md", f"{W * 20}`{W * 20}`.\n```\n{W * 40}\n```\n    {W * 40}", []),
        ("page.md", f"{W * 15}\n{W * 16}", ["long"]),
        ("page.md", "Of these two are exact. What is left? Those of a row are read once.", ["beginning"] * 2),
        ("page.md", "The kernel asks. The users know, a page says, and the processes are told.", ["person"]),
        ("page.md", "It stands for a row beside ours.", ["word"] * 3),
        ("module.py", f'"""{W * 31}"""\nx = "beside"  # Nobody', ["long", "word"]),
        ("module.py", f"# {W * 20}\n# {W * 20}\nx = 1  # {W * 20}", ["long"]),
        ("module.py", f'"""Line.\n\nx : int\n    {W * 16}\ny : int\n    {W * 16}"""', []),
        (
            "source.cpp",
            f'x = "// beside";  // ours\n/// whose\n/* nobody\n * {W * 31}*/',
            ["word"] * 3 + ["long"],
        ),
    ],
)
def test_a_finding_is_found(tmp_path: Path, name: str, text: str, kinds: list[str]) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert sorted(kind for kind, _ in findings(tmp_path / name)) == sorted(kinds)


def test_sizes() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    site = "\n".join([readme, *(page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md"))])
    assert len(readme.splitlines()) <= README_LINES
    assert len(site.split()) <= SITE_WORDS
    figures = [path for path in (ROOT / "docs" / "figures").rglob("*") if path.suffix in (".png", ".svg")]
    unnamed = [path.name for path in figures if path.relative_to(ROOT / "docs").as_posix() not in site]
    assert unnamed == []


def main(arguments: list[str]) -> int:
    if arguments != ["--write"]:
        for name in arguments or files():
            for kind, sentence in findings(ROOT / name):
                print(f"{name}: {kind}: {sentence}")
        return 0
    now, before = found(), allowed()
    if EXCEPTIONS.exists() and (more := now - before):
        print(f"more than before, mend these first:\n{written(more)}", end="")
        return 1
    EXCEPTIONS.write_text(HEAD + written(now), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
