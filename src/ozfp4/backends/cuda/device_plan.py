"""A plan on a device: its schedule as a kernel reads it, made once for each inner dimension."""

from __future__ import annotations

from typing import Any

from ...plans.plan import Plan
from ...request import library
from . import extension
from .promise import PLAIN, Promise


class DevicePlan:
    """What a kernel on a device makes of a plan for one inner dimension and one promise; equal only to itself."""

    def __init__(self, plan: Plan, k: int, kernel: int, device: int, promise: Promise = PLAIN) -> None:
        torch = library.require_torch()
        self.cuda_plan = extension.require_cuda().CudaPlan(plan._core, k, kernel, *promise)
        self.steps: Any = None
        # A schedule too long for the kernel's parameters is read from the device.
        if steps := self.cuda_plan.device_steps:
            if torch.cuda.is_current_stream_capturing():
                raise RuntimeError(
                    f"k: the first product of this plan at k = {k} brings its schedule to cuda:{device}, which a CUDA graph "
                    "cannot capture; run one product before the capture"
                )
            self.steps = torch.frombuffer(bytearray(steps), dtype=torch.uint8).to(
                torch.device("cuda", device)
            )

    def steps_address(self) -> int:
        return 0 if self.steps is None else int(self.steps.data_ptr())


_MOST_DEVICE_PLANS = 128


def device_plan(plan: Plan, k: int, kernel: int, device: int, promise: Promise) -> DevicePlan:
    """The same, made once; a plan keeps those of its latest products."""
    key = (k, kernel, device, promise)
    made: DevicePlan | None = plan._device_plans.get(key)
    if made is None:
        if len(plan._device_plans) >= _MOST_DEVICE_PLANS:  # products modulo many numbers
            plan._device_plans.clear()
        made = plan._device_plans[key] = DevicePlan(plan, *key)
    return made
