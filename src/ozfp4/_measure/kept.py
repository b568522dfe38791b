"""The file in which ``ozfp4 calibrate`` keeps what it measured, for Python, C and ``ozfp4 exec`` (csrc/product/measured.hpp)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from .. import _core
from .._api.settings import read_environment

NEVER = "never"


def keep(device: str, figures: Mapping[str, int | None]) -> bool:
    """Write figures of a device, None for "never", in place of those of the same names. Returns whether that could be done."""
    path = _core.measured_file()
    if not path:
        return False
    replaced = [[device, name] for name in figures]
    lines = [f"{device}\t{name}\t{NEVER if x is None else x}" for name, x in figures.items()]
    try:
        file = Path(path)
        held = file.read_text(encoding="utf-8", errors="replace").splitlines() if file.exists() else []
        file.parent.mkdir(parents=True, exist_ok=True)
        others = [line for line in held if line.split("\t")[:2] not in replaced]
        write(file, "".join(f"{line}\n" for line in [*others, *lines]))
    except OSError:
        return False
    read_environment()
    return True


def write(file: Path, text: str) -> None:
    """Write a file, replacing what is there only when all of it is written."""
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    beside.write_text(text, encoding="utf-8")
    os.replace(beside, file)
