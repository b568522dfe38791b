"""The right operand of a complex product as a real matrix, made on the device in one pass."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...request import library
from ...support.torch_private import stream_handle
from . import extension


class Expansion(NamedTuple):
    """How it is made of a tensor of this form: what the extension is told beside addresses, the dtype, and how many entries."""

    about: tuple[Any, ...]
    dtype: Any
    entries: int

    def columns(self, address: int, device: Any) -> Any:
        """The columns one behind the other, of the matrices that lie there."""
        torch, index = library.require_torch(), device.index
        columns = torch.empty(self.entries, dtype=self.dtype, device=device)
        extension.require_cuda().expand(address, *self.about, columns.data_ptr(), stream_handle(index), index)
        return columns


def expansion_of(matrices: Any) -> Expansion:
    """That of k × n complex matrices along one axis, lazily conjugated or not."""
    torch, cuda = library.require_torch(), extension.require_cuda()
    is_double = matrices.dtype == torch.complex128
    element = cuda.ElementType.float64 if is_double else cuda.ElementType.float32
    about = (element, *matrices.shape, *matrices.stride(), matrices.is_conj())
    return Expansion(about, torch.float64 if is_double else torch.float32, 4 * matrices.numel())


def along_one_axis(b: Any) -> Any:
    """Matrices along one axis, a view where their strides allow it."""
    if b.dim() == 3:
        return b
    held = b.conj() if b.is_conj() else b  # a copy would be written out otherwise
    matrices = held.reshape((-1, *b.shape[-2:]))
    return matrices.conj() if b.is_conj() else matrices


def expand(b: Any) -> Any:
    """Of k × n complex matrices the real ones, 2 k × 2 n, that :func:`ozfp4.request.complex.real_operands` makes, columns one
    behind the other in memory. `b` is a tensor on a CUDA device, lazily conjugated or not, with entries."""
    matrices = along_one_axis(b)
    *stack, k, n = b.shape
    columns = expansion_of(matrices).columns(matrices.data_ptr(), b.device)
    return columns.view(*stack, 2 * n, 2 * k).mT
