"""``ozfp4.info``: what this installation can run, and why not the rest."""

from __future__ import annotations

import platform
from dataclasses import dataclass

import numpy as np

from . import _core, _cpu, _device
from ._backend import Backend
from .plans import ALPHABETS
from .version import __version__


@dataclass(frozen=True)
class Info:
    """Devices, backends, build and versions; prints as a table."""

    version: str
    python: str
    numpy: str
    scipy: str
    threads: int
    backends: tuple[Backend, ...]

    def __str__(self) -> str:
        lines = [
            f"ozfp4 {self.version}, Python {self.python}, NumPy {self.numpy}, SciPy {self.scipy}, "
            f"{self.threads} threads",
            f"{'device':<40} {'backend':<8} {'available':<10} detail",
        ]
        lines += [
            f"{b.device:<40} {b.name:<8} {'yes' if b.available else 'no':<10} {b.detail}"
            for b in self.backends
        ]
        return "\n".join(lines)


def info() -> Info:
    """What this installation can run: devices, backends and why each is or is not there, versions."""
    import scipy

    cpu = tuple(Backend(_cpu.name(), name, True, _cpu.KERNELS[name]) for name in ALPHABETS)
    return Info(
        __version__,
        platform.python_version(),
        np.__version__,
        scipy.__version__,
        _core.thread_count(),
        (*cpu, *_device.backends()),
    )
