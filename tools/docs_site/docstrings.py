"""Docstrings as the reference shows them. Examples outside a section for them become code, as Markdown has no doctests.
Options that a function takes by the name of their dictionary stand in its signature. Defaults are those of the signature,
where griffe takes the first of the values in braces, of many parameters at once too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import griffe

# Lines from a prompt to the next blank line, and where the section of examples begins, which griffe reads by itself.
EXAMPLE = re.compile(r"(?:^|(?<=\n\n))( *)(>>> .*?)(?=\n\s*\n|\Z)", re.DOTALL)
TAKES = re.compile(r"takes\((\w+)(.*)\)")
SECTION = re.compile(r"^Examples\n-+$", re.MULTILINE)


def fenced(text: str) -> str:
    """The docstring with its examples outside the section Examples as fenced blocks."""
    found = SECTION.search(text)
    end = found.start() if found else len(text)
    head = EXAMPLE.sub(lambda example: f"{example[1]}```pycon\n{example[0]}\n{example[1]}```", text[:end])
    return head + text[end:]


def functions(parent: griffe.Object) -> Iterator[griffe.Function]:
    """All functions and methods below it that are defined there."""
    for member in parent.members.values():
        if member.is_alias:
            continue
        if isinstance(member, griffe.Function):
            yield member
        elif isinstance(member, griffe.Object):
            yield from functions(member)


def name_options(function: griffe.Function, options: griffe.Module) -> None:
    """Replace ``**options`` in the signature by the options of ``@takes(Dictionary, "name", ...)``, unless the docstring
    names them so, too."""
    if function.docstring and "**options\n" in function.docstring.value:
        return
    for decorator in function.decorators:
        taken = TAKES.fullmatch(str(decorator.value))
        if not taken:
            continue
        dictionary = function.module[taken[1]]
        if dictionary.is_alias:
            dictionary = dictionary.final_target
        bases = [base for base in reversed(dictionary.mro()) if base.is_class]
        names = [name for each in (*bases, dictionary) for name in each.members]
        parameters = function.parameters
        for name in [*names, *re.findall(r"\w+", taken[2])]:
            if name not in parameters:
                usual = options["Options"].members[name]
                default = "None" if name == "accuracy" else usual.value
                parameters.add(
                    griffe.Parameter(
                        name,
                        annotation=usual.annotation,
                        kind=griffe.ParameterKind("keyword-only"),
                        default=default,
                    )
                )
        del parameters["options"]


def take_defaults(function: griffe.Function) -> None:
    """Give the parameters of the docstring the defaults of the signature."""
    for section in function.docstring.parsed if function.docstring else []:
        if section.kind is griffe.DocstringSectionKind.parameters:
            for parameter in section.value:
                if parameter.name in function.parameters:
                    parameter.value = function.parameters[parameter.name].default


class Docstrings(griffe.Extension):
    """Rewrites every docstring once it is loaded."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        for function in functions(pkg):
            name_options(function, pkg["_options"])
            take_defaults(function)
