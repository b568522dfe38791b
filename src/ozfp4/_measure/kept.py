"""The file in which ``ozfp4 calibrate`` keeps what it measured, for Python, C and ``ozfp4 exec`` (csrc/product/measured.hpp)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from .. import _core
from .._api.read_environment import read_environment

NEVER = "never"


def keep(device: str, figures: Mapping[str, int | None]) -> bool:
    """Write figures of a device, None for "never", in place of those of the same names. Returns whether that could be done."""
    path = _core.measured_file()
    if not path:
        return False
    replaced = [[device, name] for name in figures]
    try:
        others = [line for line in _lines(path) if line.split("\t")[:2] not in replaced]
        lines = [f"{device}\t{name}\t{NEVER if x is None else x}" for name, x in figures.items()]
        beside = Path(f"{path}-{os.getpid()}")
        beside.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text("".join(f"{line}\n" for line in [*others, *lines]), encoding="utf-8")
        os.replace(beside, path)
    except OSError:
        return False
    read_environment()
    return True


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
