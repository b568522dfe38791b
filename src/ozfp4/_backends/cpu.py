"""The CPU by name."""

from __future__ import annotations

import platform

from .. import _core

DEFAULT_WORKSPACE = 2**30


def name() -> str:
    """The processor's name and the number of threads that there are now, e.g. ``cpu (AMD EPYC, 2 threads)``."""
    model = _core.cpu_name().removeprefix("cpu").strip() or platform.machine()
    return f"cpu ({model}, {_core.thread_count()} threads)"
