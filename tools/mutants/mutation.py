"""One change of one place, and how a source text takes it instead of the old text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SWITCH = "\0"  # stands in a template for the condition that picks the mutant


@dataclass(frozen=True)
class Mutation:
    """text[start:end] becomes `template`, which holds the mutated and the original text with SWITCH between them."""

    kind: str
    start: int
    end: int
    template: str
    change: str


def one_line(text: str) -> str:
    return " ".join(text.split())


def apply(text: str, mutations: Sequence[tuple[Mutation, str]]) -> str:
    """The text with every mutation, each under its switch. No line is added: a compiler's messages lead back to it."""
    for mutation, switch in sorted(mutations, key=lambda pair: pair[0].start, reverse=True):
        text = text[: mutation.start] + mutation.template.replace(SWITCH, switch) + text[mutation.end :]
    return text
