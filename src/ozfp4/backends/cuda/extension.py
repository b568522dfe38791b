"""The CUDA extension and which of its multiply kernels serves a product on a device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from typing import Any

from ...plans.plan import Plan
from ...request.library import torch_module


@lru_cache(maxsize=1)
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


def extension_error() -> str:
    """Why there is no extension; "" if there is."""
    return _load()[1]


def why_unavailable(device: Any) -> str | None:
    """None if this build has kernels for a CUDA device; else one sentence that says what it lacks and how to get it."""
    torch = torch_module()
    assert torch is not None
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
        # What torch runs on may be too old for the CUDA version of this build.
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


_forced: int | None = None


@contextmanager
def forced_kernel(name: str) -> Iterator[None]:
    """Products within run on the kernel of this name, for tests; ValueError if the extension has none such.

    The kernel's own errors come when a product is made: it may not run on the device or not take the plan's planes.
    """
    global _forced
    cuda = extension()
    names = () if cuda is None else cuda.kernels
    if name not in names:
        raise ValueError(f"kernel: {name!r} is none of {', '.join(names) or 'this build, which has none'}")
    before, _forced = _forced, names.index(name)
    try:
        yield
    finally:
        _forced = before


def forced_number() -> int | None:
    """The number of the kernel that forced_kernel chose."""
    return _forced


def is_forced() -> bool:
    """Whether forced_kernel is at work."""
    return _forced is not None


def elements(plan: Plan) -> tuple[str, ...]:
    """What the planes of a plan can be on a GPU, best first: E2M1 codes ("e2m1"), limbs ("s8") or residues ("u8")."""
    if plan.alphabet == "fp4":
        return ("e2m1", "s8") if plan.scheme in ("I", "II") else ("s8",)
    return ("u8",) if plan.scheme == "II" else ("s8",)
