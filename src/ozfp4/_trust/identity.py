"""The things that a finding about a device depends on: the processor, or the GPU and its driver, and this very build."""

from __future__ import annotations

from functools import lru_cache

from .. import _core
from .._backends.cuda import extension


@lru_cache(maxsize=1)
def cpu_identity() -> dict[str, str]:
    """The key of findings about the CPU."""
    return _core.cpu_facts()


@lru_cache(maxsize=64)
def gpu_identity(index: int) -> dict[str, str]:
    """The key of findings about a CUDA device. Needs the extension; waits for nothing."""
    facts: dict[str, str] = extension.require_cuda().device_facts(index)
    return facts
