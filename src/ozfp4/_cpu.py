"""The CPU device: connects the core to SciPy's BLAS on first use."""

from __future__ import annotations

import platform
from functools import lru_cache
from pathlib import Path

from . import _core

KERNELS = {"fp4": "SGEMM on decoded limbs", "int8": "SGEMM on balanced residues", "fp64": "DGEMM on residues"}
DEFAULT_WORKSPACE = 2**30


def ensure_blas() -> None:
    """Hand SciPy's dgemm and sgemm to the core, on first use: importing them takes a tenth of a second."""
    if not _core.have_blas():
        from scipy.linalg import cython_blas

        functions = cython_blas.__pyx_capi__
        _core.set_blas(functions["dgemm"], functions["sgemm"])


@lru_cache(maxsize=1)
def model() -> str:
    """The processor's name."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return model


@lru_cache(maxsize=1)
def name() -> str:
    """The processor's name and the number of threads, e.g. ``cpu (AMD EPYC, 2 threads)``."""
    return f"cpu ({model()}, {_core.thread_count()} threads)"
