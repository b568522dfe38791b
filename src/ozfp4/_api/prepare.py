"""``ozfp4.prepare``: an operand that is scaled and encoded once, for any number of products."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from .._dispatch import on_cuda, plain
from .._dispatch.decision import plan_of, precision
from .._options import Options, PlanOptions, check_name, check_taken, takes
from .._request import library
from .._request.dlpack import any_library
from .._request.integers import result_dtype
from .._request.prepared import OTHERS, SIDES, SINGLE, Prepared
from .matmul import matmul

if TYPE_CHECKING:
    from typing_extensions import Unpack


@takes(PlanOptions)
def prepare(
    x: Any, side: str, *, dtype: Any = None, other: str = "complex", **options: Unpack[PlanOptions]
) -> Prepared:
    """Scale and encode an operand once, for any number of products.

    ``matmul(a, prepare(b, "right"))`` has the bits of ``matmul(a, b)``.

    Parameters
    ----------
    x : array_like or torch.Tensor
        As in :func:`ozfp4.matmul`, 2-D or a stack of matrices, no integers.
    side : {"left", "right"}
        The side of the products: ``matmul(prepared, b)`` or ``matmul(a, prepared)``.
    accuracy, scheme, backend, plan
        As in :func:`ozfp4.matmul`, for all products of the operand. "correct" has every rounding.
    dtype : dtype, optional
        dtype of the results: float64, or float32 for a float32 `x`; by default that of `x`. Pass
        float64 if a float32 `x` will meet float64 operands. For a complex `x` likewise complex128
        or complex64.
    other : {"complex", "real"}
        The other operands of a complex `x`. With complex ones both parts of a row or column are
        scaled alike, with real ones each by itself. A real `x` is prepared for both.

    Returns
    -------
    Prepared

    Raises
    ------
    TypeError, ValueError, RuntimeError, MemoryError
        As :func:`ozfp4.matmul`; ValueError for an unknown `side` or `other`, for `x` of fewer than
        two dimensions, and for a `dtype` that products of `x` cannot have.

    Notes
    -----
    On a CPU the entries are copied. A GPU copies those of a complex operand only if their layout
    requires it (a right operand then takes twice its size). Later changes of a NumPy array have
    no effect. A product with a tensor that was modified in place since is refused. If the entries
    are a copy, this holds as long as the tensor exists.

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
    """
    check_taken(prepare, options)
    return _prepare(x, side, dtype, other, Options.of(options))


plain.products["prepare"] = prepare
Prepared.multiply = staticmethod(matmul)


@any_library
def _prepare(x: Any, side: str, dtype: Any, other: str, asked: Options, copies: bool = False) -> Prepared:
    """The operand itself, of any library; `copies`: what a device keeps is its own, and no version of `x` is watched."""
    check_name("side", side, SIDES)
    check_name("other", other, OTHERS)
    if isinstance(x, Prepared):
        raise TypeError("x: is already a prepared operand")
    operands = library.take_operand("x", x, library.NUMBERS)
    entries = operands.a
    if entries.ndim < 2:
        raise ValueError(
            f"x: a matrix or a stack of matrices is needed, its shape is {tuple(entries.shape)}; pass vectors as they are"
        )
    result = library.name_of(entries.dtype) if dtype is None else result_dtype(dtype, entries.dtype)
    is_complex = library.is_complex(entries.dtype)
    is_counted = not copies and library.is_tensor(x) and not x.is_inference()  # by torch, as modified
    single = result in SINGLE
    if operands.on_device:
        held, made, nbytes, kept = on_cuda.prepare(entries, side, other, asked, single, stays=is_counted)
    else:
        held = _core.prepare(entries, side == "right", other == "real", precision(single), asked)
        made, nbytes, kept = plan_of(asked, held.plan), held.nbytes, None
    return Prepared(
        shape=tuple(entries.shape),
        dtype=entries.dtype if operands.torch is None else x.dtype,
        side=side,
        plan=made,
        accuracy=asked.accuracy,
        result_dtype=result,
        device=str(entries.device) if operands.on_device else "cpu",
        nbytes=nbytes,
        other=other if is_complex else "any",
        _entries=_shape_of(operands) if kept is None else kept,
        _held=held,
        # A view is short-lived, and modified where its base is.
        _watched=weakref.ref(x if x._base is None else x._base) if is_counted else None,
        _version=x._version if is_counted else 0,
    )


def _shape_of(operands: library.Operands) -> Any:
    """A stand-in for an operand that does not keep its entries: zeros of its shape and dtype, one in memory."""
    x, torch = operands.a, operands.torch
    if torch is None:
        return np.broadcast_to(np.zeros((), x.dtype), x.shape)
    device = x.device if operands.on_device else "cpu"
    return torch.zeros((), dtype=getattr(torch, library.name_of(x.dtype)), device=device).expand(x.shape)
