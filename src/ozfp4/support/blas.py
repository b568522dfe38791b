"""The BLAS that the core multiplies planes by, connected on first use."""

from __future__ import annotations

from functools import lru_cache

from .. import _core


def ensure_asked_blas() -> bool:
    """Hand over those of the library that OZFP4_BLAS names, if it names one and nothing was handed over before; whether the core
    has a BLAS now. ValueError as :func:`ensure_blas`."""
    return _core.set_asked_blas()


@lru_cache(maxsize=1)
def ensure_blas() -> None:
    """Hand dgemm and sgemm to the core, on first use: of the library that OZFP4_BLAS names, or SciPy's, whose import takes a
    tenth of a second. ValueError where that library does not serve."""
    if not ensure_asked_blas():
        from scipy.linalg import cython_blas

        functions = cython_blas.__pyx_capi__
        _core.set_blas(functions["dgemm"], functions["sgemm"])
