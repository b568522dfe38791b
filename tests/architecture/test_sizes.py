"""No function is longer than 80 lines without a comment that says `long because ...`.

Python is read by its syntax tree, C++ by its braces.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 80

# What may hide a brace, or may only look like one.
_HIDDEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.DOTALL
)
_SCOPE = re.compile(r"\b(namespace|struct|class|union|enum|extern)\b[^()]*$")
_NAME = re.compile(r"([\w:~]+)\s*\(")
_INITIALISER = re.compile(r"\)\s*:[^:].*[\w>]\s*$", re.DOTALL)  # Class(int x) : member_{x} {


@dataclass(frozen=True)
class Function:
    path: Path
    name: str
    first: int
    last: int

    @property
    def lines(self) -> int:
        return self.last - self.first + 1

    def is_explained(self) -> bool:
        """Whether a comment above it, or in it, says `long because`."""
        lines = self.path.read_text().split("\n")
        above = self.first - 1
        while above > 0 and lines[above - 1].lstrip().startswith(("//", "#", "@")):
            above -= 1
        return any("long because" in line.lower() for line in lines[above : self.last])


def functions_of(path: Path) -> list[Function]:
    text = path.read_text()
    return _python(path, text) if path.suffix == ".py" else _cpp(path, text)


def _python(path: Path, text: str) -> list[Function]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
    # A docstring is the reader's, whatever its length.
    begins = [
        node.body[min(1, len(node.body) - 1)].lineno if ast.get_docstring(node) else node.lineno
        for node in nodes
    ]
    return [
        Function(path, node.name, begin, node.end_lineno or begin)
        for node, begin in zip(nodes, begins, strict=True)
    ]


def _cpp(path: Path, text: str) -> list[Function]:
    """The outermost ones: what stands in a function belongs to it. Lines of the preprocessor count, and hide no brace."""
    code = _HIDDEN.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    code = re.sub(
        r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda match: re.sub(r"[^\n]", " ", match.group()), code, flags=re.M
    )
    ends = [match.start() for match in re.finditer("\n", code)]
    found: list[Function] = []
    scopes: list[
        tuple[str, int, str]
    ] = []  # of each open brace: what it is, the line of its head, the name there
    head = 0  # where the text since the last brace or semicolon starts
    parentheses = 0
    for match in re.finditer(r"[{}();]", code):
        token, place = match.group(), match.start()
        parentheses += (token == "(") - (token == ")")
        kind = ""
        if token == "{":
            words = code[head:place]
            name = _NAME.search(words)
            if any(scope == "function" for scope, _, _ in scopes) or parentheses != 0:
                kind = "inner"
            elif _INITIALISER.search(words):
                kind = "initialiser"
            elif name is not None and not _SCOPE.search(words):
                kind = "function"
            start = head + len(words) - len(words.lstrip())
            scopes.append((kind, bisect_left(ends, start) + 1, name.group(1) if name else ""))
        elif token == "}":
            kind, first, title = scopes.pop()
            if kind == "function":
                found.append(Function(path, title, first, bisect_left(ends, place) + 1))
        if token in "{};" and parentheses == 0 and kind != "initialiser":
            head = place + 1
    assert not scopes, f"{path}: braces do not match"
    return found


def sources(*roots: str) -> list[Path]:
    suffixes = {".cpp", ".hpp", ".cu", ".cuh", ".py"}
    return [path for root in roots for path in sorted((ROOT / root).rglob("*")) if path.suffix in suffixes]


def test_functions_are_short() -> None:
    long = [
        f"{function.path.relative_to(ROOT)}:{function.first} {function.name}: {function.lines} lines"
        for path in sources("csrc", "src")
        for function in functions_of(path)
        if function.lines > LONGEST and not function.is_explained()
    ]
    assert not long, "\n".join(["split them, or say in a comment `long because ...`:", *long])


BODY = "  int x = 0;\n" * 78
LONG = {
    "plain": f"int f(int a) {{\n{BODY}  return 1;\n}}\n",
    "member": f"namespace n {{\nclass C : public D {{\n  int f() const {{\n{BODY}  return 1;\n  }}\n}};\n}}\n",
    "constructor": f"C::C(int a) : b_{{a}}, c_(a) {{\n{BODY}  run();\n}}\n",
    "template": f"template <class T>\n__global__ void f(T a) {{\n{BODY}\n}}\n",
    "braces that are none": f"void f() {{\n  char c = '{{';  // {{\n{BODY}}}\n",
}


@pytest.mark.parametrize("name", LONG)
def test_the_counter_finds_long_functions(tmp_path: Path, name: str) -> None:
    path = tmp_path / "f.cpp"
    path.write_text(LONG[name])
    (function,) = functions_of(path)
    assert function.lines > LONGEST
    assert not function.is_explained()
    path.write_text(LONG[name].replace("  int x", "  // Long because it is a test.\n  int x", 1))
    (function,) = functions_of(path)
    assert function.is_explained()
