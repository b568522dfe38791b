"""Every kernel of this installation on every device: which there are, and which take the planes of a plan."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass

from .. import _core
from .._plans.plan import Plan
from .._request import library
from .cuda import extension

GPU_BACKENDS = ("int8", "fp4")  # among equals the first one is taken
_STAND_IN = "stand-in"  # in the names of kernels that only tests call
_RESIDUES_ONLY = "tcgen05"  # begins the names of kernels that store residues, but neither digits nor INT32


@dataclass(frozen=True)
class DeviceKernel:
    """A kernel on a device, "cpu" or "cuda:0" and so on, by its name in a Report.

    `element`: entries of its planes, an alphabet of the CPU; residues ("u8"), limbs ("s8") or E2M1 codes ("e2m1") of a GPU.
    Without planes "words", and on the CPU "numbers" or "limbs" for floating-point operands.
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


def words_kernel(index: int) -> DeviceKernel:
    """Small products on a CUDA device, which have no planes."""
    return DeviceKernel(f"cuda:{index}", "integers in machine words", "words")


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


def elements(plan: Plan) -> tuple[str, ...]:
    """The elements that planes of a plan can have on a GPU, best first: E2M1 codes ("e2m1"), limbs ("s8") or residues ("u8")."""
    if plan.alphabet == "fp4":
        return ("e2m1", "s8") if plan.scheme in ("I", "II") else ("s8",)
    return ("u8",) if plan.scheme == "II" else ("s8",)


def gpu_kernels(elements: Sequence[str], index: int, residues: bool = True) -> list[DeviceKernel]:
    """The kernels of a CUDA device that may serve planes of these elements, best first; without stand-ins. `residues`:
    nothing else is stored, as by scheme II."""
    cuda = extension.require_cuda()
    found = []
    for element in elements:
        best = cuda.find_kernel(element, index, residues)
        for number in sorted(range(len(cuda.kernels)), key=lambda number: number != best):
            name = cuda.kernels[number]
            may_serve = _STAND_IN not in name and (residues or not name.startswith(_RESIDUES_ONLY))
            if may_serve and cuda.kernel_error(number, element, index) is None:
                found.append(DeviceKernel(f"cuda:{index}", name, element))
    return found


def stand_ins(index: int) -> list[DeviceKernel]:
    """Those of a CUDA device that only tests use: kernels for FP4 units with the instruction itself replaced."""
    cuda = extension.require_cuda()
    return [
        DeviceKernel(f"cuda:{index}", name, "e2m1")
        for number, name in enumerate(cuda.kernels)
        if _STAND_IN in name and cuda.kernel_error(number, "e2m1", index) is None
    ]


def installed_kernels(*, with_stand_ins: bool = False) -> list[DeviceKernel]:
    """All kernels of this installation; those of GPUs if torch is imported and sees them. `with_stand_ins`: also those that only
    tests call."""
    found = cpu_kernels()
    torch = library.torch_module()
    if torch is None or extension.extension() is None or not torch.cuda.is_available():
        return found
    for index in range(torch.cuda.device_count()):
        if extension.why_unavailable(torch.device("cuda", index)) is None:
            found += [*gpu_kernels(("u8", "s8", "e2m1"), index), words_kernel(index)]
            found += stand_ins(index) if with_stand_ins else []
    return found
