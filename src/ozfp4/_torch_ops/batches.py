"""``torch.vmap`` of the operators: the mapped axis becomes the first of a stack. No entry of a product sees another matrix of its
stack, so that the bits are those of one product after the other. Shapes are checked without it, as those of one product are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._request.library import require_torch
from .._request.operands import MatmulShape, check_addend_shape, check_matrices, matmul_shape
from .derivatives import Like

torch: Any = require_torch()


def _matmul(info: Any, in_dims: Any, a: Any, b: Any, **settings: Any) -> Any:
    one, a, b = _operands(in_dims, a, b)
    return without_lines(one, torch.ops.ozfp4.matmul.default(a, b, **settings)), 0


def _gemm(
    info: Any, in_dims: Any, a: Any, b: Any, alpha: Any, beta: Any = 0.0, c: Any = None, **settings: Any
) -> Any:
    one, a, b = _operands(in_dims, a, b)
    if c is not None:
        dim = in_dims[4] if len(in_dims) > 4 else None
        check_addend_shape(Like(_unmapped(c, dim), c.dtype), one.result)
        c = _stacked(c, dim, len(one.result))
        if dim is None:
            c = c.reshape((*(1,) * (len(one.result) - c.ndim), *c.shape))
        c = c.unsqueeze(-1) if one.b_vector else c
        c = c.unsqueeze(-2) if one.a_vector else c
        if in_dims[0] is None and in_dims[1] is None:  # the result's stack is that of A and B
            a = a.expand(info.batch_size, *(1,) * (len(one.stack) + 2 - a.ndim), *a.shape)
    return without_lines(one, torch.ops.ozfp4.gemm.default(a, b, alpha, beta, c, **settings)), 0


def _gram(info: Any, in_dims: Any, a: Any, **settings: Any) -> Any:
    a = a.movedim(in_dims[0], 0)
    check_matrices(tuple(a.shape[1:]))
    return torch.ops.ozfp4.gram.default(a, **settings), 0


def _operands(in_dims: Any, a: Any, b: Any) -> tuple[MatmulShape, Any, Any]:
    """The shape of each product, and both operands with their matrix axes, a mapped axis first and apart from the stack's."""
    one = matmul_shape(_unmapped(a, in_dims[0]), _unmapped(b, in_dims[1]))
    a, b = _stacked(a, in_dims[0], 0), _stacked(b, in_dims[1], 0)
    a, b = a.unsqueeze(-2) if one.a_vector else a, b.unsqueeze(-1) if one.b_vector else b
    axes = len(one.stack) + 2
    return one, *(x if dim is None else _stacked(x, 0, axes) for x, dim in ((a, in_dims[0]), (b, in_dims[1])))


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


RULES: dict[str, Callable[..., Any]] = {"matmul": _matmul, "gemm": _gemm, "gram": _gram}
