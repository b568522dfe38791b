"""Where the operands of a test lie, so that one test is for arrays of NumPy, tensors on the CPU and tensors on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import ozfp4
from device_names import CUDA, NUMPY

#: For long sweeps: tensors on the CPU go the way of arrays.
arrays_and_gpu = pytest.mark.parametrize("device", [NUMPY, CUDA], indirect=True)


@cache
def why_missing(name: str) -> str | None:
    """Why there are no operands of this device here, or None."""
    if name == "numpy":
        return None
    try:
        import torch
    except ImportError:
        return "no torch here"
    if name == "cpu":
        return None
    if not torch.cuda.is_available():
        return "no CUDA device"
    from ozfp4._backends.cuda import extension

    reason: str | None = extension.why_unavailable(torch.device("cuda", 0))
    return reason


def _owner(x: np.ndarray) -> np.ndarray:
    """The array that owns the memory of a view."""
    while isinstance(x.base, np.ndarray):
        x = x.base
    return x


def _has_tensors(x: np.ndarray) -> bool:
    """Whether tensors lie so, backwards nowhere, and in memory that one array owns."""
    steps = all(s >= 0 and s % x.itemsize == 0 for s in x.strides)
    return steps and x.flags.aligned and x.dtype.isnative and _owner(x).flags.forc


class Device:
    """Calls functions with their arrays on "numpy", where they are, or as tensors on "cpu" or "cuda".

    >>> device = Device("numpy")
    >>> device.matmul(np.eye(2), np.ones(2))
    array([1., 1.])

    Views keep their strides, and those of one array share memory on the device too. Results come back as arrays, and with
    `out` the whole memory that it is a part of; where `out` is returned, it is the array that was passed.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_gpu = name == "cuda"
        self.place = "cuda:0" if self.is_gpu else "cpu"

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """ozfp4's function of this name."""
        function = getattr(ozfp4, name)
        return lambda *given, **options: self(function, *given, **options)

    def __call__(self, function: Callable[..., Any], *given: Any, **options: Any) -> Any:
        if self.name == "numpy":
            return function(*given, **options)
        there = Memory(self)
        out = there.put(options.get("out"))
        try:
            found = function(*map(there.put, given), **{x: there.put(options[x]) for x in options if x != "out"},
                             **({"out": out} if "out" in options else {}))  # fmt: skip
        finally:
            there.write_back(options.get("out"))
        if out is not None and found is out:
            return options["out"]
        outs = (
            (*zip(out, options["out"], strict=True),)
            if isinstance(out, tuple)
            else ((out, options.get("out")),)
        )
        return there.back(found, outs)

    def takes(self, x: np.ndarray) -> bool:
        """Whether there is an `out` that lies as this array."""
        return self.name == "numpy" or (_has_tensors(x) and x.flags.writeable)

    def has(self, backend: str) -> bool:
        return not (self.is_gpu and backend == "fp64")

    def sized(self, usual: Any, on_a_gpu: Any) -> Any:
        """Which of both to take: what a reference in Python's integers takes, or what fills tiles of a GPU."""
        return on_a_gpu if self.is_gpu else usual

    def put(self, x: Any) -> Any:
        """The operand that an array becomes, for what is called with it more than once."""
        return x if self.name == "numpy" else Memory(self).put(x)

    def array(self, x: Any) -> Any:
        """A result as an array."""
        return x if self.name == "numpy" else Memory(self).back(x, ())


class Memory:
    """Copies of the memory of arrays on the device, for one call."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._storages: dict[int, tuple[Any, np.ndarray]] = {}
        self._tensors: dict[
            int, tuple[np.ndarray, Any]
        ] = {}  # with the array, so that its address is not used again

    def put(self, x: Any) -> Any:
        if isinstance(x, tuple):
            return tuple(map(self.put, x))
        if not isinstance(x, np.ndarray):
            return x
        if id(x) not in self._tensors:
            self._tensors[id(x)] = x, self._tensor(x)
        return self._tensors[id(x)][1]

    def _tensor(self, x: np.ndarray) -> Any:
        import torch

        if not _has_tensors(x):
            x = np.array(x, x.dtype.newbyteorder("="), order="C")
        if not self._device.is_gpu and x.flags.writeable:
            return torch.from_numpy(x)
        owner = _owner(x)
        bytes_of_it = owner.ravel(order="K").view(np.uint8)
        if id(owner) not in self._storages:
            whole = np.zeros(-(-bytes_of_it.size // 16) * 16 + 16, np.uint8)  # of entries of any dtype
            whole[: bytes_of_it.size] = bytes_of_it
            self._storages[id(owner)] = torch.from_numpy(whole).to(self._device.place), bytes_of_it
        storage = self._storages[id(owner)][0]
        offset, steps = x.ctypes.data - bytes_of_it.ctypes.data, [s // x.itemsize for s in x.strides]
        entries = storage.view(torch.from_numpy(np.empty(0, x.dtype)).dtype)
        return entries.as_strided(x.shape, steps, offset // x.itemsize)

    def address(self, x: np.ndarray) -> int:
        """Where the first entry of an array lies on a GPU, were there one."""
        self.put(x)
        storage, bytes_of_it = self._storages[id(_owner(x))]
        return storage.data_ptr() + x.ctypes.data - bytes_of_it.ctypes.data

    def write_back(self, out: Any) -> None:
        for x in out if isinstance(out, tuple) else (out,):
            if isinstance(x, np.ndarray) and (held := self._storages.get(id(_owner(x)))):
                storage, bytes_of_it = held
                bytes_of_it[...] = storage[: bytes_of_it.size].cpu().numpy()

    def back(self, found: Any, outs: tuple[Any, ...]) -> Any:
        import torch

        if isinstance(found, tuple):
            return type(found)(*(self.back(x, outs) for x in found)) if hasattr(found, "_fields") else tuple(
                self.back(x, outs) for x in found)  # fmt: skip
        if not torch.is_tensor(found):
            return found
        for there, here in outs:
            if found is there:
                return here
        assert found.device == torch.device(self._device.place)
        return found.detach().cpu().resolve_conj().resolve_neg().numpy()[()]
