"""Enqueues scale and encode of an operand by itself, into memory that is kept for any number of products."""

from __future__ import annotations

from typing import Any

from ...plans.plan import Plan
from ...request import library
from ...support import debug
from ...support.torch_private import stream_handle
from . import extension, launch
from .device_plan import device_plan
from .kept import Kept
from .promise import Promise
from .variant import Variant
from .views import collapse


def keep(x: Any, side: str, plan: Plan, variant: Variant, accuracy: str, single: bool) -> Kept:
    """Scale and encode a real tensor with both matrix axes, every extent of which is at least 1; enqueued on the current stream.
    Of a plan of complex products it is the real form of a complex one (request/complex.py).

    Raises
    ------
    ValueError
        A stack of more than four axes that cannot be merged, and what exceeds the limits of a launch.
    """
    torch, cuda = library.require_torch(), extension.require_cuda()
    index = x.device.index
    outer, inner = (-2, -1) if side == "left" else (-1, -2)
    # With records of its lines, which a bound asks for also where the accuracy is "scaled".
    promise = Promise(accuracy, "nearest", "bound", 24 if single else 53)
    made = device_plan(plan, x.shape[inner], variant.kernel, index, promise)
    types = {torch.float64: cuda.ElementType.float64, torch.float32: cuda.ElementType.float32}
    strides = [stride * x.itemsize for stride in x.stride()]
    operand = cuda.Operand(
        x.data_ptr() % cuda.pointer_alignment,
        types[x.dtype],
        x.shape[outer],
        x.shape[inner],
        strides[outer],
        strides[inner],
    )
    # Matrices that are the same one are kept once.
    own = [axis for axis in range(x.dim() - 2) if x.shape[axis] > 1 and strides[axis] != 0]
    extents, (steps,) = collapse(tuple(x.shape[axis] for axis in own), tuple(strides[axis] for axis in own))
    store = cuda.Store(made.cuda_plan, operand, extents, steps, side == "right", index)
    about = store.describe()
    memory = torch.empty(about["bytes"], dtype=torch.uint8, device=x.device)
    scratch = torch.empty(about["scratch"], dtype=torch.uint8, device=x.device)
    stream = stream_handle(index)
    shared = launch.memory_of(stream, index)
    try:
        store.launch(
            x.data_ptr(),
            memory.data_ptr(),
            scratch.data_ptr(),
            0 if shared is None else shared.counters,
            stream,
            sync_stages=bool(debug.SYNC_STAGES),
        )
    except BaseException:
        launch.forget(shared)
        raise
    return Kept(memory, about, made.cuda_plan.element, stream, 0, about["lines"])
