"""The right operand of a complex product as a real matrix, made on the device in one pass."""

from __future__ import annotations

from typing import Any

from ...request import library
from . import extension
from .launch import current_stream


def expand(b: Any) -> Any:
    """Of k × n complex matrices the real ones, 2 k × 2 n, that :func:`ozfp4.request.complex.real_operands` makes, columns one
    behind the other in memory. `b` is a tensor on a CUDA device, lazily conjugated or not, with entries."""
    torch, cuda = library.require_torch(), extension.require_cuda()
    held = b.conj() if b.is_conj() else b
    *stack, k, n = held.shape
    matrices = held if len(stack) == 1 else held.reshape((-1, k, n))
    entries = held.numel()
    is_double = held.dtype == torch.complex128
    dtype = torch.float64 if is_double else torch.float32
    columns = torch.empty(4 * entries, dtype=dtype, device=b.device)
    cuda.expand(
        matrices.data_ptr(), cuda.ElementType.float64 if is_double else cuda.ElementType.float32, matrices.shape[0], k,
        n, *matrices.stride(), b.is_conj(), columns.data_ptr(), current_stream(torch, b.device.index), b.device.index,
    )  # fmt: skip
    return columns.view(*stack, 2 * n, 2 * k).mT
