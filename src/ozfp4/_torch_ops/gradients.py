"""Gradients of products are products: each entry is one sum, with all that broadcasting repeats in its inner dimension, rounded
once. Conventions for complex numbers are torch's: of a real loss L, dL = Re tr(G^H dC)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

from .._request.library import is_dtensor, require_torch
from .derivatives import Call, Like
from .shardings import reshaped, whole_along

torch: Any = require_torch()


def of_matmul(call: Call, grad: Any) -> tuple[Any, ...]:
    return _of_operands(partial(torch.ops.ozfp4.matmul.default, **call.of_gradients), call, grad)


def of_gemm(call: Call, grad: Any) -> tuple[Any, ...]:
    alpha, beta = (_conjugate(x) for x in (*call.arguments[2:4], 0)[:2])

    def product(x: Any, y: Any) -> Any:
        return torch.ops.ozfp4.gemm.default(x, y, alpha, **call.of_gradients)

    a, b = _of_operands(product, call, grad)
    of_c = None
    if len(call.arguments) > 4 and call.needed[4]:
        of_c = _of_addend(beta, call.likes[4], grad, call.of_gradients)
    return (a, b, None, None, of_c)[: len(call.arguments)]


def of_gram(call: Call, grad: Any) -> tuple[Any, ...]:
    """A (G + G^H), or (G + G^H) A on the left, as one product of twice the inner dimension: the sum is not rounded."""
    (a,) = call.arguments
    product = partial(torch.ops.ozfp4.matmul.default, **call.of_gradients)
    if call.settings.get("left", False):
        return (product(torch.cat((grad, grad.mH), -1), torch.cat((a, a), -2)),)
    return (product(torch.cat((a, a), -1), torch.cat((grad, grad.mH), -2)),)


def _conjugate(factor: Any) -> Any:
    return factor.conjugate() if isinstance(factor, complex) else factor


def _of_operands(product: Callable[..., Any], call: Call, grad: Any) -> tuple[Any, Any]:
    """G B^H and A^H G by `product`, summed over what was broadcast; A and B are the first arguments."""
    a, b = call.arguments[:2]
    of_a, of_b = call.likes[:2]
    assert of_a is not None
    assert of_b is not None
    grad = grad.unsqueeze(-1) if len(of_b.shape) == 1 else grad
    grad = grad.unsqueeze(-2) if len(of_a.shape) == 1 else grad
    found: list[Any] = [None, None]
    if call.needed[0]:
        repeated = _repeated(of_a.shape[:-2], grad.shape[:-2])
        columns = _padded(b.unsqueeze(-1) if b.ndim == 1 else b, grad.ndim)
        found[0] = _like(of_a, product(_merged(grad, repeated, -1), _merged(columns, repeated, -1).mH))
    if call.needed[1]:
        repeated = _repeated(of_b.shape[:-2], grad.shape[:-2])
        rows = _padded(a.unsqueeze(-2) if a.ndim == 1 else a, grad.ndim)
        found[1] = _like(of_b, product(_merged(rows, repeated, -2).mH, _merged(grad, repeated, -2)))
    return found[0], found[1]


def _of_addend(beta: Any, like: Like | None, grad: Any, settings: dict[str, Any]) -> Any:
    """beta G, summed over what was broadcast by a product with ones; zeros where `beta` is 0, whatever G holds."""
    assert like is not None
    if beta == 0:
        return grad.new_zeros(like.shape, dtype=like.dtype)
    if grad.is_complex() and not like.dtype.is_complex and not isinstance(beta, complex):
        grad = grad.real
    repeated = _repeated(like.shape, grad.shape)
    if not repeated:
        return _like(like, _times(beta, grad, settings))
    kept = [axis for axis in range(grad.ndim) if axis not in repeated]
    entries = prod(grad.shape[axis] for axis in repeated)
    terms = whole_along(grad, tuple(repeated)).permute(*kept, *repeated)
    terms = reshaped(terms, (*(grad.shape[axis] for axis in kept), entries))
    if is_dtensor(grad):
        ones = grad.new_ones(entries, dtype=torch.float32)  # on the same mesh
    else:
        ones = torch.ones(entries, dtype=torch.float32, device=grad.device)
    return _like(like, torch.ops.ozfp4.gemm.default(terms, ones, beta, **settings))


def _times(beta: Any, grad: Any, settings: dict[str, Any]) -> Any:
    """beta G as the C of an update, each part rounded once; torch's complex product is no such sum, and makes NaN of infinity."""
    if beta == 1:
        return grad
    rows, columns = grad.shape[:-1], grad.shape[-1:]
    a, b = grad.new_zeros((*rows, 0)), grad.new_zeros((0, *columns))
    return torch.ops.ozfp4.gemm.default(a, b, 0.0, beta, grad, **settings)


def _repeated(shape: Any, whole: Any) -> list[int]:
    """The axes of `whole` along which an operand of that shape was repeated."""
    missing = len(whole) - len(shape)
    return [i for i in range(len(whole)) if (i < missing or shape[i - missing] == 1) and whole[i] != 1]


def _padded(x: Any, axes: int) -> Any:
    """`x` with that many axes, new ones first."""
    return reshaped(x, (*(1,) * (axes - x.ndim), *x.shape)) if x.ndim < axes else x


def _merged(x: Any, axes: list[int], into: int) -> Any:
    """`x` with those axes of its stack, of which it has all entries, in the matrix axis `into`, -1 or -2; in both operands of a
    product they come in the same order."""
    if not axes:
        return x
    kept = [axis for axis in range(x.ndim - 2) if axis not in axes]
    m, n = x.ndim - 2, x.ndim - 1
    x = whole_along(x, (*axes, m if into == -2 else n))
    order = [*kept, m, *axes, n] if into == -1 else [*kept, *axes, m, n]
    extents = [*(x.shape[axis] for axis in kept), x.shape[m], x.shape[n]]
    extents[into] = extents[into] * prod(x.shape[axis] for axis in axes)
    return reshaped(x.permute(order), tuple(extents))


def _like(like: Like, x: Any) -> Any:
    """`x` as the gradient of an operand: of its shape, real where it is, in its precision."""
    if x.is_complex() and not like.dtype.is_complex:
        x = x.real
    return reshaped(x, like.shape).to(like.dtype)
