"""Tangents of products are products: dA B + A dB is one of (dA, A) and (B, dB) side by side: each entry is rounded once."""

from __future__ import annotations

from typing import Any

from .._request.library import require_torch
from .derivatives import Call

torch: Any = require_torch()


def of_matmul(call: Call, tangents: tuple[Any, ...]) -> Any:
    rows, columns = _joined(call.arguments[:2], tangents[:2])
    return torch.ops.ozfp4.matmul.default(rows, columns, **call.shared)


def of_gemm(call: Call, tangents: tuple[Any, ...]) -> Any:
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
    return torch.ops.ozfp4.gemm.default(rows, columns, alpha, beta, of_c, **call.shared)


def of_gram(call: Call, tangents: tuple[Any, ...]) -> Any:
    (a,), (of_a,) = call.arguments, tangents
    if call.settings.get("left", False):
        rows, columns = torch.cat((of_a, a), -1), torch.cat((a, of_a), -1).mH
    else:
        rows, columns = torch.cat((of_a, a), -2).mH, torch.cat((a, of_a), -2)
    return torch.ops.ozfp4.matmul.default(rows, columns, **call.shared)


def _joined(operands: Any, tangents: Any) -> tuple[Any, Any]:
    """Whose product is dA B + A dB, where None stands for zeros."""
    (a, b), (of_a, of_b) = operands, tangents
    if of_b is None:
        return of_a, b
    if of_a is None:
        return a, of_b
    return torch.cat((of_a, a), -1), torch.cat((b, of_b), 0 if b.ndim == 1 else -2)
