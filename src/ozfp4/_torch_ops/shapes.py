"""Facts of a product that need no computing: shape, dtype and device, for tensors without entries (fake, meta). Also the place of
the axis that ``torch.vmap`` maps, the first one of a stack.

No entry of a product depends on another matrix of its stack, so that the bits are those of one product after the other. Extents
may be symbols: they are compared, and never read as numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .._options import Options
from .._request import library
from .._request.integers import result_dtype
from .._request.library import require_torch
from .._request.operands import MatmulShape, check_addend_shape, check_matrices, matmul_shape

torch: Any = require_torch()


class Like(NamedTuple):
    """A tensor's form, without its entries."""

    shape: Any
    dtype: Any


def of_product(a: Any, b: Any, alpha: Any = 1, beta: Any = 0, c: Any = None, **settings: Any) -> Any:
    """The result of matmul or gemm, without entries."""
    _check(settings, a=a, b=b)
    shape = matmul_shape(tuple(a.shape), tuple(b.shape)).result
    dtype = _dtype_of(settings, torch.promote_types(a.dtype, b.dtype), a, b)
    if c is not None:
        _check({}, a=a, c=c)
        check_addend_shape(c, shape)
        dtype = torch.promote_types(dtype, c.dtype)
    return a.new_empty(shape, dtype=dtype)


def of_gram(a: Any, *, left: bool = False, **settings: Any) -> Any:
    _check(settings, a=a)
    check_matrices(tuple(a.shape))
    lines = a.shape[-2] if left else a.shape[-1]
    return a.new_empty((*a.shape[:-2], lines, lines), dtype=_dtype_of(settings, a.dtype, a))


def _dtype_of(settings: dict[str, Any], own: Any, *operands: Any) -> Any:
    """The result's dtype: the requested one, or its own."""
    asked = settings.get("dtype")
    return own if asked is None else getattr(torch, result_dtype(asked, *(x.dtype for x in operands)))


def _check(settings: dict[str, Any], **tensors: Any) -> None:
    """TypeError or ValueError for what no product takes, before anything is computed."""
    Options.of(settings)
    for name, x in tensors.items():
        library.check_kind(name, x)
        library.check_device(name, x, tensors["a"])


# ---- Mapped axes


def mapped_product(info: Any, in_dims: Any, a: Any, b: Any, *factors: Any, **settings: Any) -> Any:
    """The product of mapped operands; gemm has `factors` and perhaps C."""
    one = matmul_shape(_unmapped(a, in_dims[0]), _unmapped(b, in_dims[1]))
    a, b = _stacked(a, in_dims[0], 0), _stacked(b, in_dims[1], 0)
    a, b = a.unsqueeze(-2) if one.a_vector else a, b.unsqueeze(-1) if one.b_vector else b
    axes = len(one.stack) + 2
    a, b = (x if dim is None else _stacked(x, 0, axes) for x, dim in zip((a, b), in_dims, strict=False))
    if len(factors) > 2 and (c := factors[2]) is not None:
        dim = in_dims[4]
        check_addend_shape(Like(_unmapped(c, dim), c.dtype), one.result)
        c = _stacked(c, dim, len(one.result))
        if dim is None:
            c = c.reshape((*(1,) * (len(one.result) - c.ndim), *c.shape))
        c = c.unsqueeze(-1) if one.b_vector else c
        c = c.unsqueeze(-2) if one.a_vector else c
        factors = (*factors[:2], c)
        if in_dims[0] is None and in_dims[1] is None:  # the result's stack is that of A and B
            a = a.expand(info.batch_size, *(1,) * (axes - a.ndim), *a.shape)
    operator = torch.ops.ozfp4.gemm if factors else torch.ops.ozfp4.matmul
    return without_lines(one, operator.default(a, b, *factors, **settings)), 0


def mapped_gram(info: Any, in_dims: Any, a: Any, **settings: Any) -> Any:
    a = a.movedim(in_dims[0], 0)
    check_matrices(tuple(a.shape[1:]))
    return torch.ops.ozfp4.gram.default(a, **settings), 0


def without_lines(one: MatmulShape, c: Any) -> Any:
    """A result without the axes that vectors lack."""
    c = c.squeeze(-2) if one.a_vector else c
    return c.squeeze(-1) if one.b_vector else c


def _unmapped(x: Any, dim: int | None) -> tuple[int, ...]:
    """The shape without the mapped axis."""
    return tuple(extent for axis, extent in enumerate(x.shape) if axis != dim)


def _stacked(x: Any, dim: int | None, axes: int) -> Any:
    """With a mapped axis first, and at least so many axes behind it, new ones of one entry next to it."""
    if dim is None:
        return x
    x = x.movedim(dim, 0)
    return x.reshape((x.shape[0], *(1,) * (axes + 1 - x.ndim), *x.shape[1:]))
