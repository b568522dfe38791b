"""``torch.vmap`` of the operators: the mapped axis becomes the first of a stack. No entry of a product sees another matrix of its
stack, so that the bits are those of one product after the other. Shapes are checked without it, as those of one product are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._request.library import require_torch
from .._request.operands import check_addend_shape, check_matrices, matmul_shape
from .derivatives import Like

torch: Any = require_torch()


def _matmul(info: Any, in_dims: Any, a: Any, b: Any, **settings: Any) -> Any:
    form = _Form(in_dims[0], a, in_dims[1], b)
    return form.result(torch.ops.ozfp4.matmul.default(form.a, form.b, **settings)), 0


def _gemm(
    info: Any, in_dims: Any, a: Any, b: Any, alpha: Any, beta: Any = 0.0, c: Any = None, **settings: Any
) -> Any:
    form = _Form(in_dims[0], a, in_dims[1], b)
    if c is not None:
        dim = in_dims[4] if len(in_dims) > 4 else None
        check_addend_shape(Like(_unmapped(c, dim), c.dtype), form.one)
        c = form.addend(c, dim)
        if in_dims[0] is None and in_dims[1] is None:  # the result's stack is that of A and B
            form.a = form.a.expand(info.batch_size, *(1,) * (form.axes + 2 - form.a.ndim), *form.a.shape)
    return form.result(torch.ops.ozfp4.gemm.default(form.a, form.b, alpha, beta, c, **settings)), 0


def _gram(info: Any, in_dims: Any, a: Any, **settings: Any) -> Any:
    a = a.movedim(in_dims[0], 0)
    check_matrices(tuple(a.shape[1:]))
    return torch.ops.ozfp4.gram.default(a, **settings), 0


class _Form:
    """Operands with both matrix axes, a mapped axis first and apart from the stack's, and the way back; `one` is the
    shape of each result. Range: at most one axis of each is mapped."""

    def __init__(self, a_dim: int | None, a: Any, b_dim: int | None, b: Any) -> None:
        self.one = matmul_shape(_unmapped(a, a_dim), _unmapped(b, b_dim)).result
        self.a, self.b = (x if dim is None else x.movedim(dim, 0) for dim, x in ((a_dim, a), (b_dim, b)))
        self.a_vector, self.b_vector = a.ndim - (a_dim is not None) == 1, b.ndim - (b_dim is not None) == 1
        self.a = self.a.unsqueeze(-2) if self.a_vector else self.a
        self.b = self.b.unsqueeze(-1) if self.b_vector else self.b
        self.axes = max(self.a.ndim - (a_dim is not None), self.b.ndim - (b_dim is not None)) - 2
        self.a = self.a if a_dim is None else _padded(self.a, self.axes + 3)
        self.b = self.b if b_dim is None else _padded(self.b, self.axes + 3)

    def addend(self, c: Any, dim: int | None) -> Any:
        """C with the axes of the result of both."""
        axes = self.axes + (not self.a_vector) + (not self.b_vector)
        new = (1,) * (axes - c.ndim)
        c = c.reshape((*new, *c.shape)) if dim is None else _padded(c.movedim(dim, 0), axes + 1)
        c = c.unsqueeze(-1) if self.b_vector else c
        return c.unsqueeze(-2) if self.a_vector else c

    def result(self, c: Any) -> Any:
        c = c.squeeze(-2) if self.a_vector else c
        return c.squeeze(-1) if self.b_vector else c


def _unmapped(x: Any, dim: int | None) -> tuple[int, ...]:
    """The shape without the mapped axis."""
    return tuple(extent for axis, extent in enumerate(x.shape) if axis != dim)


def _padded(x: Any, axes: int) -> Any:
    """`x` with that many axes: new ones of one entry follow the first."""
    return x.reshape((x.shape[0], *(1,) * (axes - x.ndim), *x.shape[1:]))


RULES: dict[str, Callable[..., Any]] = {"matmul": _matmul, "gemm": _gemm, "gram": _gram}
