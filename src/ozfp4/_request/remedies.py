"""Operands that no product takes: why, and what to pass instead."""

from __future__ import annotations

from inspect import getattr_static
from typing import Any

import numpy as np

from .prepared import Prepared

# Of enum DLDeviceType of dlpack.h: memory that NumPy reads, a CPU's, also where CUDA pinned it.
HOST_DEVICES = (1, 3)


def check_array(name: str, x: Any) -> None:
    """TypeError for what np.asarray would take the entries from, but not their meaning."""
    kind = type(x).__name__
    if isinstance(x, Prepared):
        raise TypeError(f"{name}: a prepared operand is not taken here; pass the matrix itself")
    if isinstance(x, np.ma.MaskedArray):
        instead = "out.data" if name == "out" else f"{name}.filled(0)"
        raise TypeError(f"{name}: masked arrays are not supported, their mask would be lost; pass {instead}")
    if not isinstance(x, np.ndarray) and hasattr(x, "toarray"):
        raise TypeError(
            f"{name}: {kind} is sparse, and only dense arrays are supported; pass {name}.toarray()"
        )
    if _has_own_products(x):
        raise TypeError(
            f"{name}: {kind} has products of its own, and what they add to numbers, such as units, would be lost; "
            f"np.asarray({name}) has its numbers alone"
        )


def _has_own_products(x: Any) -> bool:
    """Whether NumPy leaves products of such arrays to their type, as those with units. Arrays with DLPack are their numbers."""
    kind = type(x)
    if isinstance(x, np.ndarray):
        names = ("__array_ufunc__", "__array_function__")
        return any(getattr(kind, name) is not getattr(np.ndarray, name) for name in names)
    return hasattr(kind, "__array_function__") and not hasattr(kind, "__dlpack__")


def check_here(name: str, x: Any) -> None:
    """RuntimeError for an array in another memory than the CPU's, which np.asarray would copy. Range: no tensor of torch."""
    kind, place = type(x), None
    if not hasattr(kind, "__array__") or isinstance(x, (np.ndarray, np.generic)):
        return
    if hasattr(x, "__cuda_array_interface__"):
        place = "a CUDA device"
    elif hasattr(kind, "__dlpack_device__"):
        number = int(x.__dlpack_device__()[0])
        place = None if number in HOST_DEVICES else f"a device of DLPack kind {number}"
    # Of the type or the instance; not what __getattr__ finds, as a table does a column of this name.
    elif getattr_static(x, "device", None) is not None and "cpu" not in str(x.device).lower():
        place = f"device {x.device}"
    if place is not None:
        raise RuntimeError(
            f"{name}: {kind.__name__} lies on {place}, and would be copied to the CPU; copy it there, or pass an array of a "
            "library with __dlpack__ and from_dlpack"
        )


def of_tensor(name: str, tensor: Any) -> str:
    """The error of a tensor that is no array of entries in memory: nested, sparse, a subclass that computes by itself."""
    if tensor.is_nested or str(tensor.layout) != "torch.strided":
        layout = "nested" if tensor.is_nested else tensor.layout
        return f"{name}: layout {layout} is not supported; pass a dense (strided) tensor, such as {name}.to_dense()"
    if type(tensor).__name__ == "DTensor":
        return f"{name}: a DTensor is for ozfp4.matmul and gemm alone; pass {name}.full_tensor(), or {name}.to_local()"
    return f"{name}: {type(tensor).__name__} does not hold its entries as a torch.Tensor does; pass what it stands for"
