"""``ozfp4.prepare``: an operand that is scaled and encoded once, for any number of products."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends import cpu
from ..backends.cuda.keep import keep
from ..dispatch import on_cpu, on_cuda
from ..plans.plan import Plan
from ..request import library
from ..request.arguments import Arguments, check_arguments
from ..request.operands import LONGEST_CERTIFIED, MatmulRequest, matmul_request
from ..request.prepared import SIDES, Prepared, is_watched, watch


def prepare(
    x: Any,
    side: str,
    *,
    scheme: str = "II",
    backend: str = "auto",
    bits: int | None = None,
    family: str = "least",
    plan: Plan | None = None,
    accuracy: str | None = None,
    dtype: Any = None,
) -> Prepared:
    """Scale and encode an operand once, for any number of products: ``matmul(a, prepare(b, "right"))`` has the bits of
    ``matmul(a, b)``.

    On the CPU the entries are copied, on a GPU they are not. Later changes of a NumPy array are not seen; a product of a tensor
    that was modified in place since, by torch's count, is refused, on the CPU as long as that tensor is there.

    Parameters
    ----------
    x : array_like or torch.Tensor
        float64 or float32, 2-D or a stack of matrices, any strides.
    side : {"left", "right"}
        Where it will stand: ``matmul(prepared, b)`` or ``matmul(a, prepared)``.
    scheme, backend, bits, family, plan, accuracy
        As in :func:`ozfp4.matmul`, for all products of it. "correct" serves every rounding.
    dtype : dtype, optional
        Of the results: float64, or float32, which only float32 operands have; by default that of `x`. float32 entries that
        will meet float64 ones need float64 here.

    Returns
    -------
    Prepared
        With `shape`, `dtype`, `side`, `plan`, `accuracy`, `result_dtype`, `device` and `nbytes`; prints as a table.

    Examples
    --------
    >>> import numpy as np, ozfp4
    >>> b = prepare(np.eye(3), "right", backend="int8")
    >>> b.shape, b.side, b.accuracy
    ((3, 3), 'right', 'fp64')
    >>> ozfp4.matmul(np.arange(6.0).reshape(2, 3), b)
    array([[0., 1., 2.],
           [3., 4., 5.]])

    Raises
    ------
    TypeError, ValueError, RuntimeError, MemoryError
        As :func:`ozfp4.matmul`; ValueError for an unknown side, `x` of fewer than two dimensions, and a `dtype` that no
        product of `x` has.
    """
    if not isinstance(side, str) or side not in SIDES:
        raise ValueError(f"side: {side!r} is unknown; allowed are 'left', 'right'")
    if isinstance(x, Prepared):
        raise TypeError("x: it is prepared already")
    asked = check_arguments(scheme, backend, bits, family, plan, accuracy=accuracy)
    operands = library.take_operand("x", x, library.FLOATS)
    entries = operands.a
    if entries.ndim < 2:
        raise ValueError(
            f"x: a matrix or a stack of matrices is needed, its shape is {tuple(entries.shape)}; pass vectors as they are"
        )
    request = _request(operands, side, asked, dtype)
    if request.shape.k > LONGEST_CERTIFIED:
        raise ValueError(
            f"x: its lines are counted up to K <= 2**31, the inner dimension is {request.shape.k}"
        )
    decision = (on_cuda if operands.on_device else on_cpu).decide(request)
    made = decision.plan
    if operands.on_device:
        entries = entries if is_watched(x) else entries.clone()
        held = None
        if decision.variant is not None:
            held = keep(entries, side, made, decision.variant, asked.accuracy, request.single)
        nbytes = 0 if held is None else held.nbytes
    else:
        entries, held = cpu.prepare(entries, side, made, asked.accuracy, request.single)
        nbytes = entries.nbytes + (0 if held is None else held.nbytes)
        entries = entries if operands.torch is None else operands.torch.from_numpy(entries)
    watched = is_watched(x)
    return Prepared(
        shape=tuple(entries.shape),
        dtype=entries.dtype,
        side=side,
        plan=made,
        accuracy=asked.accuracy,
        result_dtype="float32" if request.single else "float64",
        device=str(entries.device) if operands.on_device else "cpu",
        nbytes=nbytes,
        _entries=entries,
        _held=held,
        _watched=watch(x) if watched else None,
        _version=x._version if watched else 0,
    )


def _request(operands: library.Operands, side: str, asked: Arguments, dtype: Any) -> MatmulRequest:
    """The product of the operand with one line, of the dtype that makes the result's; its entries are not looked at."""
    x = operands.a
    single = np.dtype(np.float32)
    own = single if str(x.dtype).rpartition(".")[2] == "float32" else np.dtype(np.float64)
    result = own if dtype is None else _float_dtype(dtype, operands.torch)
    if result not in library.FLOATS or (result == single and own != single):
        raise ValueError(
            f"dtype: {dtype!r} is of no product of {own} entries; allowed are {_ALLOWED[own == single]}"
        )
    inner = x.shape[-1] if side == "left" else x.shape[-2]
    shape = (inner, 1) if side == "left" else (1, inner)
    if operands.on_device:
        line = operands.torch.empty((), dtype=getattr(operands.torch, result.name), device=x.device).expand(
            shape
        )
    else:
        line = np.broadcast_to(np.zeros((), result), shape)
    both = operands._replace(b=line) if side == "left" else operands._replace(a=line)
    return matmul_request(both, asked)


_ALLOWED = {True: "float32, float64", False: "float64"}


def _float_dtype(dtype: Any, torch: Any) -> np.dtype[Any]:
    """A dtype of NumPy or torch as NumPy's; TypeError for what is none."""
    name = str(dtype).rpartition(".")[2] if torch is not None and isinstance(dtype, torch.dtype) else dtype
    try:
        return np.dtype(name)
    except TypeError:
        raise TypeError(f"dtype: {dtype!r} is no dtype; allowed are float32, float64") from None
