"""``ozfp4.prepare``: an operand that is scaled and encoded once, for any number of products."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._options import Options, PlanOptions, check_taken, takes
from ..backends.cuda import pairs
from ..backends.cuda.keep import keep
from ..dispatch import on_cpu, on_cuda, plain
from ..request import complex as forms
from ..request import library
from ..request.dlpack import any_library
from ..request.operands import LONGEST_CERTIFIED, MatmulRequest, matmul_request
from ..request.prepared import DOUBLE, OTHERS, SIDES, SINGLE, Prepared, is_watched, watch
from .matmul import matmul

if TYPE_CHECKING:
    from typing_extensions import Unpack


@takes(PlanOptions)
def prepare(
    x: Any, side: str, *, dtype: Any = None, other: str = "complex", **options: Unpack[PlanOptions]
) -> Prepared:
    """Scale and encode an operand once, for any number of products: ``matmul(a, prepare(b, "right"))`` has the bits of
    ``matmul(a, b)``.

    On the CPU the entries are copied, on a GPU those of a complex operand where they do not lie as they are multiplied (on the
    right to twice their size), others not. Later changes of a NumPy array are not seen; a product of a tensor that was modified
    in place since, by torch's count, is refused, if its entries are a copy as long as that tensor is there.

    Parameters
    ----------
    x : array_like or torch.Tensor
        float64, float32, complex128 or complex64, 2-D or a stack of matrices, any strides; a tensor may be conjugated or
        negated lazily.
    side : {"left", "right"}
        Where it will stand: ``matmul(prepared, b)`` or ``matmul(a, prepared)``.
    scheme, backend, plan, accuracy
        As in :func:`ozfp4.matmul`, for all products of it. "correct" serves every rounding.
    dtype : dtype, optional
        Of the results: float64, or float32, which only float32 operands have; by default that of `x`. float32 entries that
        will meet float64 ones need float64 here. Of a complex `x` likewise complex128 or complex64.
    other : {"complex", "real"}
        What a complex `x` will be multiplied with: for complex operands the parts of a line are scaled alike, for real ones each
        by itself. A real `x` serves both.

    Returns
    -------
    Prepared
        With `shape`, `dtype`, `side`, `plan`, `accuracy`, `result_dtype`, `other`, `device` and `nbytes`; prints as a
        table.

    Examples
    --------
    >>> import numpy as np, ozfp4
    >>> b = prepare(np.eye(3), "right", backend="int8")
    >>> b.shape, b.side, b.accuracy
    ((3, 3), 'right', 'standard')
    >>> np.arange(6.0).reshape(2, 3) @ b
    array([[0., 1., 2.],
           [3., 4., 5.]])
    >>> ozfp4.matmul(np.array([[1, 1j]]), prepare(np.array([[1j], [2 - 1j]]), "right"))
    array([[1.+3.j]])

    Raises
    ------
    TypeError, ValueError, RuntimeError, MemoryError
        As :func:`ozfp4.matmul`; ValueError for an unknown `side` or `other`, `x` of fewer than two dimensions, and a `dtype`
        that no product of `x` has.
    """
    check_taken(prepare, options)
    return _prepare(x, side, dtype, other, Options.of(options))


plain.products["prepare"] = prepare
Prepared.multiply = staticmethod(matmul)


@partial(any_library, keeps=True)
def _prepare(x: Any, side: str, dtype: Any, other: str, asked: Options, copies: bool = False) -> Prepared:
    """The operand itself, of any library; `copies`: what a device keeps is its own, and no version of `x` is watched."""
    if not isinstance(side, str) or side not in SIDES:
        raise ValueError(f"side: {side!r} is unknown; allowed are 'left', 'right'")
    if not isinstance(other, str) or other not in OTHERS:
        raise ValueError(f"other: {other!r} is unknown; allowed are 'complex', 'real'")
    if isinstance(x, Prepared):
        raise TypeError("x: it is prepared already")
    operands = library.take_operand("x", x, library.NUMBERS)
    entries = operands.a
    if entries.ndim < 2:
        raise ValueError(
            f"x: a matrix or a stack of matrices is needed, its shape is {tuple(entries.shape)}; pass vectors as they are"
        )
    result = _result_dtype(entries.dtype, dtype, operands.torch)
    is_complex = forms.is_complex(entries)
    is_paired = is_complex and other == "complex"
    request = _request(operands, side, asked, result, other)
    if request.shape.k > LONGEST_CERTIFIED:
        raise ValueError(
            f"x: its lines are counted up to K <= 2**31, the inner dimension is {request.shape.k}"
        )
    watched = not copies and is_watched(x)
    held, real = None, None
    if operands.on_device:
        decision = on_cuda.decide(request)
        made = decision.plan
        real = forms.real_form(entries, side, is_paired, pairs.expand) if is_complex else entries
        if not watched and forms.lie_together(real, x):
            real = real.clone()
        own = None if forms.lie_together(real, x) else real
        if decision.variant is not None:
            held = keep(real, side, made, decision.variant, asked.accuracy, request.single)
            held = replace(held, own=own)
        kept = entries if is_complex and own is None else _shape_of(operands) if is_complex else real
    else:
        held, made = on_cpu.prepare(entries, side, other, asked, request.single)
        kept = _shape_of(operands)
    return Prepared(
        shape=tuple(entries.shape),
        dtype=entries.dtype if operands.torch is None else x.dtype,
        side=side,
        plan=made,
        accuracy=asked.accuracy,
        result_dtype=result.name,
        device=str(entries.device) if operands.on_device else "cpu",
        nbytes=0 if held is None else held.nbytes,
        other=other if is_complex else "any",
        _entries=kept,
        _held=held,
        _real=real if is_complex else None,
        _watched=watch(x) if watched else None,
        _version=x._version if watched else 0,
    )


def _shape_of(operands: library.Operands) -> Any:
    """A stand-in for an operand whose entries are not kept: zeros of its shape and dtype, one in memory."""
    x, torch = operands.a, operands.torch
    if torch is None:
        return np.broadcast_to(np.zeros((), x.dtype), x.shape)
    device = x.device if operands.on_device else "cpu"
    return torch.zeros((), dtype=getattr(torch, library.name_of(x.dtype)), device=device).expand(x.shape)


def _request(
    operands: library.Operands, side: str, asked: Options, result: np.dtype[Any], other: str
) -> MatmulRequest:
    """The real product of the operand with one line, of the dtype that makes the result's; its entries are not looked at."""
    x = operands.a
    is_complex = forms.is_complex(x)
    name = result.name
    if is_complex and other == "real":
        name = DOUBLE[0] if name in DOUBLE else SINGLE[0]
    inner = x.shape[-1] if side == "left" else x.shape[-2]
    shape = (inner, 1) if side == "left" else (1, inner)
    if operands.on_device:
        line = operands.torch.empty((), dtype=getattr(operands.torch, name), device=x.device).expand(shape)
    else:
        line = np.broadcast_to(np.zeros((), name), shape)
    both = operands._replace(b=line) if side == "left" else operands._replace(a=line)
    request = matmul_request(both, asked)
    if not is_complex:
        return request
    real = forms.real_shape(request, request.shape.m, request.shape.n)
    return replace(request, shape=real, is_complex=False, is_paired=other == "complex")


def _result_dtype(own: Any, asked: Any, torch: Any) -> np.dtype[Any]:
    """Of products of entries of a dtype: what is asked for, or their own; ValueError or TypeError where they have no such."""
    name = library.name_of(own)
    kind = library.is_complex(own)
    allowed = [DOUBLE[kind]] if name in DOUBLE else [SINGLE[kind], DOUBLE[kind]]
    if asked is None:
        return np.dtype(name)
    is_torch = torch is not None and isinstance(asked, torch.dtype)
    try:
        result = np.dtype(library.name_of(asked) if is_torch else asked)
    except TypeError:
        raise TypeError(f"dtype: {asked!r} is no dtype; allowed are {', '.join(allowed)}") from None
    if result.name not in allowed:
        raise ValueError(
            f"dtype: {asked!r} is of no product of {name} entries; allowed are {', '.join(allowed)}"
        )
    return result
