"""Where and when something was measured: every file of results begins with this."""

from __future__ import annotations

import platform
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from .._backends.cuda import extension
from .._backends.kernels import device_name
from .._request.library import require_torch, torch_module
from .._support.version import __version__


def commit() -> str | None:
    """Commit of the source tree that the package runs from, "-dirty" with changes.

    In a tree that ``git archive`` has exported, and in a package installed from one, the commit that it was exported at; None
    for other installed packages.
    """
    folder = Path(__file__).parent
    exported = (folder / "archival.txt").read_text().strip()  # git archive writes the commit there
    if not exported.startswith("$"):
        return exported
    if "site-packages" in folder.parts:
        return None
    return output("git", "-C", str(folder), "describe", "--always", "--dirty", "--exclude=*") or None


def output(*command: str) -> str:
    """The output of a program; nothing where it fails or is not there."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def have_torch() -> bool:
    """Whether torch is installed; does not import it."""
    return find_spec("torch") is not None


def have_cuda() -> bool:
    """Whether torch is installed and sees a CUDA device; imports torch, which takes a second or two."""
    if not have_torch():
        return False
    import torch

    return bool(torch.cuda.is_available())


def gpus() -> list[int]:
    """The numbers of the CUDA devices that products run on; imports torch where it is installed and this build has kernels."""
    if extension.extension() is None or not have_cuda():
        return []
    import torch

    count = torch.cuda.device_count()
    return [i for i in range(count) if extension.why_unavailable(torch.device("cuda", i)) is None]


def describe(device: str) -> dict[str, Any]:
    """Device ("cpu" or "cuda"), driver, versions, commit and date, plain values for a JSON file; what is missing is left out."""
    torch = require_torch() if device == "cuda" else torch_module()
    about = {
        "device": device_name("cpu"),
        "date": time.strftime("%Y-%m-%d"),
        "ozfp4": __version__,
        "commit": commit(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "torch": None if torch is None else str(torch.__version__),
    }
    if device == "cuda":
        query = ("--query-gpu=driver_version,power.limit", "--format=csv,noheader", "-i", "0")
        about |= {"device": torch.cuda.get_device_name(0), "cuda": torch.version.cuda}
        about["driver"] = output("nvidia-smi", *query) or None
    return {name: value for name, value in about.items() if value is not None}


def sentence(about: dict[str, Any]) -> str:
    """The description in one line, for tables and captions."""
    parts = [str(about["device"])]
    parts += [f"{name} {about[name]}" for name in ("driver", "cuda", "torch", "numpy") if about.get(name)]
    parts += [f"commit {about.get('commit', 'unknown')}"]
    return ", ".join([*parts, str(about["date"])])
