"""Where the caller wants the result: shape, dtype and memory of ``out``."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from .types import Array


def _overlaps(x: Array, y: Array) -> bool:
    effort: Any = 100_000  # the stubs of NumPy 2.4 allow 0 and -1 alone
    try:
        return np.shares_memory(x, y, max_work=effort)
    except np.exceptions.TooHardError:
        return True


def _overlaps_itself(x: Array) -> bool:
    """Whether two entries of `x` may lie in one place: an axis steps over less than those below it span."""
    span = x.itemsize
    for stride, extent in sorted((abs(s), n) for s, n in zip(x.strides, x.shape, strict=True) if n > 1):
        if stride < span:
            return True
        span = stride * (extent - 1) + span
    return False


def _places(x: Any) -> Array:
    """An array that lies where `x` does, an array or a tensor on a device; its entries are not read."""
    if isinstance(x, np.ndarray):
        return x
    size = x.element_size()
    about = {
        "data": (x.data_ptr() or 1, False),
        "shape": tuple(x.shape),
        "strides": tuple(stride * size for stride in x.stride()),
        "typestr": f"|V{size}",
        "version": 3,
    }
    return np.asarray(SimpleNamespace(__array_interface__=about))


def is_same_place(x: Any, y: Any) -> bool:
    """Whether two arrays, or two tensors on a device, have the same dtype, and each entry where the other has it."""
    if x.dtype != y.dtype or tuple(x.shape) != tuple(y.shape):
        return False
    own, other = _places(x), _places(y)
    strides = zip(own.strides, other.strides, own.shape, strict=True)
    are_same = all(step == other_step for step, other_step, extent in strides if extent > 1)
    return own.ctypes.data == other.ctypes.data and are_same


def check_form(out: Any, shape: tuple[int, ...], dtype: Any) -> None:
    """ValueError or TypeError unless `out` has this shape and dtype."""
    if tuple(out.shape) != shape:
        raise ValueError(f"out: shape {tuple(out.shape)} is not the result's shape {shape}")
    if out.dtype != dtype:
        raise TypeError(f"out: dtype {out.dtype} is not the result's dtype {dtype}")


def check_out(out: Any, shape: tuple[int, ...], dtype: Any, **inputs: Any) -> None:
    """TypeError or ValueError unless `out`, an array or a tensor on a device, can take a result of this shape and dtype. Its
    entries share memory neither with each other nor with the inputs; addresses alone are looked at."""
    check_form(out, shape, dtype)
    places = _places(out)
    if isinstance(out, np.ndarray) and not out.flags.writeable:
        raise ValueError("out: the array is read-only")
    if places.size and _overlaps_itself(places):
        raise ValueError("out: entries of the array share memory with each other")
    for name, x in inputs.items():
        if _overlaps(places, _places(x)):
            raise ValueError(f"out: the array shares memory with {name}")
