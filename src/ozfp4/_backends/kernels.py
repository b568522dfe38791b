"""Every kernel of this installation on every device: which there are, and which take the planes of a plan."""

from __future__ import annotations

import platform
from dataclasses import dataclass

from .. import _core
from .._plans.plan import Plan
from .._request import library
from .cuda import extension

GPU_BACKENDS = ("int8", "fp4")  # among equals the first one is taken
_STAND_IN = "stand-in"  # in the names of kernels that only tests call


@dataclass(frozen=True)
class DeviceKernel:
    """A kernel on a device, "cpu" or "cuda:0" and so on, by its name in a Report.

    `element`: entries of its planes, an alphabet of the CPU; residues ("u8"), limbs ("s8") or E2M1 codes ("e2m1") of a GPU.
    Without planes: "none" on a GPU; on the CPU "integers", and "words" or "limbs" for floating-point operands.
    """

    device: str
    name: str
    element: str

    @property
    def index(self) -> int:
        """Number of the CUDA device."""
        return int(self.device.partition(":")[2])

    def __str__(self) -> str:
        return f"'{self.name}' ({self.element}) on {device_name(self.device)}"


def device_name(device: str) -> str:
    """The device with the name of its hardware, e.g. ``cuda:0 (NVIDIA H200)``, of the CPU also the number of threads that there
    are now."""
    if device == "cpu":
        model = _core.cpu_name().removeprefix("cpu").strip() or platform.machine()
        return f"cpu ({model}, {_core.thread_count()} threads)"
    return f"{device} ({library.require_torch().cuda.get_device_name(device)})"


def cpu_kernel(alphabet: str) -> DeviceKernel:
    """The CPU's kernel for the planes of an alphabet now. ValueError where OZFP4_CPU_KERNEL names none that is here."""
    return DeviceKernel("cpu", _core.serving_kernel(alphabet), alphabet)


def cpu_kernels() -> list[DeviceKernel]:
    """The kernels of each alphabet, best first, but for bytes in plain loops; then those without planes."""
    return [DeviceKernel("cpu", name, element) for name, element in _core.cpu_kernels()]


def gpu_kernels(index: int, plan: Plan | None = None) -> list[DeviceKernel]:
    """The kernels of a CUDA device that multiply the planes of a plan, best first; without a plan all, those of tests, too."""
    named = extension.require_cuda().kernels_of(index, None if plan is None else plan._core)
    return [DeviceKernel(f"cuda:{index}", name, element) for name, element in named]


def installed_kernels(*, with_stand_ins: bool = False) -> list[DeviceKernel]:
    """All kernels of this installation; those of GPUs if torch is imported and sees them. `with_stand_ins`: also those that only
    tests call."""
    found = cpu_kernels()
    torch = library.torch_module()
    if torch is None or extension.extension() is None or not torch.cuda.is_available():
        return found
    for index in range(torch.cuda.device_count()):
        if extension.why_unavailable(torch.device("cuda", index)) is None:
            found += [x for x in gpu_kernels(index) if with_stand_ins or _STAND_IN not in x.name]
    return found
