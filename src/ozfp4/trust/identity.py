"""The things that a finding about a kernel depends on: the processor, or the GPU and its driver, and this very build."""

from __future__ import annotations

import hashlib
import os
import platform
import re
from functools import lru_cache
from pathlib import Path

from .. import _core
from ..backends import cpu
from ..backends.cuda import extension
from ..backends.kernels import DeviceKernel
from ..request import library
from ..support.version import __version__

# Raised with every change of the cases (exact_cases): what passed others says nothing about these.
CASES = 4
_DRIVER_LIBRARY = re.compile(r"^libcuda\.so[^/]*$")


def _stamp(file: str | None) -> str:
    """A file's path, size and time of change: reading tens of megabytes would cost more than the test it saves."""
    try:
        status = os.stat(str(file))
        return f"{file} {status.st_size} {status.st_mtime_ns}"
    except OSError:
        return str(file)


def _loaded_libraries(name: re.Pattern[str]) -> str:
    """The libraries of this process whose file name matches, where the system lists them."""
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    files = {line[line.find("/") :] for line in maps.splitlines() if ".so" in line and "/" in line}
    return "; ".join(sorted(_stamp(file) for file in files if name.match(file.rpartition("/")[2])))


def _instruction_sets() -> str:
    """Digest of the processor's flags: a virtual machine may hide some, and other kernels then serve."""
    return hashlib.blake2b(cpu.cpuinfo("flags", "Features").encode(), digest_size=8).hexdigest()


@lru_cache(maxsize=1)
def cpu_identity() -> dict[str, str]:
    """The key of findings about the CPU."""
    return {
        "device": f"cpu {cpu.model()}",
        "instruction sets": _instruction_sets(),
        "system": f"{platform.system()} {platform.release()}",
        "build": f"{__version__} {_stamp(_core.__file__)}",
    }


@lru_cache(maxsize=64)
def gpu_identity(index: int) -> dict[str, str]:
    """The key of findings about a CUDA device. Needs torch and the extension; synchronises nothing."""
    torch = library.require_torch()
    about = torch.cuda.get_device_properties(index)
    version = getattr(
        torch._C, "_cuda_getDriverVersion", None
    )  # as the driver states it: 13000 for CUDA 13.0
    return {
        "device": f"{about.name} {about.major}.{about.minor} {getattr(about, 'uuid', '')}",
        "driver": f"{version() if version else ''} {_loaded_libraries(_DRIVER_LIBRARY)}",
        "build": f"{__version__} {_stamp(getattr(extension.extension(), '__file__', None))}",
    }


def identity(kernel: DeviceKernel) -> dict[str, str]:
    """All that a verdict about a kernel depends on."""
    about = cpu_identity() if kernel.device == "cpu" else gpu_identity(kernel.index)
    return {**about, "kernel": kernel.name, "element": kernel.element, "cases": str(CASES)}
