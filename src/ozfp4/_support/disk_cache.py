"""What this machine has found out about its kernels, kept between processes: small JSON files in the user's cache folder.

One file holds one finding under one key, so that processes never rewrite each other's: a file is written beside its place
and moved there at once. Nothing here raises: a folder that cannot be read or written, or a damaged file, means that
nothing is remembered. The logger ``ozfp4`` tells at its level INFO of a file that is there and is not taken.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .logger import LOGGER


def cache_folder() -> Path | None:
    """``OZFP4_CACHE_DIR``, else the folder ``ozfp4`` in the platform's cache folder; None where there is no such place."""
    own = os.environ.get("OZFP4_CACHE_DIR")
    if own:
        return Path(own)
    xdg = os.environ.get("XDG_CACHE_HOME")
    if xdg:
        return Path(xdg) / "ozfp4"
    try:
        if sys.platform == "win32":
            local = os.environ.get("LOCALAPPDATA")
            return (Path(local) if local else Path.home() / "AppData" / "Local") / "ozfp4" / "cache"
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "ozfp4"
        return Path.home() / ".cache" / "ozfp4"
    except RuntimeError:  # no home folder
        return None


def file_of(key: Mapping[str, str]) -> Path | None:
    """The file of the finding under a key; None without a cache folder."""
    folder = cache_folder()
    if folder is None:
        return None
    text = json.dumps(dict(key), sort_keys=True)
    return folder / f"{hashlib.blake2b(text.encode(), digest_size=12).hexdigest()}.json"


def load(key: Mapping[str, str]) -> dict[str, Any] | None:
    """What :func:`store` wrote under this key; None if there is nothing, or nothing that can be trusted."""
    file = file_of(key)
    if file is None:
        return None
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        # The key again: a file that was copied here, or that two keys share, says nothing about this one.
        if found["key"] == dict(key) and isinstance(found["value"], dict):
            value: dict[str, Any] = found["value"]
            return value
        why = "it holds nothing under this key"
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        why = f"{type(error).__name__}: {error}"
    LOGGER.info("%s is not taken: %s", file, why)
    return None


def store(key: Mapping[str, str], value: Mapping[str, Any]) -> bool:
    """Keep a finding. `value` must be plain JSON. Returns whether it could be kept."""
    file = file_of(key)
    if file is None:
        return False
    text = json.dumps({"key": dict(key), "value": dict(value)}, indent=1, sort_keys=True)
    beside = file.with_name(f".{file.stem}-{os.getpid()}-{os.urandom(4).hex()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, file)
        return True
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink()
        return False
