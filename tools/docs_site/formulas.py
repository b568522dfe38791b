"""Formulas in TeX, as pymdownx.arithmatex marks them, become MathML when the site is built: nothing is fetched to read them."""

from __future__ import annotations

import html
import re

from latex2mathml.converter import convert

INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
DISPLAY = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)
# The output of latex2mathml for a command that it does not have.
UNKNOWN = re.compile(r"<m(?:i|o|text)>(\\[A-Za-z]+)</m(?:i|o|text)>")
# Names of functions, which latex2mathml does not set apart from their neighbours, and a bracket that follows.
NAME = re.compile(r"<mi>([a-z]{2,})</mi>(<mo[^>]*>&#x00028;)?")
# Sizes of delimiters that browsers choose by themselves.
SIZES = re.compile(r"\\(?:big|Big|bigg|Bigg)[lrm]?(?![A-Za-z])")


def mathml(tex: str, display: str) -> str:
    """The formula as MathML; ValueError names what of it is not understood."""
    made = str(convert(SIZES.sub("", tex), display=display))
    if unknown := UNKNOWN.search(made):
        raise ValueError(f"{unknown[1]} in the formula {tex}")
    return NAME.sub(
        lambda found: (
            f'<mo lspace="0.17em" rspace="{"0" if found[2] else "0.17em"}">{found[1]}</mo>{found[2] or ""}'
        ),
        made,
    )


def with_mathml(page: str, name: str) -> str:
    """The HTML of the page `name` with its formulas as MathML; a formula that is not understood ends the build."""
    try:
        page = INLINE.sub(lambda found: mathml(html.unescape(found[1]), "inline"), page)
        return DISPLAY.sub(
            lambda found: f'<div class="formula">{mathml(html.unescape(found[1]), "block")}</div>', page
        )
    except ValueError as error:
        raise SystemExit(f"{name}: {error}") from None
