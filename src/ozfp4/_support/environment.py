"""``OZFP4_DEBUG``, ``OZFP4_VERBOSE`` and the logger ``ozfp4``, which has a line of every product at its level DEBUG.

The variables are read once, when the package is imported, before all else: nonsense in one ends a command of the shell with one
line.
"""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

LOGGER = logging.getLogger("ozfp4")


def is_sync(value: str | None) -> bool:
    """Whether ``OZFP4_DEBUG`` holds "sync", its only word: after every stage of a product on a GPU wait for the device, and raise
    if a launch failed, naming the stage. ValueError for other words."""
    words = {word.strip() for word in (value or "").split(",")}
    for word in sorted(words - {"", "sync"}):
        raise ValueError(f"OZFP4_DEBUG: {word!r} is unknown; allowed is 'sync'")
    return "sync" in words


def is_verbose(value: str | None) -> bool:
    """Whether ``OZFP4_VERBOSE`` is 1; ValueError unless it is 1, 0 or nothing.

    >>> is_verbose("1"), is_verbose("0"), is_verbose(None)
    (True, False, False)
    """
    text = (value or "0").strip()
    if text not in ("0", "1", ""):
        raise ValueError(f"OZFP4_VERBOSE: {value!r} is unknown; allowed are '0', '1'")
    return text == "1"


def is_command(arguments: list[str], original: list[str]) -> bool:
    """Whether a process is ``ozfp4`` or ``python -m ozfp4``, by its sys.argv and sys.orig_argv while this package is imported.

    >>> is_command(["/usr/bin/ozfp4", "info"], ["/usr/bin/python", "/usr/bin/ozfp4", "info"])
    True
    >>> is_command(["-m", "info"], ["python", "-m", "ozfp4", "info"])
    True
    >>> is_command(["-m", "ozfp4"], ["python", "-m", "pytest", "ozfp4"])
    False
    """
    if arguments[:1] == ["-m"]:
        return original[-len(arguments)].removeprefix("-m") == "ozfp4"
    return bool(arguments) and Path(arguments[0]).name == "ozfp4"


try:
    SYNC_STAGES = is_sync(os.environ.get("OZFP4_DEBUG"))
    if is_verbose(os.environ.get("OZFP4_VERBOSE")):
        _handler = logging.StreamHandler()
        _handler.setFormatter(logging.Formatter("ozfp4: %(message)s"))
        LOGGER.addHandler(_handler)
        LOGGER.setLevel(logging.DEBUG)
        LOGGER.propagate = False  # else handlers of the root logger would show the lines again
except ValueError as error:
    if not is_command(getattr(sys, "argv", []), sys.orig_argv):
        raise
    print(f"ozfp4: {error}", file=sys.stderr)
    raise SystemExit(2) from None  # as for other bad input
