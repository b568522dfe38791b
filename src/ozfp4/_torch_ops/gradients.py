"""Gradients of products are products: each entry is one sum, with all that broadcasting repeats in its inner dimension, rounded
once. Conventions for complex numbers are torch's: of a real loss L, dL = Re tr(G^H dC). Tangents are products, too: dA B + A dB
is that of (dA, A) and (B, dB) side by side."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

from .._request.library import is_dtensor, require_torch
from .derivatives import Call
from .dtensors import reshaped, whole_along
from .shapes import Like

torch: Any = require_torch()


def of_matmul(call: Call, grad: Any) -> tuple[Any, ...]:
    return _of_operands(partial(torch.ops.ozfp4.matmul.default, **call.shared("dtype")), call, grad)


def of_gemm(call: Call, grad: Any) -> tuple[Any, ...]:
    factors = (*call.arguments[2:4], 0)[:2]
    alpha, beta = (x.conjugate() if isinstance(x, complex) else x for x in factors)

    def product(x: Any, y: Any) -> Any:
        return torch.ops.ozfp4.gemm.default(x, y, alpha, **call.shared("dtype"))

    a, b = _of_operands(product, call, grad)
    of_c = None
    if len(call.arguments) > 4 and call.needed[4]:
        of_c = _of_addend(beta, call.likes[4], grad, call.shared("dtype"))
    return (a, b, None, None, of_c)[: len(call.arguments)]


def of_gram(call: Call, grad: Any) -> tuple[Any, ...]:
    """A (G + G^H), or (G + G^H) A on the left, as one product of twice the inner dimension: the sum is not rounded."""
    (a,) = call.arguments
    product = partial(torch.ops.ozfp4.matmul.default, **call.shared("dtype"))
    if call.settings.get("left", False):
        return (product(torch.cat((grad, grad.mH), -1), torch.cat((a, a), -2)),)
    return (product(torch.cat((a, a), -1), torch.cat((grad, grad.mH), -2)),)


def _of_operands(product: Callable[..., Any], call: Call, grad: Any) -> tuple[Any, Any]:
    """G B^H and A^H G by `product`, summed over what was broadcast; A and B are the first arguments."""
    (a, b), (of_a, of_b) = call.arguments[:2], call.likes[:2]
    assert of_a is not None
    assert of_b is not None
    grad = grad.unsqueeze(-1) if len(of_b.shape) == 1 else grad
    grad = grad.unsqueeze(-2) if len(of_a.shape) == 1 else grad
    found: list[Any] = [None, None]
    if call.needed[0]:
        g, columns = _merged(of_a, grad, b.unsqueeze(-1) if b.ndim == 1 else b, -1)
        found[0] = _like(of_a, product(g, columns.mH))
    if call.needed[1]:
        g, rows = _merged(of_b, grad, a.unsqueeze(-2) if a.ndim == 1 else a, -2)
        found[1] = _like(of_b, product(rows.mH, g))
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


def _merged(like: Like, grad: Any, partner: Any, into: int) -> list[Any]:
    """The gradient of the result and the partner of an operand. The axes along which the operand was repeated are in the
    matrix axis `into`, -1 or -2, in the same order. Both have all entries along them."""
    axes = _repeated(like.shape[:-2], grad.shape[:-2])
    if partner.ndim < grad.ndim:
        partner = reshaped(partner, (*(1,) * (grad.ndim - partner.ndim), *partner.shape))
    if not axes:
        return [grad, partner]
    m, n = grad.ndim - 2, grad.ndim - 1
    kept = [axis for axis in range(m) if axis not in axes]
    order = [*kept, m, *axes, n] if into == -1 else [*kept, *axes, m, n]
    found = []
    for x in (grad, partner):
        x = whole_along(x, (*axes, m if into == -2 else n))
        extents = [*(x.shape[axis] for axis in kept), x.shape[m], x.shape[n]]
        extents[into] *= prod(x.shape[axis] for axis in axes)
        found.append(reshaped(x.permute(order), tuple(extents)))
    return found


def _like(like: Like, x: Any) -> Any:
    """`x` as the gradient of an operand: of its shape, real where it is, in its precision."""
    if x.is_complex() and not like.dtype.is_complex:
        x = x.real
    return reshaped(x, like.shape).to(like.dtype)


# ---- Tangents


def tangent_of_matmul(call: Call, tangents: tuple[Any, ...]) -> Any:
    rows, columns = _joined(call.arguments[:2], tangents[:2])
    return torch.ops.ozfp4.matmul.default(rows, columns, **call.shared())


def tangent_of_gemm(call: Call, tangents: tuple[Any, ...]) -> Any:
    a, b, alpha, *beta_c = call.arguments
    of_a, of_b, of_c = tangents[0], tangents[1], tangents[4] if len(tangents) > 4 else None
    if of_a is None and of_b is None:
        alpha, rows, columns = 0.0, a, b  # which are not read, and say the result's shape
    else:
        rows, columns = _joined((a, b), (of_a, of_b))
    beta = beta_c[0] if of_c is not None else 0.0
    like = call.likes[4] if len(call.likes) > 4 else None
    if of_c is None and like is not None:  # C, which says the result's dtype
        of_c = torch.zeros((), dtype=like.dtype, device=a.device)
    return torch.ops.ozfp4.gemm.default(rows, columns, alpha, beta, of_c, **call.shared())


def tangent_of_gram(call: Call, tangents: tuple[Any, ...]) -> Any:
    (a,), (of_a,) = call.arguments, tangents
    if call.settings.get("left", False):
        rows, columns = torch.cat((of_a, a), -1), torch.cat((a, of_a), -1).mH
    else:
        rows, columns = torch.cat((of_a, a), -2).mH, torch.cat((a, of_a), -2)
    return torch.ops.ozfp4.matmul.default(rows, columns, **call.shared())


def _joined(operands: Any, tangents: Any) -> tuple[Any, Any]:
    """Two factors with the product dA B + A dB; None means zeros."""
    (a, b), (of_a, of_b) = operands, tangents
    if of_b is None:
        return of_a, b
    if of_a is None:
        return a, of_b
    return torch.cat((of_a, a), -1), torch.cat((b, of_b), 0 if b.ndim == 1 else -2)
