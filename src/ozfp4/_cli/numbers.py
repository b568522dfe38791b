"""Numbers as arguments of commands."""

from __future__ import annotations

import argparse


def positive(text: str) -> int:
    """An argparse type: an integer from 1 on."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return int(text)
