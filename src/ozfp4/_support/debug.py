"""``OZFP4_DEBUG``: what this process does slowly to find a wrong bit. Read once, when the package is imported."""

from __future__ import annotations

import os

ALLOWED = ("sync",)


def read(value: str | None) -> frozenset[str]:
    """The words of ``OZFP4_DEBUG``, separated by commas; ValueError for an unknown one.

    "sync": after every stage of a product on a GPU wait for the device, and raise if a launch failed, naming the stage.

    >>> sorted(read("sync"))
    ['sync']
    >>> read(None)
    frozenset()
    """
    words = frozenset(word.strip() for word in (value or "").split(",") if word.strip())
    for word in sorted(words):
        if word not in ALLOWED:
            raise ValueError(f"OZFP4_DEBUG: {word!r} is unknown; allowed is {', '.join(map(repr, ALLOWED))}")
    return words


SYNC_STAGES = "sync" in read(os.environ.get("OZFP4_DEBUG"))
