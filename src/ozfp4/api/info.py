"""``ozfp4.info``: what this installation can run, and why not the rest."""

from __future__ import annotations

import platform
from dataclasses import dataclass

import numpy as np

from .. import _core
from ..backends import cpu
from ..backends.backend import Backend
from ..backends.cuda import launch
from ..plans.plan import ALPHABETS
from ..support.text_table import columns
from ..support.version import __version__
from ..trust import guard, plane_products
from .selftest import pairs


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
    verdict = guard.look_up(plane_products.cpu_pair(name))
    failed = verdict is not None and not verdict.passed
    detail = verdict.text if verdict is not None and failed else cpu.KERNELS[name]
    return Backend(cpu.name(), name, not failed, detail)


def _kernel(pair: plane_products.Pair) -> Kernel:
    verdict = guard.look_up(pair)
    text = "not tested yet: the first product does" if verdict is None else verdict.text
    return Kernel(plane_products.device_name(pair.device), pair.kernel, pair.element, text)


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
        (*map(_cpu_backend, ALPHABETS), *launch.backends()),
        tuple(_kernel(pair) for pair in pairs()),
    )
