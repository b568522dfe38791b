"""Exponents and indices in plain text, as 2^53 and C_ij, raised and lowered."""

from __future__ import annotations

import re

# Parts without text of a page: code and tags.
VERBATIM = re.compile(r"(<pre.*?</pre>|<code.*?</code>|<math.*?</math>|<[^>]*>)", re.DOTALL)
GROUP = r"\((?:[^()]|\([^()]*\))*\)|\{[^{}]*\}"
EXPONENT = re.compile(rf"(?<=[\w)|\]])\^([-−+±]?)({GROUP}|\w+?(?:\.\d+)?(?:_\w{{1,3}})?(?!\w))")
# Indices of one letter, so that names of variables stay.
INDEX = re.compile(rf"((?<!\w)[^\W\d_]\u0303?|[)|\]])_({GROUP}|\w{{1,3}}(?!\w))")


def raised(found: re.Match[str]) -> str:
    sign, power = found[1].replace("-", "−"), found[2]
    return f"<sup>{sign}{power if sign else within(power)}</sup>"


def within(group: str) -> str:
    """Without the brackets around all of it."""
    return group[1:-1] if group[0] in "({" else group


def with_indices(page: str) -> str:
    """The HTML of a page with exponents and indices of plain text, as 2^53 and C_ij, raised and lowered.

    >>> with_indices("2^-(s_i + 1) C_ij 2^(c_a), Σ_{k≤n}")
    '2<sup>−(s<sub>i</sub> + 1)</sup> C<sub>ij</sub> 2<sup>c<sub>a</sub></sup>, Σ<sub>k≤n</sub>'
    """
    parts = VERBATIM.split(page)
    parts[::2] = [
        INDEX.sub(lambda found: f"{found[1]}<sub>{within(found[2])}</sub>", EXPONENT.sub(raised, part))
        for part in parts[::2]
    ]
    return "".join(parts)
