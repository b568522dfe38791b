"""Numbers of bytes as people write them: 4096, 512M, 2G."""

from __future__ import annotations

import argparse
import re

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def bytes_of(text: str) -> int:
    """``"512M"`` -> 536870912; an argparse type.

    Parameters
    ----------
    text : str
        Digits, optionally with a fraction, and K, M, G or T (powers of 1024), optionally followed by B or iB.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:I?B)?", text.strip().upper())
    size = float(match[1]) * _UNITS[match[2]] if match else 0.0
    if not 1 <= size < 2**62:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 4096, 512M or 2G")
    return int(size)
