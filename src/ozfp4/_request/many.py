"""Any number of operands of one library, and where the result goes: checked before anything is computed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, cast

import numpy as np

from .._support.fp_mode import in_default_mode
from . import remedies
from .complex import is_complex
from .integers import result_dtype
from .library import (
    TAKEN,
    array_of_tensor,
    as_array,
    check_dtype,
    check_kind,
    check_not_lazy,
    check_storage,
    check_tensor,
    is_dtensor,
    is_tensor,
    require_torch,
)
from .out import check_out


def take_all(
    operands: Sequence[Any], out: Any, names: Sequence[str] = (), *, is_watched: bool = False
) -> tuple[list[Any], Any]:
    """The operands as arrays, or as tensors on one device, and the library that they are of; `names` are what errors call them.
    `is_watched`: torch has to see what is made of the tensors, so that they stay what they are.

    Raises
    ------
    TypeError
        NumPy mixed with torch, dtypes that no product takes, kinds of arrays or tensors that no product takes.
    RuntimeError
        Tensors on different devices, or where no product runs; `out` beside tensors that are watched.
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
        return [check_dtype(name, as_array(name, x), TAKEN) for name, x in named.items()], np
    torch = require_torch()
    device = operands[0].device
    for name, x in (named if out is None else named | {"out": out}).items():
        if is_watched:
            _check_watched(name, x)
        else:
            check_tensor(name, x)
        if x.device.type not in ("cpu", "cuda"):
            raise RuntimeError(
                f"{name}: device {x.device} has no kernel; tensors lie on the CPU or on a CUDA device"
            )
        if x.device != device:
            raise RuntimeError(
                f"{name}: device {x.device} differs from {device}, where {next(iter(named))} lies"
            )
    if out is not None:
        check_not_lazy(out)
    if is_watched:
        if out is not None:
            raise RuntimeError(
                "out: it is not for tensors that require grad, or that torch traces, maps or watches; leave it out"
            )
        return list(operands), torch
    return [x.detach() for x in operands], torch


def _check_watched(name: str, tensor: Any) -> None:
    """TypeError for a tensor that no operator here takes, RuntimeError for one whose storage is too small."""
    if is_dtensor(tensor):
        raise TypeError(f"{name}: a DTensor has no place here; ozfp4.matmul and gemm multiply DTensors")
    check_kind(name, tensor)
    if type(tensor) in (require_torch().Tensor, require_torch().nn.Parameter):
        check_storage(name, tensor)


@in_default_mode
def of_one_dtype(
    operands: Sequence[Any], library: Any, asked: Any = None, *, is_watched: bool = False
) -> tuple[list[Any], Any]:
    """The operands in the dtype that all of them promote to, or the wider one that is asked for, so that no sum before the last
    is rounded to less, and that dtype; real ones beside complex ones in its real dtype. TypeError where the library has none."""
    try:
        # NumPy's own rule for more than two, as its promotion of two is not associative: int16, uint16, float32 are float32.
        dtypes = [x.dtype for x in operands]
        dtype = np.result_type(*dtypes) if library is np else reduce(library.promote_types, dtypes)
    except RuntimeError as error:
        raise TypeError(f"operands: torch has no common dtype of all: {error}; convert them") from None
    if asked is not None:
        name = result_dtype(asked, dtype)
        dtype = np.dtype(name) if library is np else getattr(library, name)
    real: Any = np.empty(0, dtype).real.dtype if library is np else cast("Any", dtype).to_real()
    wanted = [dtype if is_complex(x) else real for x in operands]
    return [_converted(x, each, is_watched) for x, each in zip(operands, wanted, strict=True)], dtype


def _converted(x: Any, dtype: Any, is_watched: bool) -> Any:
    """The entries in a dtype, each rounded once; the operand itself where it has it."""
    if x.dtype == dtype:
        return x
    if not is_tensor(x):
        return x.astype(dtype)
    if x.device.type != "cpu" or is_watched:
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
