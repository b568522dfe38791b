"""``ozfp4.info``: what this installation can run, and why not the rest."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .. import _core
from .._backends.cuda import extension
from .._backends.kernels import GPU_BACKENDS, DeviceKernel, cpu_kernel, device_name, installed_kernels
from .._plans.plan import ALPHABETS, make_plan
from .._request import library
from .._support.table import Table, Tabular
from .._support.version import __version__
from .._trust import guard


@dataclass(frozen=True)
class Backend:
    """One (device, backend) pair: whether it can run, with which kernel, or why not."""

    device: str
    name: str
    available: bool
    detail: str


@dataclass(frozen=True)
class Kernel:
    """A kernel on a device: the entries that it multiplies, and what its self-test found."""

    device: str
    name: str
    element: str
    verdict: str


@dataclass(frozen=True, repr=False)
class Info(Tabular):
    """Devices, backends, kernels with the verdicts of their self-tests, build and versions; shows itself as tables."""

    version: str
    python: str
    numpy: str
    scipy: str
    threads: int
    backends: tuple[Backend, ...]
    kernels: tuple[Kernel, ...]

    def _tables(self) -> Iterator[Table]:
        yield Table(
            [
                (
                    f"ozfp4 {self.version}, Python {self.python}, NumPy {self.numpy}, SciPy {self.scipy}, {self.threads} threads",
                )
            ]
        )
        yield Table(
            [(b.device, b.name, "yes" if b.available else "no", b.detail) for b in self.backends],
            ("device", "backend", "available", "detail"),
        )
        yield Table(
            [(k.device, k.name, k.element, k.verdict) for k in self.kernels],
            ("device", "kernel", "element", "self-test"),
        )


def _cpu_backend(name: str) -> Backend:
    try:
        verdict = guard.known_verdict(cpu_kernel(name))
    except ValueError as error:  # of OZFP4_CPU_KERNEL, as every product raises it
        return Backend(device_name("cpu"), name, False, str(error))
    failed = verdict is not None and not verdict.passed
    detail = verdict.text if verdict is not None and failed else _core.serving_kernel(name)
    return Backend(device_name("cpu"), name, not failed, detail)


def gpu_backends() -> tuple[Backend, ...]:
    """What this build and machine offer on GPUs; looks at devices only if torch is imported and has CUDA."""
    torch = library.torch_module()
    if extension.extension() is None:
        reason = extension.extension_error()
    elif torch is None:
        reason = "torch is not imported; GPU products take torch CUDA tensors"
    elif not torch.cuda.is_available():
        reason = "torch sees no CUDA device"
    else:
        found = []
        for index in range(torch.cuda.device_count()):
            missing = extension.why_unavailable(torch.device("cuda", index))
            device = f"cuda:{index} ({torch.cuda.get_device_name(index)})"
            for name in GPU_BACKENDS:
                kernel, reason = (
                    ("", missing)
                    if missing
                    else guard.likely_kernel(make_plan("II", name, "least", 53, 1), index)
                )
                found.append(Backend(device, name, not reason, reason or kernel))
        return tuple(found)
    return tuple(Backend("cuda", name, False, reason) for name in GPU_BACKENDS)


def _kernel(kernel: DeviceKernel) -> Kernel:
    verdict = guard.known_verdict(kernel)
    text = "not tested yet: the first product does" if verdict is None else verdict.text
    return Kernel(device_name(kernel.device), kernel.name, kernel.element, text)


def info() -> Info:
    """What this installation can run: devices, backends and why each is or is not there, kernels and what their self-tests
    found so far, versions. Tests nothing itself. Where OZFP4_CPU_KERNEL names what does not serve, the CPU's
    backends are not available and say so."""
    import scipy

    return Info(
        __version__,
        platform.python_version(),
        np.__version__,
        scipy.__version__,
        _core.thread_count(),
        (*map(_cpu_backend, ALPHABETS), *gpu_backends()),
        tuple(_kernel(kernel) for kernel in installed_kernels()),
    )
