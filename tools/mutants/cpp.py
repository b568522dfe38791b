"""Mutations of C++ in the project's format, found in the text: binary operators stand between spaces, pointers do not.

Only what runs on the host is mutated: bodies of functions, in them nothing of static_assert, constexpr, template or throw, and
nothing that only nvcc reads. Where the guess is wrong the compiler fails, and the mutant is replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, pairwise

from mutants.mutation import SWITCH, Mutation, one_line

COMMENT = "\1"
BLANKED = re.compile(
    r"//[^\n]*|/\*.*?\*/"  # comments
    r"|\"(?:\\.|[^\"\\\n])*\"|(?<!\w)'(?:\\.|[^'\\\n])+'"  # literals
    r"|^#if defined\(__CUDA(?:CC|_ARCH)__\).*?^#(?:else|endif)|^ *#(?:\\\n|[^\n])*",  # preprocessor, nvcc's alone
    re.S | re.M,
)
OPERATOR = re.compile(r"(?<=\s)(\+|-|\*|/|%|<<|>>|<=|>=|<|>|==|!=|&&|\|\||&|\||\^)(?=\s)")
ASSIGNMENT = re.compile(r"(?<=\s)(\+|-|\*|/|%|&|\||\^|<<|>>)=(?=\s)")
NUMBER = re.compile(r"(?<![\w.<'])(0[xX][0-9a-fA-F']+|0[bB][01']+|\d[\d']*(?:\.\d+)?)([uUlL]*)(?=[^\w.>'])")
CALL = re.compile(r"(?<![\w.>:])([\w:]+(?:(?:\.|->)\w+)*(?:<[\w:, ]+>)?)\(")
DECLARED = re.compile(r"(?<!return)(?<!else)\b[\w:]+[>*&]*\s+[*&]*$")  # before a name: its type
SWAPS = {
    "+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "<<": ">>", ">>": "<<", "&": "|", "|": "&", "^": "|",
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&",
}  # fmt: skip
OPPOSITES = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
NO_RUN_TIME = re.compile(r"\b(constexpr|static_assert|throw|template|using|case|typedef|enum|asm)\b")
FUNCTION = re.compile(r"(\)[\w\s:<>*&,.(){}\->]*|\b(else|do|try)\s*)$")  # what stands before its body
EXPRESSION = re.compile(
    r"(\+\+|--|\*)?[\w:]+(->|\.|\[|\(|\+\+|--| [-+*/%&|^<>]*= |<[\w:, ]+>\()|(continue|break)\b"
)


def integer(text: str) -> int:
    """As C++ reads it: in Python 0666 is none."""
    digits = text.replace("'", "")
    return int(digits, 8 if re.fullmatch("0[0-7]+", digits) else 0)


def masked(text: str) -> str:
    """The text with nothing in comments, literals and preprocessor lines, at the same offsets."""

    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", '"' if match[0][0] in "\"'" else COMMENT, match[0])

    return BLANKED.sub(blank, text)


def runs(code: str) -> list[bool]:
    """For each offset whether it is inside the body of a function."""
    inside, stack, head = [], [False], 0
    for at, c in enumerate(code):
        inside.append(stack[-1])
        if c == "{":
            stack.append(stack[-1] or bool(FUNCTION.search(code[head:at].replace(COMMENT, "").rstrip())))
        elif c == "}" and len(stack) > 1:
            stack.pop()
        if c in "{};":
            head = at + 1
    return inside


def edge(code: str, at: int, step: int, ends: str) -> int:
    """The end of an expression from `at` on: an unmatched bracket, ; : or one of `ends`; the offset inside it."""
    opening, closing = ("([{", ")]}") if step > 0 else (")]}", "([{")
    depth = 0
    while 0 <= at < len(code):
        c, around = code[at], (code[at - 1], code[at + 1 : at + 2])
        if depth == 0:
            if c in closing or c in ";{}" or (c == ":" and c not in around):
                break
            is_comparison = c == "=" and (around[0] in "=!<>" or around[1] == "=")
            if c in ends and not is_comparison and (c not in "&|" or c in around):
                break
        depth += (c in opening) - (c in closing)
        at += step
    return at + (step < 0)


def segment(code: str, start: int, end: int, ends: str) -> tuple[int, int]:
    """The smallest whole expression around code[start:end] that ends at one of `ends` or a bracket."""
    left, right = edge(code, start - 1, -1, ends), edge(code, end, 1, ends)
    returned = re.match(r"\s*return\b", code[left:right])
    left += returned.end() if returned else 0
    return right - len(code[left:right].lstrip()), left + len(code[left:right].rstrip())


def statement(code: str, at: int) -> tuple[int, int, bool]:
    """The simple statement around `at`, what stands behind if (...), for (...), else, and whether one of these is before it."""
    start = max(code.rfind(c, 0, at) for c in ";{}") + 1
    controlled = False
    while True:
        start += len(code[start:]) - len(code[start:].lstrip(" \n" + COMMENT))
        control = re.match(r"(if|for|while)\s*\(|else\b", code[start:])
        if not control:
            break
        controlled = True
        start += control.end()
        if control[0] != "else":
            start = edge(code, start, 1, "")
            while code[start] != ")":  # the ; of for (...)
                start = edge(code, start + 1, 1, "")
            start += 1
    return start, edge(code, start, 1, "") + 1, controlled


class Scan:
    """The possible mutations of one file, kind by kind."""

    def __init__(self, text: str) -> None:
        self.text, self.code = text, masked(text)
        self.inside = runs(self.code)

    def all(self) -> Iterator[Mutation]:
        kinds = (self.operators, self.assignments, self.constants, self.conditions, self.calls, self.returns)
        return chain(*(kind() for kind in kinds), self.statements())

    def runs_at(self, start: int, end: int) -> bool:
        before = max(self.code.rfind(c, 0, start) for c in ";{}") + 1
        return self.inside[start] and not NO_RUN_TIME.search(self.code, before, end)

    def choice(self, kind: str, start: int, end: int, new: str, note: str = "") -> Iterator[Mutation]:
        """The expression text[start:end] or `new` in its place."""
        if start < end and self.runs_at(start, end) and not set(self.code[start:end]) & {COMMENT, ";", "{"}:
            old = self.text[start:end]
            change = f"{one_line(old)}  ->  {one_line(new)}{note}"
            yield Mutation(kind, start, end, f"({SWITCH} ? ({one_line(new)}) : ({old}))", change)

    def operators(self) -> Iterator[Mutation]:
        for match in OPERATOR.finditer(self.code):
            ends = ",=?" if match[1] in ("&&", "||") else ",=?&|"
            left, right = segment(self.code, match.start(), match.end(), ends)
            for new in [SWAPS[match[1]], *([OPPOSITES[match[1]]] if match[1] in OPPOSITES else [])]:
                changed = self.text[left : match.start()] + new + self.text[match.end() : right]
                yield from self.choice("operator", left, right, changed)

    def assignments(self) -> Iterator[Mutation]:
        for match in ASSIGNMENT.finditer(self.code):
            start, end, _ = statement(self.code, match.start())
            is_whole = start < match.start() < end and not set(self.code[start:end]) & {COMMENT, "{"}
            if is_whole and self.runs_at(start, end):
                old = self.text[start:end]
                new = self.text[start : match.start()] + SWAPS[match[1]] + self.text[match.end(1) : end]
                template = f"{{ if ({SWITCH}) {{ {one_line(new)} }} else {{ {old} }} }}"
                yield Mutation("operator", start, end, template, f"{one_line(old)}  ->  {one_line(new)}")

    def constants(self) -> Iterator[Mutation]:
        for match in NUMBER.finditer(self.code):
            line = one_line(self.text[self.text.rfind("\n", 0, match.end()) + 1 :].partition("\n")[0])
            value = match[1]
            number = None if "." in value else integer(value)
            news = [] if number is None else [str(number + step) for step in (1, -1) if number + step >= 0]
            for new in news or [value + "5", "0.0"]:
                yield from self.choice("constant", *match.span(), new + match[2], f"  in: {line}")
        for match in re.finditer(r"\b(true|false)\b", self.code):
            yield from self.choice("constant", *match.span(), "false" if match[1] == "true" else "true")

    def conditions(self) -> Iterator[Mutation]:
        for match in re.finditer(r"\b(if|while) \(", self.code):
            end = edge(self.code, match.end(), 1, "")
            condition = self.text[match.end() : end]
            if not re.search(r"[^=!<>]=[^=]", condition):
                for new in (f"!({condition})", "false", "true")[: 3 if match[1] == "if" else 2]:
                    yield from self.choice("condition", match.end(), end, new)

    def calls(self) -> Iterator[Mutation]:
        for match in CALL.finditer(self.code):
            is_declared = DECLARED.search(self.code, max(0, match.start() - 40), match.start())
            if is_declared or match[1] in ("if", "for", "while", "switch", "return", "sizeof", "decltype"):
                continue
            cuts = [match.end() - 1]
            while self.code[cuts[-1]] != ")" and self.code[cuts[-1]] != ";":
                cuts.append(edge(self.code, cuts[-1] + 1, 1, ","))
            end = cuts[-1] + 1
            old = self.text[match.start() : end]
            for a, b in (("std::min", "std::max"), ("std::max", "std::min")):
                if match[1].startswith(a):
                    yield from self.choice("min/max", match.start(), end, old.replace(a, b, 1))
            given = [self.text[a + 1 : b].strip() for a, b in pairwise(cuts)]
            is_list = {self.code[cut] for cut in cuts[1:]} <= {",", ")"}  # no ?: between them
            if not is_list or match[1].startswith(("std::min", "std::max")):
                continue
            for i in range(len(given) - 1):
                swapped = [*given[:i], given[i + 1], given[i], *given[i + 2 :]]
                if swapped != given:
                    new = f"{self.text[match.start() : match.end()]}{', '.join(swapped)})"
                    yield from self.choice("arguments", match.start(), end, new)

    def returns(self) -> Iterator[Mutation]:
        for match in re.finditer(r"\breturn ", self.code):
            end = edge(self.code, match.end(), 1, "")
            new = f"std::decay_t<decltype({self.text[match.end() : end]})>{{}}"
            yield from self.choice("return", match.end(), end, new)

    def statements(self) -> Iterator[Mutation]:
        for match in re.finditer(r"(?<=[;{})\n])\s*(?=[\w+*-])", self.code):
            start, end, controlled = statement(self.code, match.end())
            body = self.code[start:end]
            is_expression = EXPRESSION.match(body) and not body.startswith("return")
            is_exit = controlled and re.match(r"(return|throw)\b", body)
            if start != match.end() or not self.runs_at(start, start + 1) or not body.endswith(";"):
                continue
            if is_expression or is_exit:
                dropped = self.text[start:end]
                template = f"{{ if (!({SWITCH})) {{ {dropped} }} }}"
                yield Mutation("statement", start, end, template, f"dropped: {one_line(dropped)}")


def candidates(text: str) -> Iterator[Mutation]:
    return Scan(text).all()
