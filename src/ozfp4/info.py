"""``ozfp4.info``: what this installation can run, and why not the rest."""

from __future__ import annotations

import platform
from dataclasses import dataclass

import numpy as np

from . import _core, _cpu, _device, _guard, _kernels
from ._backend import Backend
from ._columns import columns
from .plans import ALPHABETS
from .selftest import pairs
from .version import __version__


@dataclass(frozen=True)
class Kernel:
    """One (device, kernel) pair: the entries that it multiplies, and what its self-test found."""

    device: str
    name: str
    element: str
    verdict: str


@dataclass(frozen=True)
class Info:
    """Devices, backends, kernels with the verdicts of their self-tests, build and versions; prints as a table."""

    version: str
    python: str
    numpy: str
    scipy: str
    threads: int
    backends: tuple[Backend, ...]
    kernels: tuple[Kernel, ...]

    def __str__(self) -> str:
        lines = [
            f"ozfp4 {self.version}, Python {self.python}, NumPy {self.numpy}, SciPy {self.scipy}, "
            f"{self.threads} threads",
        ]
        lines += columns(
            [
                ("device", "backend", "available", "detail"),
                *((b.device, b.name, "yes" if b.available else "no", b.detail) for b in self.backends),
            ]
        )
        lines += [""]
        lines += columns(
            [
                ("device", "kernel", "element", "self-test"),
                *((k.device, k.name, k.element, k.verdict) for k in self.kernels),
            ]
        )
        return "\n".join(lines)


def _cpu_backend(name: str) -> Backend:
    verdict = _guard.look_up(_kernels.cpu_pair(name))
    failed = verdict is not None and not verdict.passed
    detail = verdict.text if verdict is not None and failed else _cpu.KERNELS[name]
    return Backend(_cpu.name(), name, not failed, detail)


def _kernel(pair: _kernels.Pair) -> Kernel:
    verdict = _guard.look_up(pair)
    text = "not tested yet: the first product does" if verdict is None else verdict.text
    return Kernel(_kernels.device_name(pair.device), pair.kernel, pair.element, text)


def info() -> Info:
    """What this installation can run: devices, backends and why each is or is not there, kernels and what their self-tests
    found so far, versions. Tests nothing itself."""
    import scipy

    return Info(
        __version__,
        platform.python_version(),
        np.__version__,
        scipy.__version__,
        _core.thread_count(),
        (*map(_cpu_backend, ALPHABETS), *_device.backends()),
        tuple(_kernel(pair) for pair in pairs()),
    )
