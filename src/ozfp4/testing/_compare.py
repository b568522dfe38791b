"""Equality of bits, the only comparison that tests of exact arithmetic may use."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def _as_array(x: Any) -> npt.NDArray[Any]:
    if hasattr(x, "detach"):  # a torch tensor, which this module must not import
        x = x.detach().numpy()
    return np.asarray(x)


def bits_of(x: Any) -> npt.NDArray[Any]:
    """The entries of an array or CPU tensor as unsigned integers.

    They have the same width, in native byte order.
    """
    array = _as_array(x)
    native = array.astype(array.dtype.newbyteorder("="), order="C", copy=True)
    return native.view(f"u{array.dtype.itemsize}")


def difference(actual: Any, expected: Any) -> str | None:
    """The difference of two arrays in words, or None.

    Dtypes, shapes and all bits count; a NaN equals any NaN. Signed zeros differ. The parts of complex numbers are compared,
    along one more axis. The words name the first wrong entry of arrays or CPU tensors in C order: its coordinates, both values
    and both bit patterns.
    """
    x, y = _as_array(actual), _as_array(expected)
    if x.dtype != y.dtype:
        return f"dtype {x.dtype} instead of {y.dtype}"
    if x.shape != y.shape:
        return f"shape {x.shape} instead of {y.shape}"
    if x.dtype.kind == "c":
        return difference(*(np.stack([z.real, z.imag], axis=-1) for z in (x, y)))
    bits_x, bits_y = bits_of(x), bits_of(y)
    wrong = bits_x != bits_y
    if x.dtype.kind == "f":
        wrong &= ~(np.isnan(x) & np.isnan(y))
    count = int(np.count_nonzero(wrong))
    if count == 0:
        return None
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    width = 2 * x.dtype.itemsize
    return (
        f"{count} of {x.size} entries differ, first at {index}: "
        f"{x[index]!r} (0x{int(bits_x[index]):0{width}x}) instead of "
        f"{y[index]!r} (0x{int(bits_y[index]):0{width}x})"
    )


def assert_same_bits(actual: Any, expected: Any, context: object = "") -> None:
    """AssertionError unless both arrays have the same dtype, shape and bits.

    The message has the words of :func:`difference`, after the context, what was computed.
    """
    __tracebackhide__ = True
    message = difference(actual, expected)
    if message is not None:
        raise AssertionError(f"{context}: {message}" if context != "" else message)
