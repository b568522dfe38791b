"""The logger ``ozfp4``, which has a line of every product at its level DEBUG, and ``OZFP4_VERBOSE``, which shows it.

The variable is read once, when the package is imported.
"""

from __future__ import annotations

import logging
import os

LOGGER = logging.getLogger("ozfp4")


def read(value: str | None) -> bool:
    """What ``OZFP4_VERBOSE`` says; ValueError unless it is 1, 0 or nothing.

    >>> read("1"), read("0"), read(None)
    (True, False, False)
    """
    text = (value or "0").strip()
    if text not in ("0", "1", ""):
        raise ValueError(f"OZFP4_VERBOSE: {value!r} is unknown; allowed are '0', '1'")
    return text == "1"


def show() -> None:
    """Write the lines to stderr."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("ozfp4: %(message)s"))
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.DEBUG)
    LOGGER.propagate = False  # else handlers of the root logger would show them again


if read(os.environ.get("OZFP4_VERBOSE")):
    show()
