"""Products on a CUDA device: what they need there, and what its core (csrc/product/gpu) decides about them."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .._backends.cuda import extension
from .._backends.kernels import GPU_BACKENDS
from .._options import Options
from .._plans.plan import Plan
from .._request import library
from .._request.operands import MatmulRequest
from .._support import environment, torch_private
from .decision import are_paired, plan_of, precision

_LONGEST_EXTENT = 2**31 - 4096  # kLongestExtent of csrc/cuda/multiply/schedule.hpp

_ready: set[int] = set()  # devices that this build has kernels for
_MODELLED = (9, 0)  # the capability of the GPU that the models of csrc/cuda/layout/ways.hpp are of
CALIBRATING: set[int] = set()  # devices that are being measured
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}  # of DLPack, by NumPy's kinds


@lru_cache(maxsize=1)
def connected() -> Any:
    """The extension, after it has got the functions of torch that it calls; RuntimeError without one."""
    cuda, torch = extension.require_cuda(), library.require_torch()
    dtypes = {t.name: (_CODES[t.kind], 8 * t.itemsize) for t in map(np.dtype, library.TAKEN)}
    cuda.connect(
        api=getattr(torch.Tensor, "__dlpack_c_exchange_api__", None),
        unwatched=library.unwatched(),
        dtypes={getattr(torch, name): made for name, made in dtypes.items() if hasattr(torch, name)},
        empty=torch.empty,
        empty_strided=torch.empty_strided,
        uint8=torch.uint8,
        find_stream=torch_private.stream_function(),
        find_current_stream=torch.cuda.current_stream,
        increment_version=torch.autograd.graph.increment_version,
        out_of_memory=torch.cuda.OutOfMemoryError,
        waits_for_stages=environment.SYNC_STAGES,
    )
    return cuda


def ready(device: Any) -> Any:
    """The extension, for products on a torch device. Raises as :func:`check_device`."""
    check_device(device)
    return connected()


def check_device(device: Any) -> None:
    """RuntimeError unless this build has kernels for a torch device."""
    if device.type != "cuda":
        held = "cpu" if extension.extension() is None else "cpu, cuda"
        raise RuntimeError(f"a: device {device} has no kernel in this build; it holds: {held}")
    if device.index in _ready:
        return
    reason = extension.why_unavailable(device)
    if reason is not None:
        raise RuntimeError(f"a: device {device}: {reason}")
    if library.require_torch().cuda.is_current_stream_capturing():
        raise RuntimeError(
            f"a: the first product on {device} loads its kernels, which a CUDA graph cannot capture; "
            "run one product before the capture"
        )
    connected().mark_ready(device.index)
    _ready.add(device.index)
    if device.index not in CALIBRATING:
        _advise(device)


def _advise(device: Any) -> None:
    """Say how the choice among kernels can rest on the device's own times, where it does not."""
    cuda = library.require_torch().cuda
    if cuda.get_device_capability(device) != _MODELLED and not connected().has_measured_ways(device.index):
        environment.LOGGER.warning(
            "%s: the choice among kernels rests on times of another GPU; `ozfp4 calibrate` measures this one in seconds",
            cuda.get_device_name(device),
        )


def index_of(device: object) -> int | None:
    """The number of a device that this build has kernels for, by its name or torch's; None for the CPU. Errors name `device`."""
    torch = library.torch_module()
    if not isinstance(device, str) and not (torch is not None and isinstance(device, torch.device)):
        raise TypeError(f"device: {device!r} is neither a string nor a torch.device")
    text = str(device)
    found = re.fullmatch(r"cpu(?::0)?|(cuda)(?::(\d{1,9}))?", text)
    if found is None:
        raise ValueError(f"device: {text!r} is unknown; allowed are 'cpu', 'cuda', 'cuda:0' and so on")
    if found[1] is None:
        return None
    if torch is None:
        raise RuntimeError(f"device: {text!r}: torch is not imported; GPU products take torch CUDA tensors")
    if not torch.cuda.is_available():
        raise RuntimeError(f"device: {text!r}: torch finds no CUDA device")
    index = int(torch.cuda.current_device() if found[2] is None else found[2])
    count = torch.cuda.device_count()
    if index >= count:
        raise RuntimeError(f"device: {text!r} does not exist; torch has cuda:0 to cuda:{count - 1}")
    reason = extension.why_unavailable(torch.device("cuda", index))
    if reason is not None:
        raise RuntimeError(f"device: {text!r}: {reason}")
    return index


def check_backend(asked: Options, device: object) -> None:
    """RuntimeError for a backend that no GPU has."""
    backend = asked.backend if asked.plan is None else asked.plan.backend
    if backend not in (*GPU_BACKENDS, "auto"):
        raise RuntimeError(f"backend: {backend!r} has no GPU kernel; available on {device}: 'int8', 'fp4'")


def check_extents(m: int, n: int, k: int) -> None:
    """ValueError for an extent that no product on a GPU takes."""
    if max(m, n, k) > _LONGEST_EXTENT:
        name, extent = max((("m", m), ("n", n), ("k", k)), key=lambda x: x[1])
        raise ValueError(f"{name}: {extent} exceeds 2**31 - 4096, the largest extent of a product on a GPU")


class Decision(NamedTuple):
    """The plan, the number of its kernel, why its backend, and why that is not the preferred one (None if it is)."""

    plan: Plan
    kernel: int
    reason: str
    fallback: str | None


def decide(request: MatmulRequest) -> Decision:
    """ValueError for an extent or an inner dimension beyond the plan or the device. RuntimeError if no kernel is trusted,
    or if one would have to be tested while a CUDA graph is captured."""
    shape, is_paired = request.shape, are_paired(request)
    check_extents(shape.m, shape.n, shape.k)
    inner = shape.k * (2 if is_paired else 1)
    extents = (shape.m, shape.n, math.prod(shape.stack))
    return choose(request.asked, inner, request.single, is_paired, request.a.device, extents)


def choose(
    asked: Options,
    inner: int,
    single: bool,
    is_paired: bool,
    device: Any,
    extents: tuple[int, int, int] = (0, 0, 1),
) -> Decision:
    """The decision about products of an inner dimension, that of their real form, and of m, n (0: not known) and a number of
    matrices. Raises as :func:`decide`."""
    check_backend(asked, device)
    chosen, kernel, reason, fallback = ready(device).choose(
        asked, (inner, *extents), precision(single), is_paired, device.index
    )
    return Decision(plan_of(asked, chosen), kernel, reason, fallback)


def core_for(request: MatmulRequest) -> Any:
    """The core of the device of a request, before anything is allocated for it. Raises as :func:`decide`."""
    shape = request.shape
    check_extents(shape.m, shape.n, shape.k)
    check_backend(request.asked, request.a.device)
    return ready(request.a.device)


def prepare(
    x: Any, side: str, other: str, asked: Options, single: bool, stays: bool
) -> tuple[Any, Plan, int, Any]:
    """An operand in the form of the core, its plan, its bytes, and the tensor that products read in addition, or None.
    `stays`: the caller keeps `x` as it is, so that it may be read later. Raises as :func:`decide`."""
    check_backend(asked, x.device)
    cuda = ready(x.device)
    is_complex = library.is_complex(x.dtype)
    # The core copies complex operands in the form that is multiplied, but for rows of pairs side by side.
    is_read = not is_complex or (side, other, x.is_conj(), x.stride(-1)) == ("left", "complex", False, 1)
    is_cloned = is_read and not stays
    if is_cloned:
        # Rows of pairs of overlapping windows must not become columns.
        x = x.clone(memory_format=library.require_torch().contiguous_format) if is_complex else x.clone()
    elif other == "real":
        x = x.resolve_conj()
    held = cuda.prepare(x, side == "right", other == "real", precision(single), is_read, asked)
    nbytes = held.nbytes + (x.nbytes if is_cloned else 0)
    return held, plan_of(asked, held.plan), nbytes, x if is_read else None
