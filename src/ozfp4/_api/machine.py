"""``ozfp4.info`` and ``ozfp4.selftest``: devices and kernels of this installation, and tests of these kernels."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from .._backends.cuda import extension
from .._backends.kernels import GPU_BACKENDS, DeviceKernel, cpu_kernel, device_name, installed_kernels
from .._plans.plan import ALPHABETS, make_plan
from .._request import library
from .._support.table import Table, Tabular
from .._support.version import __version__
from .._trust import guard
from .._trust.guard import Verdict


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
    """Devices, backends, kernels with the verdicts of their self-tests, build and versions; prints as tables."""

    version: str
    python: str
    numpy: str
    scipy: str
    threads: int
    backends: tuple[Backend, ...]
    kernels: tuple[Kernel, ...]

    def _tables(self) -> Iterator[Table]:
        made = f"ozfp4 {self.version}, Python {self.python}, NumPy {self.numpy}, SciPy {self.scipy}"
        yield Table([(f"{made}, {self.threads} threads",)])
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
    if verdict is not None and not verdict.passed:
        return Backend(device_name("cpu"), name, False, verdict.text)
    return Backend(device_name("cpu"), name, True, _core.serving_kernel(name))


def gpu_backends() -> tuple[Backend, ...]:
    """The backends of this build and machine on GPUs; examines devices only if torch is imported and has CUDA."""
    torch = library.torch_module()
    if extension.extension() is None:
        reason = extension.extension_error()
    elif torch is None:
        reason = "torch is not imported; GPU products take torch CUDA tensors"
    elif not torch.cuda.is_available():
        reason = "torch finds no CUDA device"
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
    """Devices, backends, kernels and versions of this installation.

    Each backend that is unavailable has its reason, each kernel the verdict of its self-test so
    far. `info` tests nothing itself. If ``OZFP4_CPU_KERNEL`` names an unsuitable kernel, the
    backends of the CPU are unavailable for this reason.

    Returns
    -------
    Info
        Prints as tables.
    """
    import scipy

    return Info(
        __version__,
        platform.python_version(),
        np.__version__,
        scipy.__version__,
        _core.thread_count(),
        (*map(_cpu_backend, ALPHABETS), *gpu_backends()),
        tuple(map(_kernel, installed_kernels())),
    )


@dataclass(frozen=True, repr=False)
class SelfTest(Tabular):
    """Verdicts on all kernels of all devices; true if every kernel passed.

    Prints as a table.
    """

    verdicts: tuple[Verdict, ...]

    @property
    def passed(self) -> bool:
        return all(verdict.passed for verdict in self.verdicts)

    def __bool__(self) -> bool:
        return self.passed

    def _tables(self) -> Iterator[Table]:
        rows = []
        for v in self.verdicts:
            kernel, took = v.kernel, f"{1e3 * v.seconds:.1f}"
            rows.append((device_name(kernel.device), kernel.name, kernel.element, str(v.cases), took, v.text))
        yield Table(rows, ("device", "kernel", "element", "cases", "ms", "verdict"), right=(3, 4))


def selftest(*, short: bool = False, progress: Callable[[float], Any] | None = None) -> SelfTest:
    """Test every kernel of this installation against exact integer results.

    GPUs are tested if torch is imported and finds them. A kernel that fails is disabled, with a
    RuntimeWarning that names it; the next kernel or backend is used instead.

    Parameters
    ----------
    short : bool
        Only the cases that run before the first product.
    progress : callable, optional
        Called with the fraction done.

    Returns
    -------
    SelfTest
        True if every kernel passed.

    Raises
    ------
    MemoryError
        No memory for the test.

    Notes
    -----
    The cases are adversarial:

    - sums at and near the limits of the accumulators;
    - signs that alternate along K, every pair of limbs, every place along K;
    - extents around the boundaries of tiles, and whole products.

    Every result must be equal to the exact integer.

    The first product on a device runs the short form for its kernel. The verdict is kept in the
    user's cache folder (``OZFP4_CACHE_DIR``) for this device, driver and build. `selftest` always
    runs and replaces it, so it also enables a kernel again that was disabled.
    """
    chosen = installed_kernels(with_stand_ins=not short)
    verdicts = []
    for done, kernel in enumerate(chosen):
        if progress is not None:
            progress(done / len(chosen))
        verdicts.append(guard.test(kernel, short=short))
    return SelfTest(tuple(verdicts))
