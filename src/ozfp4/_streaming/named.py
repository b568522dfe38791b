"""The devices that a caller names."""

from __future__ import annotations

import importlib
from typing import Any

from .._request import library
from .devices import Cpu, Device


def devices_of(given: Any) -> list[Device]:
    """Devices by their names, or torch's devices; one, or a sequence of them.

    Raises
    ------
    TypeError, ValueError
        What is no device, devices named twice, an empty sequence.
    RuntimeError
        A device that is not there, that this build has no kernels for, or torch is not installed.
    """
    names = list(given) if isinstance(given, (list, tuple)) else [given]
    if not names:
        raise ValueError(f"device: {given!r} names no device")
    devices = [_device(name) for name in names]
    known = [device.name for device in devices]
    twice = [name for name in known if known.count(name) > 1]
    if twice:
        raise ValueError(f"device: {twice[0]!r} is named twice")
    return devices


def _device(name: Any) -> Device:
    full = str(name) if hasattr(name, "type") else name
    if not isinstance(full, str):
        raise TypeError(
            f"device: {name!r} is neither a name such as 'cuda' or 'cuda:1' nor a device of torch"
        )
    if full in ("cpu", "cpu:0"):
        return Cpu()
    if full.partition(":")[0] != "cuda":
        raise ValueError(f"device: {name!r} is unknown; allowed are 'cuda', 'cuda:0' and so on, and 'cpu'")
    torch = _torch(name)
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ValueError(f"device: {name!r} is unknown: {error}") from None
    if not torch.cuda.is_available():
        raise RuntimeError(f"device: {name!r}: torch sees no CUDA device")
    index = torch.cuda.current_device() if device.index is None else device.index
    if index >= torch.cuda.device_count():
        raise RuntimeError(f"device: {name!r}: torch sees {torch.cuda.device_count()} CUDA devices")
    from .cuda import Cuda

    return Cuda(torch.device("cuda", index))


def _torch(name: Any) -> Any:
    """torch, which the caller need not have imported: its arrays may be NumPy's."""
    if library.torch_module() is None:
        try:
            importlib.import_module("torch")
        except ImportError:
            raise RuntimeError(f"device: {name!r} needs torch, which is not installed") from None
    return library.require_torch()
