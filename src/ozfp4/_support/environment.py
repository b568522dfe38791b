"""Reads ``OZFP4_DEBUG`` and ``OZFP4_VERBOSE`` before all else: nonsense in one ends a command of the shell with one line."""

from __future__ import annotations

import sys
from pathlib import Path


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
    from . import debug, logger  # noqa: F401
except ValueError as error:
    if not is_command(getattr(sys, "argv", []), sys.orig_argv):
        raise
    print(f"ozfp4: {error}", file=sys.stderr)
    raise SystemExit(2) from None  # as for other bad input
