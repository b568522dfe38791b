"""The CPU device: connects the core to SciPy's BLAS on first use."""

from __future__ import annotations

import contextlib
import platform
from functools import lru_cache

from .. import _core

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
    return cpuinfo("model name") or platform.processor() or platform.machine()


def cpuinfo(*names: str) -> str:
    """What Linux says about the first CPU under one of these names, "" elsewhere."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
        for line in lines:  # no further than needed: each CPU's lines take time
            if line.startswith(names):
                return line.partition(":")[2].strip()
    return ""


@lru_cache(maxsize=1)
def name() -> str:
    """The processor's name and the number of threads, e.g. ``cpu (AMD EPYC, 2 threads)``."""
    return f"cpu ({model()}, {_core.thread_count()} threads)"
