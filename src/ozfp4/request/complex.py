"""A product of complex matrices as one real product, whose results are the real and the imaginary parts.

Two complex operands: a row of A as it lies, (re, im) side by side, is a real row of 2 K entries; every entry of B becomes

     re  im
    -im  re

so that columns 2 j and 2 j + 1 of the real product are the parts of column j: C as it lies. Each pair (p, q) of an even column
is (-q, p) in the odd one behind it, which plans of complex products rely on. One real operand: the parts of the other one,
each by itself, as 2 N columns of B, or as a stack of two matrices A. Lazily conjugated operands are written out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ..support.fp_mode import in_default_mode
from .library import is_tensor, require_torch
from .operands import MatmulRequest, MatmulShape
from .prepared import NEITHER, Prepared, Sides


def is_complex(x: Any) -> bool:
    """Whether an array or a tensor holds complex numbers."""
    return bool(x.dtype.is_complex if is_tensor(x) else x.dtype.kind == "c")


def are_paired(a: Any, b: Any) -> bool:
    """Whether both are complex: a plan of complex products takes their real form (csrc/plan/plan.hpp, kPair)."""
    return is_complex(a) and is_complex(b)


def real_shape(request: MatmulRequest, m: int, n: int) -> MatmulShape:
    """Extents of the real product for m rows and n columns of the result: m × 2 k by 2 k × 2 n; m × k by k × 2 n where A is real;
    two of m × k by k × n where B is."""
    stack, k = request.shape.stack, request.shape.k
    if not is_complex(request.b):
        stack = (2, *stack)
    else:
        n, k = 2 * n, 2 * k if is_complex(request.a) else k
    return MatmulShape(stack, m, n, k, False, False, (*stack, m, n))


def matrices(shape: MatmulShape, result: Any) -> Any:
    """A result of the caller's shape with both matrix axes, as a view."""
    result = result[..., None] if shape.b_vector else result
    return result[..., None, :] if shape.a_vector else result


def parts(x: Any) -> Any:
    """The real and imaginary parts along one more axis, the last, as a view; those that lie in memory where `x` is lazily
    conjugated."""
    if is_tensor(x):
        return require_torch().view_as_real(x.conj() if x.is_conj() else x)
    return x[..., np.newaxis].view(x.real.dtype)


def merged(x: Any, axis: int) -> Any:
    """`x` with an axis and the next one as one, `axis` counted from the end: a view where their strides allow it, else a copy."""
    at = x.ndim + axis
    return x.reshape((*x.shape[:at], x.shape[at] * x.shape[at + 1], *x.shape[at + 2 :]))


def lie_together(x: Any, y: Any) -> bool:
    """Whether `x`, a view or a copy of `y` or the other way round, is a view. Of arrays without entries it is taken for none."""
    return bool(x.data_ptr() == y.data_ptr() if is_tensor(x) else np.may_share_memory(x, y))


def with_matrix_axes(a: Any, b: Any) -> tuple[Any, Any]:
    """Views with both matrix axes and equally many axes of stacks."""
    rows = a[None, :] if a.ndim == 1 else a
    columns = b[:, None] if b.ndim == 1 else b
    axes = max(rows.ndim, columns.ndim)
    return rows[(None,) * (axes - rows.ndim)], columns[(None,) * (axes - columns.ndim)]


def real_result(c: Any, is_stacked: bool) -> Any:
    """Where the parts of `c`, with both matrix axes, are the result of the real product: a view, or where columns are apart in
    memory, new memory. `is_stacked`: the parts are two matrices."""
    held = parts(c)
    if not is_stacked:
        return merged(held, -2)
    return held.movedim(-1, 0) if is_tensor(held) else np.moveaxis(held, -1, 0)


def put_parts(c: Any, found: Any, is_stacked: bool) -> None:
    """Write the result of the real product into `c`, with both matrix axes, unless it is there already."""
    held = parts(c)
    if lie_together(held, found):
        return
    if is_stacked:
        real_result(c, is_stacked)[...] = found
    else:
        held[...] = found.reshape(held.shape)


def copied_bytes(a: Any, b: Any, prepared: Sides = NEITHER) -> tuple[int, int]:
    """How many bytes :func:`real_operands` copies or makes for each row of `a` and for each column of `b`."""
    a, b = distinct(a), distinct(b)
    row, column = (prod(x.shape[:-2]) * k * x.itemsize for x, k in ((a, a.shape[-1]), (b, a.shape[-1])))
    if is_complex(a) and is_complex(b):
        copied = _copied(a, row), 2 * column
    elif is_complex(b):
        copied = 0, _copied(b, column)
    else:
        copied = (row if _is_conjugated(a) else 0), 0
    return copied[0] if prepared.a is None else 0, copied[1] if prepared.b is None else 0


def _copied(x: Any, line: int) -> int:
    """Of `line` bytes, those of a copy with the parts of a row in order."""
    return line if _is_conjugated(x) or not has_neighbours(x) else 0


def has_neighbours(x: Any) -> bool:
    """Whether the entries of a row follow each other in memory."""
    step = x.stride(-1) * x.itemsize if is_tensor(x) else x.strides[-1]
    return bool(x.shape[-1] == 1 or step == x.itemsize)


def real_operands(
    a: Any, b: Any, expand: Callable[[Any], Any] | None = None, prepared: Sides = NEITHER
) -> tuple[Any, Any]:
    """The operands of the real product of what :func:`with_matrix_axes` gives; at least one of them is complex. `expand` makes
    the columns of two complex ones, where there are entries, faster than this does. Those in `prepared` are taken as they are.

    Axes of a stack that only repeat one matrix have the extent 1.
    """
    is_paired = are_paired(a, b)
    x, y = (
        real_form(entries, side, is_paired, expand)
        if made is None or made._real is None
        else _with_stack(made, made._real, entries.ndim - 2)
        for side, entries, made in (("left", a, prepared.a), ("right", b, prepared.b))
    )
    return x, y


@in_default_mode
def real_form(x: Any, side: str, is_paired: bool, expand: Callable[[Any], Any] | None = None) -> Any:
    """One of them; `is_paired`: the other one is complex too."""
    x = distinct(x)
    if not is_complex(x):
        return x
    if is_paired and side == "right":
        return _blocks(x) if expand is None or 0 in x.shape else expand(x)
    if is_paired or side == "right":
        return merged(parts(_resolved(x)), -2)
    return real_result(_resolved(x), is_stacked=True)


def _with_stack(made: Prepared, real: Any, axes: int) -> Any:
    """The real form of a prepared operand with so many axes of a stack, which come behind that of its parts."""
    at = 1 if made.side == "left" and made.other == "real" else 0
    return real[(slice(None),) * at + (None,) * (axes + at + 2 - real.ndim)]


def distinct(x: Any) -> Any:
    """`x` with one matrix along those axes of its stack that repeat it."""
    strides = x.stride() if is_tensor(x) else x.strides
    once = tuple(slice(0, 1) if stride == 0 else slice(None) for stride in strides[:-2])
    return x[once] if slice(0, 1) in once else x


def _is_conjugated(x: Any) -> bool:
    return bool(is_tensor(x) and x.is_conj())


def _resolved(x: Any) -> Any:
    """`x`, or where it is lazily conjugated a copy in C order that is not."""
    if not _is_conjugated(x):
        return x
    torch = require_torch()
    return torch.empty(x.shape, dtype=x.dtype, device=x.device).copy_(x)


def _blocks(b: Any) -> Any:
    """k × n complex as 2 k × 2 n real, in the order of axes in which `b` lies."""
    *stack, k, n = b.shape
    strides = b.stride() if is_tensor(b) else b.strides
    by_columns = abs(strides[-2]) < abs(strides[-1])
    extents = (*stack, n, 2, k, 2) if by_columns else (*stack, k, 2, n, 2)
    held = parts(b)
    blocks: Any
    if is_tensor(b):
        torch = require_torch()
        blocks, negative = torch.empty(extents, dtype=held.dtype, device=b.device), torch.neg
    else:
        # np.negative of NumPy 2.4 reads the wrong entries where they lie 16 or 64 bytes apart and `out` has gaps.
        blocks, negative = np.empty(extents, held.dtype), partial(np.multiply, -1)
    if by_columns:
        axes = (*range(len(stack)), *(len(stack) + axis for axis in (2, 3, 0, 1)))
        blocks = blocks.permute(axes) if is_tensor(b) else blocks.transpose(axes)
    re, im = held[..., 0], held[..., 1]
    above, below = blocks[..., 0, :, :], blocks[..., 1, :, :]
    below[..., 1] = re
    if _is_conjugated(b):
        above[..., 0] = re
        negative(im, out=above[..., 1])
        below[..., 0] = im
    else:
        above[...] = held
        negative(im, out=below[..., 0])
    return merged(merged(blocks, -2), -3)
