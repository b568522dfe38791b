"""Any number of operands of one library, and where the result goes: checked before anything is computed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, cast

import numpy as np

from ..support.fp_mode import in_default_mode
from . import remedies
from .complex import is_complex
from .library import (
    array_of_tensor,
    as_array,
    check_dtype,
    check_not_lazy,
    check_tensor,
    is_tensor,
    listed,
    require_torch,
)
from .out import check_out


def take_all(
    operands: Sequence[Any], out: Any, allowed: tuple[type, ...], names: Sequence[str] = ()
) -> tuple[list[Any], Any]:
    """The operands as arrays, or as tensors on one device, and the library that they are of; `names` are what errors call them.

    Raises
    ------
    TypeError
        NumPy mixed with torch, dtypes that are not `allowed`, kinds of arrays or tensors that no product takes.
    RuntimeError
        Tensors that require grad, have a tangent, or lie on different devices or where no product runs.
    """
    named = _named(operands, names)
    remedies.check_unprepared(**named)
    kinds = {name: is_tensor(x) for name, x in (named if out is None else named | {"out": out}).items()}
    if len(set(kinds.values())) > 1:
        each = ", ".join(f"{name} is a {'torch tensor' if t else 'NumPy array'}" for name, t in kinds.items())
        raise TypeError(f"NumPy arrays and torch tensors cannot be mixed: {each}")
    if not any(kinds.values()):
        if out is not None and not isinstance(out, np.ndarray):
            raise TypeError(f"out: {type(out).__name__} is neither a NumPy array nor a torch tensor")
        if out is not None:
            as_array("out", out)
        return [check_dtype(name, as_array(name, x), allowed) for name, x in named.items()], np
    torch = require_torch()
    dtypes = [name for t in allowed if hasattr(torch, name := np.dtype(t).name)]
    device = operands[0].device
    for name, x in (named if out is None else named | {"out": out}).items():
        check_tensor(name, x)
        if x.device.type not in ("cpu", "cuda"):
            raise RuntimeError(
                f"{name}: device {x.device} has no kernel; tensors lie on the CPU or on a CUDA device"
            )
        if x.device != device:
            raise RuntimeError(
                f"{name}: device {x.device} differs from {device}, where {next(iter(named))} lies"
            )
        if x.dtype not in [getattr(torch, n) for n in dtypes]:
            raise TypeError(
                f"{name}: dtype {x.dtype} is not supported{remedies.of_torch_dtype(name, x.dtype)}; "
                f"allowed is {listed(allowed, 'torch.')}"
            )
    if out is not None:
        check_not_lazy(out)
    return [x.detach() for x in operands], torch


@in_default_mode
def of_one_dtype(operands: Sequence[Any], library: Any) -> tuple[list[Any], Any]:
    """The operands in the dtype that all of them promote to, so that no sum before the last is rounded to less, and that dtype;
    real ones beside complex ones in its real dtype. TypeError where the library has none."""
    try:
        # NumPy's own rule for more than two, as its promotion of two is not associative: int16, uint16, float32 are float32.
        dtypes = [x.dtype for x in operands]
        dtype = np.result_type(*dtypes) if library is np else reduce(library.promote_types, dtypes)
    except RuntimeError as error:
        raise TypeError(f"operands: torch has no common dtype of all: {error}; convert them") from None
    real: Any = np.empty(0, dtype).real.dtype if library is np else cast("Any", dtype).to_real()
    wanted = [dtype if is_complex(x) else real for x in operands]
    return [_converted(x, each) for x, each in zip(operands, wanted, strict=True)], dtype


def _converted(x: Any, dtype: Any) -> Any:
    """The entries in a dtype, each rounded once; the operand itself where it has it."""
    if x.dtype == dtype:
        return x
    if not is_tensor(x):
        return x.astype(dtype)
    if x.device.type != "cpu":
        return x.to(dtype)
    result = require_torch().empty(x.shape, dtype=dtype, device="cpu")
    array_of_tensor("x", result)[...] = array_of_tensor("x", x)  # threads of torch have modes of their own
    return result


@in_default_mode
def entrywise(x: Any, y: Any) -> Any:
    """The products of entries, each rounded to nearest; extents of 1 go with any. Range: of one dtype, not complex."""
    with np.errstate(all="ignore"):  # as matmul, which warns of nothing
        if not is_tensor(x):
            return np.asarray(x * y)  # NumPy's product of two 0-d arrays is none
        if x.device.type != "cpu":
            return x * y
        torch = require_torch()
        result = torch.empty(torch.broadcast_shapes(x.shape, y.shape), dtype=x.dtype, device="cpu")
        first, second, third = (array_of_tensor("x", z) for z in (x, y, result))
        np.multiply(first, second, out=third)  # threads of torch have modes of their own
        return result


def write(result: Any, out: Any) -> Any:
    """`out` with the result in it, or the result."""
    if out is None:
        return result
    if isinstance(out, np.ndarray):
        out[...] = result
    else:
        out.copy_(result)
    return out


def check_room(
    out: Any, shape: tuple[int, ...], dtype: Any, operands: Sequence[Any], names: Sequence[str] = ()
) -> None:
    """TypeError or ValueError unless `out` can take a result of this shape and dtype; None can."""
    if out is not None:
        check_out(out, shape, dtype, **_named(operands, names))


def _named(operands: Sequence[Any], names: Sequence[str]) -> dict[str, Any]:
    return dict(zip(names or [f"operands[{i}]" for i in range(len(operands))], operands, strict=True))
