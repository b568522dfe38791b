"""Where the program is that called this package."""

from __future__ import annotations

import sys


def stack_level() -> int:
    """For warnings.warn in the caller: the first frame outside of this package."""
    frame, level = sys._getframe(1), 1
    package = __name__.partition(".")[0]
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    return level
