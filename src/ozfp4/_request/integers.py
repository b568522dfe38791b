"""Products of integers: which they are, and what their result is."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .._support.fp_mode import in_default_mode
from .library import FLOATS, INTEGERS, Operands, is_integer, name_of, require_torch


def common_dtype(operands: Operands) -> Any:
    """What both operands promote to, by the rules of the library that they come from: a dtype of NumPy, or of torch where they
    are tensors on a device; TypeError where there is none."""
    return _common("b", operands.b.dtype, operands.a.dtype, "a", operands)


def _common(name: str, dtype: Any, other: Any, of: str, operands: Operands) -> Any:
    """What the dtype of the argument `name` promotes to with `other`, that `of` others."""
    torch = operands.torch
    if torch is None:
        return np.promote_types(other, dtype)
    first, second = (getattr(torch, name_of(x)) for x in (other, dtype))
    try:
        common = torch.promote_types(first, second)
    except RuntimeError:
        raise TypeError(
            f"{name}: torch has no common dtype of {second} and {first}, that of {of}; convert one of them"
        ) from None
    return common if operands.on_device else np.dtype(name_of(common))


def unify(operands: Operands) -> tuple[Operands, Any]:
    """Of operands that have integers: both of integers or neither, and the dtype of a product of integers, else None. One beside
    a floating-point operand, and both where their common dtype is one of floating-point numbers (as of uint64 and int64), are
    converted to real numbers of that dtype, each entry rounded once."""
    operands, _, integer = unify_update(operands, None)
    return operands, integer


def unify_update(operands: Operands, c: Any) -> tuple[Operands, Any, Any]:
    """As :func:`unify`, where C, if it is not None, has a say in the common dtype and is converted, too: operands, C, dtype."""
    common = common_dtype(operands)
    if c is not None:
        common = _common("c", c.dtype, common, "a and b", operands)
    if is_integer(common):
        return operands, c, common
    single = name_of(common) in ("float32", "complex64")
    a, b, c = (
        _real(x, single, operands) if x is not None and is_integer(x.dtype) else x
        for x in (operands.a, operands.b, c)
    )
    return operands._replace(a=a, b=b), c, None


def unify_to(operands: Operands, dtype: Any) -> tuple[Operands, Any, str | None]:
    """As :func:`unify`, for a result of the dtype that is asked for, and its name: integers stay so beside an integer dtype,
    and else are converted to real numbers of it, each entry rounded once. None asks for what both promote to."""
    if dtype is None:
        return (*unify(operands), None) if operands.has_integers else (operands, None, None)
    name = result_dtype(dtype, operands.a.dtype, operands.b.dtype)
    if is_integer(name):
        return operands, getattr(operands.torch, name) if operands.on_device else np.dtype(name), name
    single = name in ("float32", "complex64")
    a, b = (_real(x, single, operands) if is_integer(x.dtype) else x for x in (operands.a, operands.b))
    return operands._replace(a=a, b=b), None, name


def dtype_name(dtype: Any) -> str:
    """The name of a dtype of NumPy or torch, or of what NumPy makes one of; TypeError for all else."""
    text = str(dtype)
    try:
        return text.removeprefix("torch.") if text.startswith("torch.") else np.dtype(dtype).name
    except TypeError:
        raise TypeError(f"dtype: {dtype!r} is no dtype") from None


def result_dtype(asked: Any, *dtypes: Any) -> str:
    """The name of a dtype that is asked for of a product of operands of these. TypeError as :func:`dtype_name`, ValueError for
    one that is narrower than the floating-point operands, or of another kind.

    >>> result_dtype("int32", np.dtype("int8"), np.dtype("int8")), result_dtype(float, np.dtype("float32"))
    ('int32', 'float64')
    """
    name = dtype_name(asked)
    names = [name_of(x) for x in dtypes]
    real = [x for x in names if not is_integer(x)]
    if real:
        own = np.result_type(*real).name
        allowed = {own, {"float32": "float64", "complex64": "complex128"}.get(own, own)}
    else:
        allowed = {np.dtype(t).name for t in (*INTEGERS, *FLOATS)}
        if set(names) != {"bool"}:
            allowed.discard("bool")
    if name not in allowed:
        given = " and ".join(dict.fromkeys(names))
        raise ValueError(
            f"dtype: {name} is of no product of {given}; allowed are {', '.join(sorted(allowed))}; convert the operands"
        )
    return name


@in_default_mode
def _real(x: Any, single: bool, operands: Operands) -> Any:
    name = "float32" if single else "float64"
    return x.to(getattr(operands.torch, name)) if operands.on_device else x.astype(name)


@lru_cache(maxsize=64)
def entry_bits(dtype: Any) -> int:
    """Bits of a plan for integers of a dtype: one more than their magnitudes have."""
    name = name_of(dtype)
    if name == "bool":
        return 2
    width = int(name.lstrip("uint"))
    return width + 1 if name.startswith("u") else width


def words_of(x: Any, has_unsigned: bool = False) -> Any:
    """A tensor of integers as one of 64 bits, int64: those of uint64 by their bits, or as they are where it `has_unsigned`."""
    torch = require_torch()
    name = name_of(x.dtype)
    if name == "uint64":
        return x if has_unsigned else x.view(torch.int64)
    if name in ("uint16", "uint32"):  # torch computes with few of them
        width = name.removeprefix("uint")
        return x.view(getattr(torch, f"int{width}")).to(torch.int64) & (2 ** int(width) - 1)
    return x.to(torch.int64)


def check_modulus(modulus: object) -> int:
    """`modulus` as an int in 1..2^63 - 1; TypeError or ValueError otherwise."""
    if isinstance(modulus, (bool, np.bool_)) or not isinstance(modulus, (int, np.integer)):
        raise TypeError(f"modulus: {modulus!r} is not an integer")
    if not 1 <= modulus < 2**63:
        raise ValueError(f"modulus: {modulus} is outside 1..2**63 - 1")
    return int(modulus)
