"""Products of integers: which they are, and what their result is."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .library import FLOATS, INTEGERS, Operands, converted, is_integer, name_of, require_torch
from .prepared import SINGLE


def common_dtype(operands: Operands, c: Any = None) -> Any:
    """The dtype that the operands and C promote to by the rules of their library. It is a dtype of NumPy, or of torch for
    tensors on a device; TypeError without one."""
    torch, common = operands.torch, operands.a.dtype
    for name, x, others in (("b", operands.b, "a"), ("c", c, "a and b")):
        if x is None:
            continue
        if torch is None:
            common = np.promote_types(common, x.dtype)
            continue
        first, second = (getattr(torch, name_of(each)) for each in (common, x.dtype))
        try:
            common = torch.promote_types(first, second)
        except RuntimeError:
            raise TypeError(
                f"{name}: torch has no common dtype of {second} and {first}, that of {others}; convert one of them"
            ) from None
    return common if torch is None or operands.on_device else np.dtype(name_of(common))


def unify_update(operands: Operands, c: Any) -> tuple[Operands, Any, Any]:
    """Operands and C (or None) that have integers, as all of integers or none; and the dtype of a product of integers, else None.
    Integers with a common dtype of floating-point numbers are converted to real numbers, each entry rounded once."""
    common = common_dtype(operands, c)
    if is_integer(common):
        return operands, c, common
    a, b, c = (_real(x, name_of(common)) for x in (*operands[:2], c))
    return operands._replace(a=a, b=b), c, None


def unify_to(operands: Operands, dtype: Any) -> tuple[Operands, Any, str | None]:
    """As :func:`unify_update` without C, for a result of the dtype that is asked for (None: what both promote to), and its name.
    Integers stay so next to an integer dtype."""
    if dtype is None:
        if not operands.has_integers:
            return operands, None, None
        operands, _, integer = unify_update(operands, None)
        return operands, integer, None
    name = result_dtype(dtype, operands.a.dtype, operands.b.dtype)
    if is_integer(name):
        return operands, getattr(operands.torch, name) if operands.on_device else np.dtype(name), name
    return operands._replace(a=_real(operands.a, name), b=_real(operands.b, name)), None, name


def _real(x: Any, common: str) -> Any:
    """Integers as real numbers of the precision of a dtype; anything else as it is."""
    if x is None or not is_integer(x.dtype):
        return x
    return converted(x, "float32" if common in SINGLE else "float64")


def dtype_name(dtype: Any) -> str:
    """The name of a dtype of NumPy or torch, or of what NumPy makes one of; TypeError for all else."""
    text = str(dtype)
    try:
        return text.removeprefix("torch.") if text.startswith("torch.") else np.dtype(dtype).name
    except TypeError:
        raise TypeError(f"dtype: {dtype!r} is no dtype") from None


def result_dtype(asked: Any, *dtypes: Any) -> str:
    """The name of a dtype that is asked for of a product of operands of these. ValueError for one that is narrower than the
    floating-point operands, or of another kind.

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
            f"dtype: {name} is not a result type of {given} operands; allowed are {', '.join(sorted(allowed))}; convert the "
            "operands"
        )
    return name


@lru_cache(maxsize=64)
def entry_bits(dtype: Any) -> int:
    """Bits of a plan for integers of a dtype: one more than their magnitudes have."""
    name = name_of(dtype)
    return 2 if name == "bool" else np.iinfo(name).bits + name.startswith("u")


def words_of(x: Any) -> Any:
    """A tensor of integers as one of 64 bits, int64: those of uint64 by their bits."""
    torch = require_torch()
    name = name_of(x.dtype)
    if name == "uint64":
        return x.view(torch.int64)
    if name in ("uint16", "uint32"):  # torch computes with few of them
        bits = np.iinfo(name).bits
        return x.view(getattr(torch, f"int{bits}")).to(torch.int64) & (2**bits - 1)
    return x.to(torch.int64)
