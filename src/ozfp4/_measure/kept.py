"""The file in which ``ozfp4 calibrate`` keeps what it measured, for Python, C and ``ozfp4 exec`` (csrc/product/measured.hpp)."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from .. import _core
from .._api.settings import read_environment

NEVER = "never"


def keep(device: str, figures: Mapping[str, int | None]) -> bool:
    """Write figures of a device, None for "never", and replace those of the same names. Returns whether that could be done."""
    path = _core.measured_file()
    if not path:
        return False
    replaced = [[device, name] for name in figures]
    lines = [f"{device}\t{name}\t{NEVER if x is None else x}" for name, x in figures.items()]
    try:
        file = Path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        with _alone_in(file.parent):
            others = [line for line in _lines() if line.split("\t")[:2] not in replaced]
            write(file, "".join(f"{line}\n" for line in [*others, *lines]))
    except OSError:
        return False
    read_environment()
    return True


def kept_lines() -> list[str]:
    """The lines of the file; none where there is none that can be read."""
    try:
        return _lines()
    except OSError:
        return []


def _lines() -> list[str]:
    """As :func:`kept_lines`. OSError for a file that cannot be read: it must not be replaced."""
    try:
        return Path(_core.measured_file()).read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """While other processes that keep figures there wait, where the file system has locks."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def write(file: Path, text: str) -> None:
    """Write a file, replacing what is there only when all of it is written."""
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    beside.write_text(text, encoding="utf-8")
    os.replace(beside, file)
