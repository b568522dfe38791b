"""The CUDA extension: whether it is there, and whether it has kernels for a device."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Any

from ..._request import library


def extension() -> Any | None:
    """The CUDA extension, or None in a build without it or where it cannot be loaded: see extension_error."""
    return _load()[0]


@lru_cache(maxsize=1)
def _load() -> tuple[Any | None, str]:
    try:
        return import_module("ozfp4._cuda"), ""
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "ozfp4._cuda":
            return None, (
                "this build of ozfp4 holds no CUDA kernels; install it where nvcc is, with "
                "pip install . -C cmake.define.OZFP4_CUDA=ON"
            )
        return None, f"the CUDA kernels of this build cannot be loaded: {error}"


def require_cuda() -> Any:
    """The CUDA extension; RuntimeError that says why there is none."""
    cuda = extension()
    if cuda is None:
        raise RuntimeError(extension_error())
    return cuda


def extension_error() -> str:
    """Why there is no extension; "" if there is."""
    return _load()[1]


def why_unavailable(device: Any) -> str | None:
    """None if this build has kernels for a CUDA device; else one sentence that says what it lacks and how to get it."""
    torch = library.require_torch()
    cuda = extension()
    if cuda is None:
        return extension_error()
    index = torch.device(device).index or 0
    try:
        complete = all(
            cuda.find_kernel(element, index, residues) is not None
            for element, residues in (("u8", True), ("s8", False))
        )
    except RuntimeError as error:
        # The driver may be too old for the CUDA version of this build.
        return f"the CUDA runtime of this build cannot use {torch.cuda.get_device_name(device)}: {error}"
    if not complete:
        capability = torch.cuda.get_device_capability(device)
        held = ", ".join(f"{major}.{minor}" for major, minor in cuda.compute_capabilities)
        return (
            f"{torch.cuda.get_device_name(device)} has compute capability {capability[0]}.{capability[1]}; this build "
            f"holds kernels for {held} only. Build with -C cmake.define.CMAKE_CUDA_ARCHITECTURES for other devices, or "
            f"move the tensors to the CPU yourself: they never move on their own"
        )
    return None
