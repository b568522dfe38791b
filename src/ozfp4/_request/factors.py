"""The factors of an update as numbers: real, imaginary, with both parts, or integers."""

from __future__ import annotations

import math
import numbers
from typing import Any


def check_factor(name: str, factor: Any) -> complex:
    """A factor whose parts are float64 numbers; TypeError or ValueError unless it is a finite number with such parts."""
    _check_number(name, factor)
    if isinstance(factor, numbers.Real):
        return complex(_check_part(name, factor))
    return complex(_check_part(f"{name}.real", factor.real), _check_part(f"{name}.imag", factor.imag))


def _check_number(name: str, factor: object) -> None:
    if isinstance(factor, bool) or not isinstance(factor, numbers.Complex):
        kind, shape = type(factor).__name__, getattr(factor, "shape", None)
        # torch reads a tensor to show it, and crashes where its storage is freed.
        what = f"{factor!r}, of type {kind}," if shape is None else f"{kind} of shape {tuple(shape)}"
        raise TypeError(f"{name}: {what} is not a number")


def _check_part(name: str, part: Any) -> float:
    if isinstance(part, numbers.Integral):  # NumPy compares its own integers with floats as floats
        part = int(part)
    try:
        value = float(part)
    except OverflowError:
        raise ValueError(f"{name}: {part!r} is beyond the largest float64 number") from None
    if not math.isfinite(value):
        raise ValueError(f"{name}: {value} is not finite")
    if value != part:
        raise ValueError(f"{name}: {part!r} is not a float64 number, the nearest is {value!r}")
    return value


def check_integer_factor(name: str, factor: Any) -> int:
    """A factor of integers, of any size; TypeError for what is no number, ValueError for one that is no integer."""
    _check_number(name, factor)
    real: Any = factor if isinstance(factor, numbers.Real) else factor.real
    try:
        value = int(real)
    except (OverflowError, ValueError):  # infinity and NaN
        raise ValueError(f"{name}: {factor} is not finite") from None
    if value != factor:
        raise ValueError(
            f"{name}: {factor!r} is no integer, and all operands are; convert one of them to floating-point numbers"
        )
    return value


def has_both_parts(factor: complex) -> bool:
    """Whether it is neither real nor imaginary: products with the others round nothing."""
    return factor.real != 0 and factor.imag != 0
